"""Searches over decisions inside of passes."""

import re

import pytest

from tests.effort import effort
from tests.examples.running import run


def test_local_search_of_inlining():
    """Decisions other than LLVM's make the code smaller than -Oz does, and opt is told which."""
    *tries, last = run("inline_search", "--budget", "12").splitlines()
    assert len(tries) == 12
    share = re.fullmatch(r"([\d.]+)% smaller than -Oz: opt .*inline-decisions<.*", last)
    assert float(share[1]) > 0


@pytest.mark.parametrize("budget", [["24"], ["8", "--action-space", "Priorities"]])
def test_local_search_of_register_allocation(budget):
    """Answers other than LLVM's make the code smaller than -Oz does."""
    program = ["--benchmark", "benchmark://kernels-v0/checksums"]
    last = run("regalloc_search", *program, "--budget", *budget).splitlines()[-1]
    total = re.fullmatch(r"([\d.e+-]+) of ObjectTextSizeNorm in total: .*SpillCost.*", last)
    assert float(total[1]) > 0


def test_learning_to_inline():
    """No try makes a program larger, and what was learnt from one program is tried on another."""
    quick = {
        "TRIES": (1, 2, 4),
        "TRAINING": ["benchmark://kernels-v0/base_codecs"],
        "HELD_BACK": ["benchmark://kernels-v0/nbody"],
    }
    smaller = effort(quick, {})
    lines = run("inline_learner", "--programs", "1", "--judges", "1", **smaller).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Small functions first", "Learnt from 1"]
    for line in lines:
        saved = [float(share) for share in re.findall(r"([\d.]+)% in \d+ tries", line)]
        assert len(saved) == 3
        assert saved == sorted(saved)
        assert 0 < saved[-1] < 20
