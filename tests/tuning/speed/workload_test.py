"""Linking, checking and running programs."""

import itertools
import subprocess

import numpy as np
import pytest

from compiler_gym.envs.llvm.benchmarks.validation import ProgramRun, ProgramValidator
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.trial_linking import LinkError
from compiler_gym.tuning.speed.optimizer import is_claimed
from compiler_gym.tuning.speed.workload import (
    HEATS,
    CommandWorkload,
    ProgramWorkload,
    RunError,
    Runner,
    SlowdownLimit,
    Stopwatch,
    Workload,
)
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


class Simulated(Workload):
    """Programs whose times are known: an object file is an ELF header and the seconds of a run."""

    def __init__(self):
        self.runs = 0

    def link(self, object_file, program):
        text = object_file.read_bytes()[64:].decode()
        if text == "unlinked":
            raise LinkError("it does not link")
        program.write_text(text)

    def check(self, program):
        return "it prints something else" if program.read_text() == "wrong" else ""

    def run(self, program):
        raise NotImplementedError

    def limit(self, seconds):
        raise NotImplementedError

    def seconds(self, program):
        self.runs += 1
        text = program.read_text()
        if text == "crash":
            raise RunError("it crashes")
        return float(text)


@pytest.fixture(name="made")
def fixture_made(tmp_path):
    """Makes an object file without sections."""
    numbers = itertools.count()

    def made(text):
        path = tmp_path / f"{next(numbers)}.o"
        header = bytearray(64)
        header[:6] = b"\x7fELF\x02\x01"
        path.write_bytes(bytes(header) + str(text).encode())
        return path

    return made


def test_slower_programs_are_refused(made):
    limit = SlowdownLimit(Simulated(), 1.1)
    assert limit(made(1.0)) == ""
    assert limit(made(1.05)) == ""
    assert limit(made(0.9)) == ""
    why = limit(made(1.5))
    assert "it takes 1.50 times as long" in why
    assert "--max-slowdown allows 1.1" in why
    ratios = sorted(each.ratio for each in limit.measured.values())
    assert ratios == pytest.approx([0.9, 1.05])


def test_short_runs_are_repeated(made):
    workload = Simulated()
    limit = SlowdownLimit(workload, 1.1)
    limit(made(0.004))
    before = workload.runs
    limit(made(0.0041))
    assert workload.runs - before == 2 * 12 * 5


@pytest.mark.parametrize(
    "text, why",
    [
        ("unlinked", "it does not link"),
        ("wrong", "it prints something else"),
        ("crash", "it failed in one of many runs"),
    ],
)
def test_broken_programs_are_refused(made, text, why):
    limit = SlowdownLimit(Simulated(), 1.1)
    assert limit(made(1.0)) == ""
    assert limit(made(text)) == why
    assert not limit.measured


def test_a_wrong_first_program_is_refused(made):
    limit = SlowdownLimit(Simulated(), 1.1)
    assert limit(made("wrong")) == "it prints something else"
    assert limit(made(1.0)) == "" and not limit.measured


class Machine:
    """Programs are the seconds that they take; the machine adds noise, and becomes slower."""

    def __init__(self, noise, drift=0.0, seed=1):
        self.rng = np.random.default_rng(seed)
        self.noise = noise
        self.drift = drift
        self.runs = []

    def seconds(self, program):
        if program is None:
            raise ValueError("It fails")
        self.runs.append(program)
        slower = 1 + self.drift * len(self.runs)
        return program * slower * (1 + self.noise * self.rng.standard_normal())


def stopwatch(machine, **options):
    return Stopwatch(machine.seconds, np.random.default_rng(0), **options)


def test_the_fastest_wins_and_the_others_run_less():
    machine = Machine(noise=0.01)
    result = stopwatch(machine).race(1.0, [0.97, 1.05, 0.9, 1.2, 0.99])
    assert result.winner.program == 0.9
    assert result.winner.speedup == pytest.approx(1 / 0.9, rel=0.02)
    runs = {each.program: len(each.ratios) for each in result.runners}
    assert runs[0.9] == HEATS[-1] and runs[1.2] == runs[1.05] == HEATS[0]
    assert machine.runs.count(1.0) == HEATS[-1]


def test_drift_of_the_machine_says_nothing():
    # It is three times as slow at the end.
    result = stopwatch(Machine(noise=0.01, drift=0.03)).race(1.0, [0.95, 1.1])
    assert result.winner.program == 0.95


def test_no_winner_if_nothing_is_faster():
    assert stopwatch(Machine(noise=0.01)).race(1.0, [1.02, 1.1]).winner is None
    assert stopwatch(Machine(noise=0.01)).race(1.0, []).winner is None
    assert stopwatch(Machine(noise=0.01)).race(None, [0.9]).winner is None
    # Programs that fail are out.
    result = stopwatch(Machine(noise=0.01)).race(1.0, [None, 0.9])
    assert [each.program for each in result.runners] == [0.9] == [result.winner.program]


def test_equal_programs_seldom_win():
    wins = sum(
        stopwatch(Machine(0.05, seed=seed)).race(1.0, [1.0] * 8).winner is not None
        for seed in range(60)
    )
    # The luckiest of eight is chosen, so it is more than a test's level; why proof comes after.
    assert wins < 30


def test_a_race_that_runs_out_of_time_has_no_winner():
    machine = Machine(noise=0.01)
    watch = stopwatch(machine, is_over=lambda: len(machine.runs) >= 6)
    result = watch.race(1.0, [0.5, 0.6])
    assert result.winner is None
    assert [len(each.ratios) for each in result.runners] == [2, 2]


def test_pairs():
    machine, seen = Machine(noise=0), []
    before, after = stopwatch(machine).compare(2.0, 1.0, 5, seen.append)
    assert (before, after) == ([2.0] * 5, [1.0] * 5)
    assert seen == [1, 2, 3, 4, 5]
    # Neither is always the first.
    assert len({*machine.runs[::2]}) == 2
    assert stopwatch(machine).compare(2.0, None, 5) == ([], [])


def test_a_proof_of_equal_programs_is_rare():
    faster = 0
    for seed in range(200):
        before, after = stopwatch(Machine(0.03, seed=seed)).compare(1.0, 1.0, 20)
        ratios = [one / other for one, other in zip(before, after, strict=True)]
        comparison = Runner("", ratios).compare()
        faster += is_claimed(comparison)
    assert not faster  # One has a chance of 1 %.
    ratios = [1.02 + 0.01 * (number % 3) for number in range(20)]
    assert is_claimed(Runner("", ratios).compare())
