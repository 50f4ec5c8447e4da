"""Linking, checking and running programs."""

import subprocess

import pytest

from compiler_gym.envs.llvm.benchmarks.validation import ProgramRun, ProgramValidator
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.trial_linking import LinkError
from compiler_gym.tuning.speed.workload import CommandWorkload, ProgramWorkload, RunError
from compiler_gym.util import llvm_tools

ECHO = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int count, char** words) {
  int c;
  volatile long spin = count > 1 ? 200000000 : 0;
  while (spin > 0) spin -= 1;
  while ((c = getchar()) != EOF) putchar(c + SHIFT);
  return EXIT;
}
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("abc\n")
    return tmp_path


def made(workload, folder, name="program", shift=0, code=0):
    """The program of a source, by way of the workload."""
    source, object_file = folder / f"{name}.c", folder / f"{name}.o"
    source.write_text(ECHO)
    macros = [f"-DSHIFT={shift}", f"-DEXIT={code}"]
    subprocess.run([llvm_tools.clang_path(), *macros, "-c", source, "-o", object_file], check=True)
    workload.link(object_file, folder / name)
    return folder / name


def test_a_command(here):
    workload = CommandWorkload("{} < in.txt")
    program = made(workload, here)
    assert workload.check(program) == "" and workload.expected == b"abc\n"
    assert workload.check(program) == ""
    assert "something else" in workload.check(made(workload, here, "other", shift=1))
    assert workload.check(made(workload, here, "bad", code=3)) == "exit code 3: abc"
    with pytest.raises(RunError, match="exit code 3"):
        workload.run(here / "bad")
    # It is named in two ways.
    assert CommandWorkload('test {} = "$PROGRAM" && $PROGRAM < in.txt').check(program) == ""


def test_output_that_differs_each_time(here):
    workload = CommandWorkload("{} < in.txt; date +%N")
    assert "it prints something else each time" in workload.check(made(workload, here))


def test_seconds_are_those_of_the_processor(here):
    workload = CommandWorkload("sleep 1; {} < in.txt")
    program = made(workload, here)
    assert 0 < workload.seconds(program) < 1
    slow = CommandWorkload("{} slow < in.txt")
    assert slow.seconds(program) > CommandWorkload("{} < in.txt").seconds(program)


def test_a_program_with_inputs(here):
    (here / "out.txt").write_text("bcd\x0b")
    validator = ProgramValidator([ProgramRun(here / "in.txt", here / "out.txt")])
    workload = ProgramWorkload(validator)
    right = made(workload, here, "right", shift=1)
    assert workload.check(right) == ""
    assert workload.seconds(right) > 0
    assert "Wrong output" in workload.check(made(workload, here, "wrong"))
    with pytest.raises(RunError, match=r"Runtime error \(3\)"):
        workload.run(made(workload, here, "bad", code=3))


def test_link_errors_name_the_cause(here):
    (here / "f.c").write_text("int g(void); int main(void) { return g(); }\n")
    (here / "g.c").write_text("int g(void) { return 0; }\n")
    for name in ("f", "g"):
        subprocess.run([llvm_tools.clang_path(), "-c", f"{name}.c", "-o", f"{name}.o"], check=True)
    with pytest.raises(LinkError, match="--link 'clang"):
        CommandWorkload("{}").linker.link(here / "f.o", here / "p")
    linker = Linker(f"{llvm_tools.clang_path()} {{}} g.o -o $PROGRAM")
    workload = CommandWorkload("{}", linker)
    workload.link(here / "f.o", here / "p")
    assert workload.check(here / "p") == ""
    Linker(after=(here / "g.o",)).link(here / "f.o", here / "q")
    with pytest.raises(LinkError, match=r"-o \$PROGRAM"):
        Linker("true {}").link(here / "f.o", here / "r")


def test_runs_have_a_limit(here):
    workload = CommandWorkload("sleep 60")
    workload.limit(0.1)
    assert workload.check(here / "program") == "it takes more than 0.1 s"
    validator = ProgramValidator([ProgramRun(command="sleep 60")])
    workload = ProgramWorkload(validator)
    workload.limit(0.1)
    assert "Execution timeout" in workload.check(here / "program")
    with pytest.raises(RunError, match="Execution timeout"):
        workload.run(here / "program")
