"""Runs of clang with changes."""

import os
import signal
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.size.compilation import (
    Change,
    Compilation,
    change_as_json,
    change_from_json,
)
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import Popen, commands_of, kill_running_commands

_LICM = Change(("-disable-machine-licm",))
_LSR = Change(("-disable-lsr",))
_BAD = Change(("-there-is-no-such-option",))


def test_bitcode_takes_the_place_of_the_source(compilation, begin):
    evaluator, evaluation = begin(replace(compilation, options=("-g", "-DX=1", "-std=c11")))
    assert evaluator.unit is not None and evaluator.messages == ""
    (changed,) = evaluator.evaluate([_LICM])
    assert str(evaluator.unit) in evaluator.command(_LICM, Path("x.o"))
    assert changed.object.code != evaluation.object.code and changed.object.text > 0
    assert evaluator.budget.used == 1


def test_the_source_where_bitcode_makes_other_code(compilation, begin, tmp_path):
    other = script(tmp_path, '*"-c "*unit.bc*) set -- "$@" -O1')
    evaluator, _ = begin(replace(compilation, clang=other))
    assert evaluator.unit is None
    assert len(evaluator.evaluate([_LICM])) == 1
    assert str(compilation.source) in evaluator.command(_LICM, Path("x.o"))


def script(folder, case):
    """A clang that does something else in a case."""
    path = folder / "clang"
    path.write_text(f'#!/bin/sh\ncase "$*" in {case};; esac\nexec {llvm_tools.clang_path()} "$@"\n')
    path.chmod(0o755)
    return path


def test_order_is_that_of_the_changes_and_nothing_is_done_twice(compilation, start):
    results = []
    for jobs in (1, 3):
        evaluator = start(compilation, jobs=jobs)
        met = []
        evaluator.watch = met.append
        evaluator.evaluate_source()
        found = evaluator.evaluate([_LSR, _BAD, _LICM, _LSR, Change()])
        assert [each.change for each in found] == [_LSR, _LICM, _LSR, Change()]
        assert evaluator.evaluate([_LICM]) == [found[1]]
        assert (evaluator.budget.used, evaluator.failed) == (3, 1)
        assert met == [found[0], None, found[1]]
        results.append([each.object for each in found])
    assert results[0] == results[1]


def test_budgets_hold(compilation, begin):
    evaluator, _ = begin(compilation, evaluations=1)
    assert [each.change for each in evaluator.evaluate([_LSR, _LICM])] == [_LSR]
    assert evaluator.budget.is_over and not evaluator.budget.is_cut
    evaluator, _ = begin(compilation, seconds=0.0)
    assert evaluator.budget.is_over and evaluator.budget.is_cut
    assert evaluator.evaluate([_LSR]) == []
    assert evaluator.budget.used == evaluator.failed == 0


@pytest.fixture(name="slow")
def fixture_slow(tmp_path):
    """A clang that takes longer than any test if it is given an option."""
    return script(tmp_path, "*disable-lsr*) sleep 3600")


def test_hangs_end_with_the_budget_or_the_limit(compilation, begin, slow, monkeypatch):
    evaluator, _ = begin(replace(compilation, clang=slow))
    assert [each.change for each in evaluator.evaluate([_LICM])] == [_LICM]
    monkeypatch.setattr(evaluator.budget, "_seconds", evaluator.budget.passed + 0.3)
    assert evaluator.evaluate([_LICM, _LSR]) == evaluator.evaluate([_LICM])
    assert evaluator.budget.is_over and evaluator.budget.is_cut and evaluator.timed_out == 0
    # It was not the change's fault.
    assert (evaluator.budget.used, evaluator.failed) == (1, 0)
    evaluator, _ = begin(replace(compilation, clang=slow))
    monkeypatch.setattr("compiler_gym.tuning.size.evaluator._LIMIT_SECONDS", 1)
    assert evaluator.evaluate([_LSR]) == []
    assert evaluator.failed == evaluator.timed_out == 1
    assert not evaluator.budget.is_over and not evaluator.budget.is_cut


def test_compilers_that_take_too_long_are_those_that_fail(compilation, begin, monkeypatch):
    monkeypatch.setattr("compiler_gym.tuning.size.evaluator._LIST_SECONDS", 1e-6)
    evaluator, _ = begin(compilation)
    assert evaluator.facts("list-functions") == []
    monkeypatch.setattr("compiler_gym.tuning.size.evaluator._SOURCE_LIMIT_SECONDS", 1e-6)
    with pytest.raises(BenchmarkInitError, match=r"program\.c does not compile in 1e-06 s"):
        begin(compilation)


