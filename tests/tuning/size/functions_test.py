"""Adjustments of single functions, and their choice."""

from pathlib import Path

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation
from compiler_gym.tuning.size.moves import adjusting, climb_locally, list_functions
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.tuning.size.objective import Objective

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


def test_each_function_keeps_its_best():
    best, asked = adjusted(100)
    assert best.change.functions == ((0, ("a", "b")), (3, ("a", "c")))
    # Four alone, the best of each function, and the two that help.
    assert best.object.text == 300 - 7 - 5 - 4 - 3 and len(asked) == 6


def test_the_fewest_instructions_win_if_these_are_the_objective():
    best, asked = adjusted(100, Objective.INSTRUCTIONS)
    assert best.change.functions == ((3, ("b",)),)
    assert best.object.instructions == {"one": 200, "two": 80} and len(asked) == 5


def test_functions_take_different_numbers_of_adjustments(monkeypatch):
    # The two that help the first function do not do so together.
    monkeypatch.setitem(_TOGETHER, 0, -9)
    best, asked = adjusted(100)
    assert best.change.functions == ((0, ("b",)), (3, ("a", "c")))
    assert best.object.text == 300 - 7 - 4 - 3 and len(asked) == 6


def test_the_best_so_far_wins_when_the_budget_ends():
    best, asked = adjusted(1)
    assert best.change.functions == ((0, ("a",)), (3, ("a",))) and len(asked) == 1
    assert adjusted(0)[0].change == Change()


def test_numbers_of_functions(compilation, start):
    evaluator = start(compilation)
    evaluator.evaluate_source()
    assert {*list_functions(evaluator)} == {"mix", "twice", "fold", "main"}
    evaluator.unit.write_bytes(b"no bitcode")
    assert evaluator.facts("list-loops") == []
