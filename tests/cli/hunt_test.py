"""``compiler-gym hunt``: short hunts through the program that people run."""

import json
import os
import re
import stat

import pytest

from compiler_gym.util import llvm_tools
from tests.processes import command_lines, descendants

# A pass that never ends, besides a real one.
_OPT = """#!/bin/sh
case "$*" in
  --print-passes) printf 'Function passes:\\n  adce\\n  endless\\n' ;;
  *disable-output*) exec '{opt}' -passes=verify -disable-output - ;;
  *endless*) exec sleep 1000 ;;
  *) exec '{opt}' "$@" ;;
esac
"""


@pytest.fixture(name="endless_opt")
def fixture_endless_opt(environment):
    path = environment.parent / "opt"
    path.write_text(_OPT.replace("{opt}", str(llvm_tools.opt_path())))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_trials_are_counted_and_go_on(run, program_c):
    arguments = ("hunt", program_c.name, "--passes", "mem2reg,gvn", "--json")
    first = json.loads(run(*arguments, "--trials", "2").stdout)
    assert (first["trials"], first["verdicts"], first["findings"]) == (2, {"fine": 2}, [])
    second = json.loads(run(*arguments).stdout)
    assert second["trials"] == 3
    assert second["seconds"] > first["seconds"]


def test_random_passes_of_the_actions(run, environment):
    done = run("hunt", "sha256", "--actions-only", "--length", "3", "--trials", "3", "-o", "x")
    assert done.stdout.startswith("3 trials in ")
    state = json.loads((environment / "x" / "state.json").read_text())
    assert state["next"] == 3
    assert {len(each) for each in state["kept"]} <= {3}


def test_ctrl_c_cleans_up_and_prints_partial_results(interrupt, program_c, endless_opt, scratch):
    stdout = interrupt(
        *("hunt", program_c.name, "--opt", endless_opt, "--jobs", "2"),
        when=lambda pid: command_lines(descendants(pid)).count("sleep 1000 ") == 2,
    )
    assert re.search(r"^\d+ trials? in ", stdout, re.M)
    assert "2 trials under way given up" in stdout
    assert os.listdir(scratch) == []
