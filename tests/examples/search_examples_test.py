import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from tests.effort import effort, sample

EXAMPLES = Path(__file__).absolute().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
ARGUMENTS = {
    "beam_search": ["--width", "2", "--depth", "2"],
    "genetic_search": ["--generations", "4", "--size", "12", "--length", "20"],
    "greedy_search": ["--max-steps", "3"],
    "nevergrad_search": ["--budget", "48", "--length", "20"],
    "optuna_search": ["--trials", "20"],
}


def run(name: str, *arguments: str, **constants) -> str:
    """Returns what an example prints, with other values of its constants if given."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module).update(constants)
    app = Typer()
    app.command()(module.main)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


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


@pytest.mark.parametrize("name", sample(["genetic_search", "nevergrad_search", "optuna_search"], 1))
def test_repeatable(name):
    assert run(name, *ARGUMENTS[name]) == first_run(name)
