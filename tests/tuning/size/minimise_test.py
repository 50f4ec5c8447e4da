"""Changes without the parts that do nothing."""

import math
import time

import pytest

from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluation, Evaluator
from compiler_gym.tuning.size.minimise import minimise, parts_of, without
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer

FULL = Change(
    options=("-a=1", "-b", "-mark=f", "-mark=g"),
    passes=("first<x>",),
    calls=((1, True), (4, False)),
    functions=((0, ("gvn", "licm")), (3, ("licm",))),
    sequence=("sroa", "gvn"),
)


def test_parts_of_a_change():
    parts = parts_of(FULL)
    assert [*parts] == [
        "inlining of 2 calls",
        "2 passes of the policy",
        "-a=1",
        "-b",
        "-mark, 2 times",
        "first<x>",
        "no gvn in 1 function",
        "no licm in 2 functions",
    ]
    assert without(FULL, parts.values()) == Change()
    left = without(FULL, [parts["no licm in 2 functions"], parts["-mark, 2 times"]])
    assert left.options == ("-a=1", "-b") and left.functions == ((0, ("gvn",)),)
    assert (left.passes, left.calls, left.sequence) == (FULL.passes, FULL.calls, FULL.sequence)


class Pretended(Evaluator):
    """Evaluates changes by a function in place of clang."""

    def __init__(self, size, folder, budget):
        super().__init__(Compilation(folder, folder), folder, budget)
        self.size = size

    def _evaluate(self, change, path):
        if self.budget.seconds_left <= 0:
            return None, not self.budget.cut()
        size = self.size(change)
        return Evaluation(change, ObjectFile(size, size, {}, "", ""), path), True


USED = 24


def minimised(size, change, folder, is_right=lambda _: True):
    """Returns the change that is left, and its parts, after a search of 24 evaluations."""
    with Pretended(size, folder, Budget()) as evaluator:
        (best,) = evaluator.evaluate([change])
        tried = evaluator.budget
        tried.used = USED
        small, parts = minimise(evaluator, best, Objective.TEXT.cost, lambda _: {}, is_right)
        assert evaluator.budget is tried and tried.used == USED and not tried.is_cut
        assert small.object.text <= best.object.text
    return small.change, {part.name: part.cost for part in parts}


@pytest.mark.parametrize(
    ("options", "size", "parts"),
    [
        ("-a -b -c -d", lambda it: 100 - 7 * ("-a" in it) - 2 * ("-c" in it), {"-a": 7, "-c": 2}),
        # It adds bytes.
        ("-a -b", lambda it: 90 + ("-b" in it), {}),
        # The other is judged again once one is dropped.
        ("-a -b", lambda it: {"-a -b": 90, "-a": 90, "-b": 95, "": 88}[" ".join(it)], {}),
        # 24 evaluations judge 24 of the parts. To leave these out takes others.
        (" ".join(f"-{n}" for n in range(30)), lambda it: 100 - 5 * ("-13" in it), {"-13": 5}),
    ],
)
def test_needed_parts_are_kept_with_their_savings(tmp_path, options, size, parts):
    change = Change(options=tuple(options.split()))
    left, found = minimised(lambda change: size(change.options), change, tmp_path)
    assert left == Change(options=tuple(parts)) and [*found.items()] == [*parts.items()]


def test_one_of_two_that_do_the_same(tmp_path):
    change = Change(options=("-a", "-b"))
    left, parts = minimised(lambda change: 90 if change.options else 100, change, tmp_path)
    assert len(left.options) == 1 and [*parts.values()] == [10]


def test_parts_that_go_together_take_few_evaluations(tmp_path):
    change, asked = Change(options=tuple(f"-{number}" for number in range(40))), []

    def size(change):
        asked.append(change)
        return 100 - 5 * sum(each in change.options for each in ("-7", "-33"))

    left, parts = minimised(size, change, tmp_path)
    assert left.options == ("-7", "-33") and parts == {"-7": 5, "-33": 5}
    # One for each part, one each time some are left out, and two to measure the rest.
    assert len(asked) <= 50


def test_no_check_runs_twice(tmp_path):
    change, checked = Change(options=("-a", "-b", "-c")), []

    def is_right(it):
        checked.append(it.change)
        return False

    minimised(lambda _: 90, change, tmp_path, is_right=is_right)
    assert len(checked) == len(set(checked)) == 5


def test_single_decisions(tmp_path):
    change = Change(calls=tuple((index, True) for index in range(16)))
    left, parts = minimised(lambda change: 100 - 3 * ((5, True) in change.calls), change, tmp_path)
    assert left.calls == ((5, True),) and parts == {"inlining of 1 call": 3}


def test_only_checked_results_replace_the_change(tmp_path):
    change = Change(options=("-a", "-b", "-c"))
    left, _ = minimised(
        lambda _: 90, change, tmp_path, is_right=lambda it: "-b" in it.change.options
    )
    assert left.options == ("-b",)
    left, parts = minimised(lambda _: 90, change, tmp_path, is_right=lambda _: False)
    assert left == change and [*parts.values()] == [0, 0, 0]


@pytest.mark.parametrize(
    ("used", "seconds", "limit", "measured"),
    [(1, 60, 1, 8), (2, 60, 2, 8), (26, 60, 26, 13), (80, 60, 30, 30), (80, 0, 0, 0)],
)
def test_the_budget_of_the_search_limits_it(tmp_path, used, seconds, limit, measured):
    change = Change(options=tuple(f"-{number}" for number in range(100)))
    asked = []

    def size(change):
        asked.append(change)
        return 1000 - len(change.options)

    with Pretended(size, tmp_path, Budget()) as evaluator:
        (best,) = evaluator.evaluate([change])
        evaluator.budget = Budget(seconds, ends=(0.5, 1.0))
        evaluator.budget.used = used
        cost = Objective.TEXT.cost
        left, parts = minimise(evaluator, best, cost, lambda _: {}, lambda _: True)
    # Those that were left out are not evaluated again to measure them.
    assert left is best and len(asked) == 1 + limit + measured
    assert [part.cost for part in parts].count(None) == 100 - limit - measured
    # What another machine would leave out is not known.
    assert evaluator.budget.is_cut == (seconds == 0)


def test_steps_after_a_search_have_their_own_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    budget = Budget(100, 7, ends=(0.5, 0.8, 1.0))
    assert budget.seconds_left == 50
    now[0] += 60
    assert budget.is_over and budget.is_cut
    assert budget.after(1).seconds_left == pytest.approx(20)
    assert budget.after(2).seconds_left == budget.after(3).seconds_left == pytest.approx(40)
    now[0] += 30
    assert budget.after(1).is_over and not budget.after(2, 3).is_over
    assert budget.after(2, 3).evaluations_left(5) == 3
    assert Budget().after(1).seconds_left == math.inf


def test_with_clang(compilation, start):
    search = Optimizer(start(compilation, evaluations=40))
    search.start()
    useless = Change(
        options=("-disable-lsr", "-disable-machine-licm", "-stats-json=0"),
        calls=((0, True),),
        functions=tuple((index, ("slp-vectorizer",)) for index in range(4)),
    )
    (search.best,) = search.evaluator.evaluate([useless])
    tried = search.evaluator.budget.used = 40
    before = search.size(search.best)
    search.minimise()
    assert search.size(search.best) <= before
    assert search.best.change.functions == () and "-stats-json=0" not in search.best.change.options
    assert search.evaluator.budget.used == tried
    assert all(part.cost > 0 for part in search.parts)
