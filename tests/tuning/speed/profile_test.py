"""Profiles of runs, and the moves that they suggest."""

from dataclasses import replace
from pathlib import Path

import pytest

from compiler_gym.tuning.size.compilation import NO_CHANGE
from compiler_gym.tuning.speed.hot_parts import (
    hot_loops,
    moves_of_calls,
    moves_of_loops,
    moves_of_profile,
    profiles_of,
)
from compiler_gym.tuning.speed.profile import NO_PROFILE, Loop, Profile, collect_profile
from compiler_gym.tuning.speed.workload import CommandWorkload
from compiler_gym.util.commands import run_command


@pytest.fixture(name="unit")
def fixture_unit(compilation, tmp_path):
    path = tmp_path / "unit.bc"
    run_command(compilation.unit_command(path), timeout=60)
    return path


def test_a_run_is_profiled(compilation, unit, tmp_path):
    target = tmp_path / "program.o"
    found = collect_profile(compilation, unit, CommandWorkload("{}"), target)
    # The loop of mix() runs five times in each of 8000 calls.
    assert [(each.function, each.is_innermost) for each in found.loops] == [
        ("mix", True),
        ("main", True),
    ]
    assert found.loops[0].work > 5 * 8000
    assert sorted(found.calls.values()) == [4000, 4000]
    assert found.counts == tmp_path / "program.o.counts" and found.counts.is_file()
    assert found.trained == tmp_path / "program.o.profdata" and found.trained.is_file()
    # Both can be used.
    for move in moves_of_profile(found):
        command = compilation.command_of_unit(unit, target, move(NO_CHANGE))
        assert run_command(command, timeout=60).stderr == ""


def test_a_program_that_cannot_be_profiled(compilation, unit, tmp_path):
    target = tmp_path / "program.o"
    assert collect_profile(compilation, unit, CommandWorkload("false"), target) == NO_PROFILE
    assert not moves_of_profile(NO_PROFILE)
    assert not moves_of_loops(NO_PROFILE) and not moves_of_calls(NO_PROFILE)


LOOPS = (Loop(7, "f", True, 900.0), Loop(3, "g", False, 90.0), Loop(1, "h", True, 10.0))
PROFILE = Profile(LOOPS, {0: 5, 1: 0, 2: 70}, Path("/x.o.counts"), Path("/x.o.profdata"))


def test_hot_loops_come_first():
    assert [each.index for each in hot_loops(PROFILE)] == [7, 3]
    changes = [move(NO_CHANGE) for move in moves_of_loops(PROFILE)]
    indices = [change.loops[0][0] for change in changes]
    assert indices == sorted(indices, reverse=True) and {*indices} == {7, 3}
    assert len({*changes}) == len(changes)


def test_a_hint_replaces_others_and_is_taken_away():
    first, second, *_ = moves_of_loops(PROFILE)
    assert second(first(NO_CHANGE)) == second(NO_CHANGE)
    assert first(first(NO_CHANGE)) == NO_CHANGE


def test_executed_calls_come_first():
    changes = [move(NO_CHANGE).calls for move in moves_of_calls(PROFILE)]
    assert changes == [((2, True),), ((2, False),), ((0, True),), ((0, False),)]


def test_one_profile_at_a_time():
    trained, counts = moves_of_profile(PROFILE)
    start = replace(NO_CHANGE, options=("-a",), sequence=("ipsccp",))
    assert trained(start).profile == "/x.o.profdata" and trained(trained(start)) == start
    assert counts(start).options == ("-a", "-pgo-test-profile-file=/x.o.counts")
    assert counts(start).sequence == ("pgo-instr-use", "ipsccp")
    assert counts(counts(start)) == start
    assert counts(trained(start)) == counts(start) and trained(counts(start)) == trained(start)


def test_profiles_that_a_result_needs():
    trained, counts = moves_of_profile(PROFILE)
    target = Path("/x.o")
    assert profiles_of(NO_CHANGE, target) == []
    assert profiles_of(trained(NO_CHANGE), target) == [Path("/x.o.profdata")]
    assert profiles_of(counts(NO_CHANGE), target) == [Path("/x.o.counts")]
