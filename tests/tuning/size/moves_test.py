"""Moves: climbing on a landscape that needs no compiler, and functions without marks."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from compiler_gym.envs.llvm.benchmarks.bitcode import (
    ClangInvocation,
    add_attributes,
    compile_source,
    run_tool,
)
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation
from compiler_gym.tuning.size.moves import LocalMove, adjusting, climb, climb_locally, unmark
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.util import llvm_tools
from tests.tuning.size.conftest import searched


class Landscape:
    """Each call has a weight; two of them are bad together."""

    def __init__(self, weights, bad=(), budget=1000):
        self.weights = weights
        self.bad = bad
        self.budget = budget
        self.asked = []

    def evaluation(self, change):
        size = 1000 - sum(self.weights[index] for index, inline in change.calls if inline)
        if self.bad and {(index, True) for index in self.bad} <= {*change.calls}:
            size += 500
        sizes = {f"f{index}": 100 for index in range(len(self.weights))}
        for index, inline in change.calls:
            sizes[f"f{index}"] -= inline * self.weights[index]
        return Evaluation(change, ObjectFile(size, size, sizes, "", ""), Path())

    def evaluate(self, changes):
        changes = [*changes][: self.budget - len(self.asked)]
        self.asked += changes
        return [self.evaluation(change) for change in changes]


def climbed(landscape):
    moves = [partial(_decide, index) for index in range(len(landscape.weights))]
    start = landscape.evaluation(Change())
    return climb(start, moves, landscape.evaluate, lambda each: (each.object.text, 0))


def _decide(index, change):
    return change.decide({index: True})


def test_all_that_helps_is_kept():
    landscape = Landscape([3, -1, 5, 0, 7] * 4)
    best = climbed(landscape)
    assert best.object.text == 1000 - 15 * 4
    assert best.change.calls == tuple((i, True) for i in range(20) if i % 5 in (0, 2, 4))
    # Each once, and three times those that helped together.
    assert len(landscape.asked) == 23


def test_conflicting_changes_are_tried_again():
    best = climbed(Landscape([3, 9, 5], bad=(0, 1)))
    assert best.change.calls == ((1, True), (2, True))


def test_ends_when_the_budget_does():
    landscape = Landscape([1] * 40, budget=5)
    assert climbed(landscape).object.text == 999
    assert len(landscape.asked) == 5


def climbed_locally(landscape, functions=lambda index: {f"f{index}"}, **limits):
    moves = [
        LocalMove(frozenset(functions(index)), {index: True})
        for index in range(len(landscape.weights))
    ]
    return climb_locally(
        landscape.evaluation(Change()),
        moves,
        landscape.evaluate,
        lambda each: (each.object.text, 0),
        lambda each: each.object.functions,
        **limits,
    )


def own_and_main(index):
    return {f"f{index}", "main"}


def test_moves_of_different_functions_are_tried_at_once():
    landscape = Landscape([3, -1, 5, 0, 7] * 4)
    best, untried = climbed_locally(landscape)
    assert best.object.text == 1000 - 15 * 4 and untried == []
    # All, and then those that helped.
    assert len(landscape.asked) == 2


def test_moves_of_the_same_function_are_tried_one_by_one():
    landscape = Landscape([3, -1, 5, 0, 7, 2])
    best, _ = climbed_locally(landscape, own_and_main)
    assert best.object.text == 1000 - 17
    # Four, and four more with the best of these.
    assert [len(each.calls) for each in landscape.asked[:8]] == [1] * 4 + [2] * 4


def test_what_helped_is_part_of_what_is_tried_next():
    landscape = Landscape([3, -1, 5])
    best, _ = climbed_locally(landscape, own_and_main, width=1, steps=3)
    decided = [[index for index, _ in each.calls] for each in landscape.asked]
    assert decided == [[0], [0, 1], [0, 2], [0, 2]]
    assert best.change.calls == ((0, True), (2, True))


def test_no_more_rounds_than_wanted():
    landscape = Landscape([1] * 40)
    best, untried = climbed_locally(landscape, own_and_main, width=1, steps=3, rounds=2)
    assert best.object.text == 1000 - 6 and len(landscape.asked) == 8
    assert [index for each in untried for index in each.calls] == [*range(6, 40)]


def test_what_is_no_gain_together_is_not_taken():
    best, _ = climbed_locally(Landscape([3, 9, 5], bad=(0, 1)))
    assert best.change == Change()
    best, _ = climbed_locally(Landscape([3, 9, 5], bad=(0, 1)), own_and_main)
    assert best.change.calls == ((1, True), (2, True))


_SAVED = {(0, "a"): 5, (0, "b"): 7, (3, "a"): 4, (3, "b"): -20, (3, "c"): 3}

_TOGETHER: dict[int, int] = {}


def evaluation(change):
    sizes = {"one": 100, "two": 200}
    for index, names in change.functions:
        for name in names:
            function = {0: "one", 3: "two"}[index]
            sizes[function] -= _SAVED.get((index, name), 0)
        sizes[function] -= _TOGETHER.get(index, 0) * (len(names) > 1)
    size = sum(sizes.values())
    # What is smallest in bytes has the most instructions.
    counts = {name: 300 - size for name, size in sizes.items()}
    return Evaluation(change, ObjectFile(size, size, sizes, "", "", counts), Path())


def adjusted(budget, objective=Objective.TEXT):
    asked = []

    def evaluate(changes):
        new = [*changes][: budget - len(asked)]
        asked.extend(new)
        return [*map(evaluation, new)]

    start = evaluation(Change())
    best, _ = climb_locally(
        start,
        adjusting({"one": 0, "two": 3}, "abcd"),
        evaluate,
        objective.cost,
        lambda each: objective.of_functions(each.object),
    )
    return best, asked


@pytest.mark.parametrize(
    ("together", "first", "saved"),
    # The two that help the first function may not do so together.
    [(0, ("a", "b"), 19), (-9, ("b",), 14)],
)
def test_each_function_keeps_its_best(monkeypatch, together, first, saved):
    monkeypatch.setitem(_TOGETHER, 0, together)
    best, asked = adjusted(100)
    assert best.change.functions == ((0, first), (3, ("a", "c")))
    # Four alone, the best of each function, and the two that help.
    assert best.object.text == 300 - saved and len(asked) == 6


def test_the_fewest_instructions_win_if_these_are_the_objective():
    best, asked = adjusted(100, Objective.INSTRUCTIONS)
    assert best.change.functions == ((3, ("b",)),)
    assert best.object.instructions == {"one": 200, "two": 80} and len(asked) == 5


def test_the_best_so_far_wins_when_the_budget_ends():
    best, asked = adjusted(1)
    assert best.change.functions == ((0, ("a",)), (3, ("a",))) and len(asked) == 1
    assert adjusted(0)[0].change == Change()


_ALL, _CONSTANT = ("-force-remove-attribute=" + name for name in ("minsize", "constant:minsize"))

# A constant is two instructions of three bytes, or one of five; a division is one instruction, or
# many that are faster.
_SOURCE = """
int g(int);
int constant(void) { return g(5) + g(7); }
int division(int x) { return x / 7; }
"""


def instructions(evaluation):
    return evaluation.object.instructions


def test_only_functions_that_get_smaller_lose_the_mark(compilation, begin):
    compilation.source.write_text(_SOURCE)
    evaluator, marked = begin(compilation, objective=Objective.INSTRUCTIONS)
    met = []
    evaluator.watch = met.append
    unmark(marked, ["constant", "division", "other"], evaluator.evaluate, instructions)
    assert [each.change.options for each in met] == [(_ALL,), (_CONSTANT,)]
    none, some = map(instructions, met)
    before = instructions(marked)
    assert none["constant"] == some["constant"] < before["constant"]
    assert none["division"] > some["division"] == before["division"]


def test_a_search_unmarks_functions(compilation, start):
    compilation.source.write_text(_SOURCE)
    for options, stages in ((("-Oz",), ["unmark"]), (("-Os",), [])):
        of_level = replace(compilation, options=options)
        evaluator = start(of_level, evaluations=13, objective=Objective.INSTRUCTIONS)
        search = searched(evaluator, Objective.INSTRUCTIONS)
        assert [each.name for each in search.stages if each.name == "unmark"] == stages
        assert (_CONSTANT in search.best.change.options) == bool(stages)
    for_bytes = searched(start(compilation, evaluations=13))
    assert "unmark" not in [each.name for each in for_bytes.stages]


def test_unnameable_and_finished_functions_are_skipped():
    def evaluate(changes):
        asked.extend(changes)
        found = ObjectFile(9, 9, {}, "", "", {"a:b": 1, "c": 2})
        return [Evaluation(each, found, Path()) for each in changes]

    counts = {"a:b": 2, "c": 2}
    for options, expected in (((), [(_ALL,)]), ((_ALL,), [])):
        asked = []
        start = Evaluation(Change(options), ObjectFile(9, 9, {}, "", "", counts), Path())
        unmark(start, ["a:b", "c"], evaluate, instructions)
        assert [each.options for each in asked] == expected


def test_functions_that_must_not_be_optimised_are_not_marked(tmp_path):
    source, bitcode, marked = (tmp_path / f"program.{suffix}" for suffix in ("c", "bc", "marked"))
    source.write_text(
        "#pragma clang optimize off\nint slow(int x) { return x * 3; }\n"
        "#pragma clang optimize on\nint quick(int x) { return x * 3; }\n"
    )
    compile_source(ClangInvocation.from_c_file(source), bitcode)
    add_attributes(bitcode.read_bytes(), marked, ["optsize", "minsize"])
    text = run_tool([llvm_tools.tool_path("llvm-dis"), marked, "-o", "-"], timeout=60).decode()
    slow, quick = re.findall(r"^attributes #\d+ = \{ (.*) \}$", text, re.MULTILINE)[:2]
    assert "optnone" in slow and "minsize" not in slow
    assert "minsize" in quick and "optsize" in quick
