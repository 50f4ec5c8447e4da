"""Races, with programs that take what they are told to."""

import numpy as np
import pytest

from compiler_gym.tuning.speed.optimizer import is_claimed
from compiler_gym.tuning.speed.workload import HEATS, Runner, Stopwatch


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
