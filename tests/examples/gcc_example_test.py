"""The tuning of GCC, run briefly. That files are short is in trainer_examples_test.py."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compiler_gym.envs.gcc import get_gcc, get_spec

EXAMPLES = Path(__file__).absolute().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import gcc_searches  # noqa: E402


@pytest.fixture(scope="module")
def spec():
    return get_spec(get_gcc())


def run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(EXAMPLES / "gcc_autotuning.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=280)


def test_gcc_autotuning():
    done = run(
        "--method=genetic", "--budget=12", "--more=4", "--training=1", "--judged=1", "--seed=3"
    )
    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("program ")[2]
    found = re.search(r"\nbitops +(\d+) +([\d.]+)% +([\d.]+)% +([\d.]+)%  right\n", table)
    size, bare, learnt, tuned = found.groups()
    assert int(size) > 10_000
    assert 50 < float(bare) < 100
    assert float(tuned) <= float(learnt)
    assert 50 < float(learnt) < 200
    assert "1 programs: 12 of 12" in done.stderr


def test_help():
    assert "--method" in run("--help").stdout
    assert "'tabu' is not one of" in run("--method=tabu").stderr


@pytest.mark.parametrize("method", gcc_searches.SEARCHES)
def test_searches_find_improvements(spec, method):
    """The cost is how many of the flags are not switched off."""

    def costs(tries):
        off = [sum(word.startswith("-fno-") for word in spec.words_of(each)) for each in tries]
        return [-each for each in off]

    start = spec.choices_of("-Os")
    found = list(gcc_searches.search(method, spec, start, costs, 160, np.random.default_rng(0)))
    assert len(found) == 40
    shown = [cost for cost, _ in found]
    assert shown == sorted(shown, reverse=True)
    assert shown[-1] < -2


def test_options_that_change_the_meaning_are_not_used(spec):
    rng = np.random.default_rng(0)
    tried = [-1] * len(spec.options)
    for _ in range(2000):
        tried = gcc_searches.mutated(spec, [tried], rng)
    words = spec.words_of(tried)
    assert len(words) > len(spec.options) / 2
    unwanted = re.compile("-Ofast|math|short-enums|pack-struct|trapv|tree-parall|exceptions")
    assert [word for word in words if unwanted.search(word) and "param" not in word] == []
