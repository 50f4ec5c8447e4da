"""Tests that reproducer scripts are safe to run."""

import contextlib
import subprocess
import time
from pathlib import Path

from compiler_gym.envs.llvm.benchmarks.validation import ProgramRun
from compiler_gym.hunt.failures import Failure, Kind, Limits
from compiler_gym.hunt.reproducer import Reproducer
from compiler_gym.util import llvm_tools
from tests.processes import wait_until

# Never ends, and is not what the shell has become.
_SPINNING = "define i32 @main() {\n  br label %1\n1:\n  br label %1\n}\n"
_SECONDS = 1


def reproducer_of(command: str, *passes: str) -> Reproducer:
    failure, tools = Failure(Kind.WRONG_OUTPUT), (llvm_tools.opt_path(), llvm_tools.clang_path())
    run = ProgramRun(command=command)
    return Reproducer(failure, passes, *tools, Limits(seconds=_SECONDS), run=run)


def processes(word: str) -> list[str]:
    """The command lines of the processes that have a word in them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # It has just ended.
            found.append(path.read_text(errors="replace"))
    return [line for line in found if word in line]


def test_inputs_of_one_name_have_names_of_their_own(tmp_path):
    paths = [tmp_path / folder / "data" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(path.parent.name)
    reproducer = reproducer_of(f"./a.out {paths[0]} {paths[1]}")
    assert reproducer.files == {"data": paths[0], "1-data": paths[1]}


def test_programs_that_never_end_are_not_left_behind(tmp_path):
    (tmp_path / "input.ll").write_text(_SPINNING)
    word = f"never-ends-{tmp_path.name}-{time.monotonic_ns()}"
    reproducer = reproducer_of(f"./a.out {word} | ./a.out {word}", "function(dce)")
    script = tmp_path / "run.sh"
    script.write_text(reproducer.script("run.sh", "input.ll", "A program that never ends"))
    assert subprocess.run(["/bin/sh", script]).returncode == 1
    wait_until(lambda: not processes(word))
