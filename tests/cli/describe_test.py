"""``compiler-gym describe``, and what holds for all commands alike."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.conftest import command
from tests.processes import run_interpreter


def test_parts(run):
    legacy = run("describe", "llvm-v0", "actions", "--action-space", "Legacy124", "--json")
    assert len(json.loads(legacy.stdout)) == 124
    everything = json.loads(run("describe", "llvm-v0", "--json").stdout)
    assert sorted(everything) == ["actions", "datasets", "observations", "rewards"]
    assert {row["observation"] for row in everything["observations"]} >= {"Ir", "Autophase"}


def test_closed_output():
    """As before ``head``; more than a pipe holds."""
    words = " ".join(command("describe", "llvm-v0", "actions", "--json"))
    done = subprocess.run(
        ["bash", "-c", f"{words} | head -1; {words} 2>&1 >/dev/full | cat"],
        capture_output=True,
        text=True,
        timeout=250,
    )
    first, *rest = done.stdout.splitlines()
    assert first == "["
    assert rest == ["compiler-gym: [Errno 28] No space left on device"]
    assert done.stderr == ""


# What Python runs before all else, here: Ctrl-C comes when a module is imported.
INTERRUPTING = """
import os, signal, sys
class Finder:
    def find_spec(name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
"""


def run_interrupted(environment, name, words):
    """Runs Python, with Ctrl-C when it imports a module."""
    (environment / "sitecustomize.py").write_text(INTERRUPTING.format(name=name))
    path = os.pathsep.join([str(environment), *sys.path])
    return run_interpreter(*words, code=None, env={"PYTHONPATH": path}, cwd=environment)


@pytest.mark.parametrize("name", ["compiler_gym.envs", "pydantic"])
@pytest.mark.parametrize(
    "words",
    [
        ("-m", "compiler_gym", "describe"),
        ("-m", "compiler_gym.bin.service", "--env=llvm-v0"),
        ("compiler-gym", "describe"),
    ],
)
def test_ctrl_c_while_it_starts(name, words, environment):
    """Most of that time goes into imports, during which Python would print a traceback."""
    # As pip makes it.
    (environment / "compiler-gym").write_text("from compiler_gym.cli.entry import main\nmain()\n")
    done = run_interrupted(environment, name, words)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_other_programs_have_their_own_ctrl_c(environment):
    (environment / "others.py").write_text("import compiler_gym\n")
    done = run_interrupted(environment, "compiler_gym.envs", ("-m", "others", "compiler_gym"))
    assert "KeyboardInterrupt" in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["des"], "describe"),
        (["describe", "llvm-auto"], "llvm-autophase-ic-v0"),
        (["search", "sha"], "sha256"),
        (["search", "prog"], "program.c"),
        (["observe", "sha256", "IrInstructionCountO"], "IrInstructionCountOz"),
    ],
)
def test_completion(run, words, expected, program_c, monkeypatch):
    monkeypatch.setenv("_COMPILER_GYM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(["compiler-gym", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    assert expected in run().stdout.split()
