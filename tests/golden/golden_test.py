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


def test_replay(pool):
    episodes = 0
    for path, text in recorded(pool):
        assert path.is_file(), f"There is no {path}. {_RENEW}"
        expected = path.read_text(encoding="utf-8")
        assert text.split("\n")[:2] == expected.split("\n")[:2], (
            f"{path.stem} is compiled to other bitcode here, by another clang or with other headers"
        )
        assert text == expected, _RENEW
        episodes += len(SEEDS)
    assert episodes >= 200