def test_bitcode_that_is_there_and_slots(compilation, begin, tmp_path):
    unit = tmp_path / "given.bc"
    subprocess.run(compilation.unit_command(unit), check=True)
    held = []

    @contextmanager
    def slots():
        held.append(1)
        yield

    evaluator, _ = begin(compilation, unit=unit, slots=slots)
    assert evaluator.unit == unit and held == []
    assert len(evaluator.evaluate([_LICM, _LSR])) == len(held) == 2


def test_ctrl_c_kills_running_compilers(compilation, begin, slow):
    evaluator, _ = begin(replace(compilation, clang=slow), jobs=2)

    def press(_):
        raise KeyboardInterrupt

    evaluator.watch = press
    with pytest.raises(KeyboardInterrupt):
        evaluator.evaluate([_LICM, _LSR, _LSR.plus("x")])
    assert evaluator.evaluate([_BAD]) == []


def test_commands_of_another_evaluator_go_on(compilation, start, slow):
    slow_one, other = (start(replace(compilation, clang=slow)) for _ in range(2))
    for each in (slow_one, other):
        each.evaluate_source()
    begun, results = threading.Event(), []

    def run():
        with commands_of(slow_one), Popen(["sleep", "1000"]) as process:
            begun.set()
            results.append(process.wait())

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(100)

    def fail(_):
        raise RuntimeError("the search has a bug")

    other.watch = fail
    with pytest.raises(RuntimeError, match="bug"):
        other.evaluate([_LICM, _LSR])
    assert results == []
    kill_running_commands(slow_one)
    thread.join(timeout=100)
    assert results == [-signal.SIGKILL]


def test_errors_and_warnings_of_clang_are_reported(compilation, start, begin):
    compilation.source.write_text("int f(void) { return g(); }\n")
    with pytest.raises(BenchmarkInitError, match="undeclared function 'g'"):
        start(compilation).evaluate_source()
    compilation.source.write_text("int f(int x) { if (x = 1) return 2; return 3; }\n")
    evaluator, _ = begin(compilation)
    assert "using the result of an assignment as a condition" in evaluator.messages


def test_other_formats_are_refused(tmp_path, source, start):
    options = ("--target=x86_64-apple-macos", "-nostdinc", "-Dprintf(...)=0")
    source.write_text("int f(void) { return 1; }\n")
    with pytest.raises(ValueError, match="ELF"):
        start(Compilation(llvm_tools.clang_path(), source, options)).evaluate_source()
    (folder,) = tmp_path.glob("evaluator-*")
    assert os.listdir(folder) == ["source.o"]


_WEAK = """
inline int small(int x) { for (int i = 0; i < 9; i++) x = x * 31 ^ x >> 7; return x; }
template <int n> int times(int x) { return small(x * n) ^ small(x / (n + 1)); }
int all(int x) { return times<3>(x) + times<3>(x + 1) + small(x); }
"""


def test_exported_weak_symbols_stay(start, begin, tmp_path):
    source = tmp_path / "weak.cc"
    source.write_text(_WEAK)
    clang, plugin = llvm_tools.tool_path("clang++"), llvm_tools.own_passes_path()
    compilation = Compilation(clang, source, plugin=plugin)
    inline = Change(("-inline-threshold=5000",), calls=tuple((index, True) for index in range(5)))
    dropping, keeping = start(compilation, may_drop_weak=True), start(compilation)
    exported = dropping.evaluate_source().object.exported
    assert (
        exported == keeping.evaluate_source().object.exported == {"_Z5smalli", "_Z5timesILi3EEii"}
    )
    (dropped,), (kept,) = dropping.evaluate([inline]), keeping.evaluate([inline])
    assert dropped.object.exported == set() and kept.object.exported == exported
    # LLVM's remarks are about the same object file.
    remarked = keeping.remarks(inline)
    assert remarked.object == kept.object and "small" in remarked.text
    # The decisions are the same, and a lock file repeats the object file.
    assert dropped.change == kept.change == inline
    again = change_from_json(change_as_json(kept.change))
    assert keeping.command(again, source) == keeping.command(kept.change, source)
    # Where nothing can keep them, such a result is refused.
    without, _ = begin(replace(compilation, plugin=None))
    assert without.evaluate([Change(inline.options)]) == [] and without.failed == 1
