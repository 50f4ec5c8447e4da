"""``compiler-gym compliance``."""

import json
import os
import pty
import re
import subprocess

import pytest

from tests.cli.conftest import command
from tests.compliance.breakable import PROGRAM


@pytest.fixture(name="number")
def fixture_number(environment):
    path = environment / "number.txt"
    path.write_text("3")
    return path


def test_checklist(run, number):
    options = ["-k", "start.", "-k", "process.port", "-k", "crash.status"]
    done = run("compliance", PROGRAM, "--benchmark", number, *options)
    lines = done.stdout.splitlines()
    assert lines[:3] == [f"service  {PROGRAM}", f"program  file://{number}", ""]
    assert lines[3] == "ok           process.port"
    assert "not checked  crash.status" in lines
    assert re.fullmatch(r"\d+ rules: \d+ ok, 0 failed, 1 not checked, in \d+ seconds", lines[-1])
    assert max(map(len, lines[3:])) <= 80
    assert not done.stderr


def test_broken(run, number):
    broken = ["--benchmark", number, "--argument=--break=start.empty-uri", "-k", "start.empty-uri"]
    done = run("compliance", PROGRAM, *broken, code=1, module="compiler_gym")
    assert "failed       start.empty-uri" in done.stdout
    assert "             found   StartSession without a URI answers NOT_FOUND" in done.stdout
    assert "             change  Check that Benchmark.uri is not empty" in done.stdout
    assert "1 rule: 0 ok, 1 failed, 0 not checked" in done.stdout


def test_output_in_a_file_while_a_terminal_shows_the_progress(number):
    terminal, ours = pty.openpty()
    arguments = ["--benchmark", number, "--argument=--break=start.empty-uri"]
    try:
        done = subprocess.run(
            command("compliance", PROGRAM, *arguments, "-k", "start.empty-uri"),
            stdout=subprocess.PIPE,
            stderr=ours,
            text=True,
            timeout=120,
        )
    finally:
        os.close(terminal)
        os.close(ours)
    assert "found   StartSession without a URI answers NOT_FOUND" in done.stdout


def test_json(run, number):
    done = run("compliance", PROGRAM, "--benchmark", number, "-k", "fork.exact", "--json")
    found = json.loads(done.stdout)
    assert found["service"] == str(PROGRAM)
    assert found["counts"] == {"ok": 1, "failed": 0, "not checked": 0}
    (rule,) = found["rules"]
    assert rule.pop("seconds") > 0
    assert rule == {
        "id": "fork.exact",
        "outcome": "ok",
        "sentence": "A fork has the same observations as its original",
        "text": "",
        "advice": "Copy the whole program",
    }


def test_as_a_module(run):
    text = run("--list", "-k", "version", module="compiler_gym.compliance").stdout
    assert text.startswith("version.reply  ")
    assert text.count("\n") <= 3


def test_of_an_environment(run):
    id = "examples.example_compiler_gym_service:example-py-v0"
    text = run("compliance", "--env", id, "-k", "rewards", "-v").stdout
    assert "program  benchmark://example-compiler-v0/foo" in text
    assert "ok           rewards.observations" in text
    assert "rule    Each reward of the environment needs" in text


def test_ctrl_c_cleans_up(interrupt, number):
    interrupt("compliance", PROGRAM, "--benchmark", number, "-k", "hang", "--hang-action", "hang")


def test_wrong_arguments(fails, environment):
    assert "Give the path of a service, or --env." in fails("compliance", code=2)
    assert "There is no service nothing.py" in fails("compliance", "nothing.py")
    assert "No rule has 'no-rule'" in fails("compliance", PROGRAM, "-k", "no-rule")
    assert "neither a file nor a URI" in fails("compliance", PROGRAM, "--benchmark", "nothing")
    assert "nothing-v0" in fails("compliance", "--env", "nothing-v0")
    assert "MODULE:CLASS" in fails("compliance", PROGRAM, "--dataset", "nothing")
    plain = environment / "plain"
    plain.write_text("")
    assert "Permission denied" in fails("compliance", plain)
