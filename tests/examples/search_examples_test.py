import re
from functools import cache

import pytest

from tests.effort import sample
from tests.examples.running import run

ARGUMENTS = {
    "beam_search": ["--width", "2", "--depth", "2"],
    "genetic_search": ["--generations", "4", "--size", "12", "--length", "20"],
    "greedy_search": ["--max-steps", "3"],
    "nevergrad_search": ["--budget", "48", "--length", "20"],
    "optuna_search": ["--trials", "20"],
}


@cache
def first_run(name: str) -> str:
    return run(name, *ARGUMENTS[name])


@pytest.mark.parametrize("name", ARGUMENTS)
def test_search(name):
    """A few passes save most of the instructions that -Oz saves."""
    lines = first_run(name).splitlines()
    share = re.fullmatch(r"([\d.]+)% of what -Oz saves: opt .*-passes='module\(.*", lines[-1])
    assert float(share[1]) > 50
    assert len(lines) > 2


@pytest.mark.parametrize("name", sample(["genetic_search", "nevergrad_search", "optuna_search"], 1))
def test_repeatable(name):
    assert run(name, *ARGUMENTS[name]) == first_run(name)
