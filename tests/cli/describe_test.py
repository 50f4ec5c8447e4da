"""``compiler-gym describe``, and what holds for all commands alike."""

import json
import os
import subprocess
import sys

import pytest

from compiler_gym import COMPILER_GYM_ENVS, __version__
from tests.cli.conftest import command


def test_environments(run):
    lines = run("describe").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == COMPILER_GYM_ENVS
    rows = json.loads(run("describe", "--json").stdout)
    assert rows[1] == {
        "environment": "llvm-ic-v0",
        "observation": None,
        "reward": "IrInstructionCountOz",
    }


def test_overview_at_80_columns(run):
    text = run("describe", "llvm-autophase-ic-v0").stdout
    for expected in (
        "default program      benchmark://kernels-v0/sha256",
        "default observation  Autophase",
        "default reward       IrInstructionCountOz",
        "Autophase                 int64[56]",
        "benchmark://kernels-v0",
    ):
        assert expected in text
    assert "\x1b" not in text
    tables = text.partition("Observations of")[2]
    assert max(map(len, tables.splitlines())) <= 80


def test_parts(run):
    (row,) = json.loads(run("describe", "llvm-v0", "actions", "--like", "SROA", "--json").stdout)
    assert row["action"] == "function(sroa)"
    assert "sroa" in run("describe", "llvm-v0", "actions", "--like", "sroa").stdout
    legacy = run("describe", "llvm-v0", "actions", "--action-space", "Legacy124", "--json")
    assert len(json.loads(legacy.stdout)) == 124
    assert run("describe", "llvm-v0", "rewards", "--like", "zzz").stdout == (
        "No rewards like 'zzz'.\n"
    )
    everything = json.loads(run("describe", "llvm-v0", "--json").stdout)
    assert sorted(everything) == ["actions", "datasets", "observations", "rewards"]
    assert {row["observation"] for row in everything["observations"]} >= {"Ir", "Autophase"}


def test_wrong_arguments(fails):
    assert "Did you mean llvm-v0" in fails("describe", "llvm-vo")
    assert "'actions', 'observations'" in fails("describe", "llvm-v0", "action", code=2)
    assert "Did you mean 'describe'?" in fails("descibe", code=2)
    line = fails("describe", "--jsn", code=2)
    assert line.startswith("compiler-gym describe: No such option: --jsn")
    assert line.endswith("See compiler-gym describe --help")


def test_help_and_version(run):
    text = run("--help").stdout
    assert "Examples:" in text and "search program.c" in text
    assert run("--version").stdout == f"compiler-gym {__version__}\n"


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


@pytest.mark.parametrize("name", ["compiler_gym.envs", "pydantic"])
@pytest.mark.parametrize(
    "command",
    [
        ("-m", "compiler_gym", "describe"),
        ("-m", "compiler_gym.bin.service", "--env=llvm-v0"),
        ("compiler-gym", "describe"),
    ],
)
def test_ctrl_c_while_it_starts(name, command, environment):
    """Most of that time goes into imports, during which Python would print a traceback."""
    (environment / "sitecustomize.py").write_text(INTERRUPTING.format(name=name))
    # As pip makes it.
    (environment / "compiler-gym").write_text("from compiler_gym.cli.entry import main\nmain()\n")
    done = subprocess.run(
        [sys.executable, *command],
        cwd=environment,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(environment), *sys.path])},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_other_programs_have_their_own_ctrl_c(environment):
    (environment / "sitecustomize.py").write_text(INTERRUPTING.format(name="compiler_gym.envs"))
    (environment / "others.py").write_text("import compiler_gym\n")
    done = subprocess.run(
        [sys.executable, "-m", "others", "compiler_gym"],
        cwd=environment,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(environment), *sys.path])},
        capture_output=True,
        text=True,
        timeout=250,
    )
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
def test_completion(words, expected, program_c):
    environment = {
        **os.environ,
        "_COMPILER_GYM_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["compiler-gym", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(command(), env=environment, capture_output=True, text=True, timeout=250)
    assert expected in done.stdout.split(), done.stderr
