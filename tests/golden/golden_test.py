"""The recorded episodes of tests/golden/ still go as they did."""

import pytest

from compiler_gym.distributed.threads import thread_pool
from tests.golden.trajectories import SEEDS, recorded

_RENEW = (
    "If that is meant, or LLVM is another one, record them again: "
    "python -m tests.golden.trajectories"
)


@pytest.fixture(name="pool")
def fixture_pool():
    with thread_pool(1) as pool:
        yield pool


def start_of(text):
    """Returns the line before the first action. It has the hash of the module."""
    return next(line for line in text.split("\n") if line.startswith("start "))


def test_replay(pool):
    episodes = 0
    for path, text in recorded(pool):
        assert path.is_file(), f"There is no {path}. {_RENEW}"
        expected = path.read_text(encoding="utf-8")
        assert start_of(text) == start_of(expected), (
            f"{path.stem} is compiled to another module here, by another clang or other headers"
        )
        assert text == expected, _RENEW
        episodes += len(SEEDS)
    assert episodes >= 200
