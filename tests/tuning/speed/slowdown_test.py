"""Limits on how much slower a smaller program may be."""

import itertools

import pytest

from compiler_gym.tuning.size.trial_linking import LinkError
from compiler_gym.tuning.speed.workload import RunError, SlowdownLimit, Workload


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
