"""Expectations of the model about functions and calls, and the decisions that follow."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from compiler_gym.tuning.size.boosted_trees import BoostedTrees, trees_of
from compiler_gym.tuning.size.call_gains import NO_CALL_GAINS, CallFeatures, CallGains
from compiler_gym.tuning.size.compilation import NO_CHANGE, Change
from compiler_gym.tuning.size.expectations import Expectations, OptionSets
from compiler_gym.tuning.size.function_gains import FunctionGains, GainTrees, function_features
from compiler_gym.tuning.size.inlining import Inlining, list_call_sites
from compiler_gym.tuning.size.moves import list_functions, moved
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.ranking import (
    experimental_options,
    function_properties,
    shipped_ranking,
)
from tests.tuning.size.conftest import searched

_NODE = np.dtype(
    [
        ("value", float),
        ("feature_idx", int),
        ("num_threshold", float),
        ("left", int),
        ("right", int),
        ("is_leaf", np.uint8),
    ]
)


def step(threshold, low, high):
    """Trees that are ``low`` up to a threshold of the first feature, and ``high`` above."""
    nodes = [(0, 0, threshold, 1, 2, 0), (low, 0, 0, 0, 0, 1), (high, 0, 0, 0, 0, 1)]
    return trees_of(0.0, [np.array(nodes, _NODE)])


def both(trees):
    return GainTrees(trees, trees)


def test_trees_predict_as_those_that_were_fitted():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 50, (400, 5)).astype(float)
    values = np.sin(rows[:, 0]) + (rows[:, 1] > 20) * rows[:, 2] + rng.normal(size=400)
    fitted = HistGradientBoostingRegressor(max_iter=30, max_leaf_nodes=7).fit(rows, values)
    nodes = [tree.nodes for (tree,) in fitted._predictors]
    trees = trees_of(float(fitted._baseline_prediction.item()), nodes)
    np.testing.assert_allclose(trees.predict(rows), fitted.predict(rows))
    again = BoostedTrees.from_facts(trees.as_facts())
    np.testing.assert_allclose(again.predict(rows), fitted.predict(rows), atol=1e-3)
    assert again.as_facts() == trees.as_facts()
    np.testing.assert_array_equal(trees_of(2.0, []).predict(rows[:3]), [2, 2, 2])


def test_gains_are_by_function_and_adjustment():
    found = ObjectFile(150, 200, {"f": 100, "g": 40, "h": 10}, "", "", unwinding={"f": 20})
    features = function_features(found, {"f": {"Loads": 8}, "g": {"Loads": 1}})
    assert features == {
        "f": {"bytes": 100, "unwinding": 20, "Loads": 8},
        "g": {"bytes": 40, "unwinding": 0, "Loads": 1},
    }
    model = FunctionGains(("Loads",), {"licm": GainTrees(step(4, -0.1, 0.2), step(4, 0.05, 0.25))})
    gains = model.expected(features, ["gvn", "licm"])
    f, g = gains["f"]["licm"], gains["g"]["licm"]
    assert (f.saved, f.improvement) == (pytest.approx(24), pytest.approx(30))
    assert (g.saved, g.improvement) == (pytest.approx(-4), pytest.approx(2))
    assert model.expected({}, ["licm"]) == model.expected(features, ["gvn"]) == {}


@pytest.fixture(name="parts")
def fixture_parts(compilation, begin):
    """The program of the tests, and what is known of it."""
    evaluator, baseline = begin(compilation)
    return SimpleNamespace(
        evaluator=evaluator,
        baseline=baseline,
        inlining=Inlining(evaluator, list_call_sites(evaluator)),
        properties=function_properties(evaluator.unit),
        functions=list_functions(evaluator),
    )


def expectations(parts, functions, calls):
    return Expectations(
        replace(shipped_ranking(), functions=functions, calls=calls),
        *(parts.baseline, parts.properties, parts.inlining, parts.functions),
        ["licm", "simplifycfg"],
    )


def test_features_of_decisions(parts):
    decided = parts.inlining.decided(NO_CHANGE)
    features = CallFeatures(parts.inlining, decided, parts.baseline.object, parts.properties)
    by_callee = {each.callee: features.of(each) for each in parts.inlining.of_callees(decided)}
    mix = by_callee["mix"]
    assert (mix["inline"], mix["sites"], mix["all_sites"], mix["callers"]) == (True, 5, 5, 3)
    assert mix["local"] and mix["discardable"] and not mix["other_uses"]
    assert mix["bytes"] == parts.baseline.object.functions["mix"]
    assert mix["kept"] > 0 == mix["inlined"]
    assert mix["blocks"] == mix["BasicBlockCount"] > 1
    # main calls mix(1, 2), and all other arguments are variables.
    assert mix["constants"] == 2 / 5
    assert by_callee["twice"]["inlined"] == 1 and not by_callee["twice"]["inline"]
    assert by_callee["twice"]["calls_in"] == 2


def test_all_that_is_expected_to_help_is_done_at_once(parts):
    saved = {"licm": both(step(1e6, 0.1, 0)), "simplifycfg": both(step(0, 0, -0.1))}
    calls = both(step(0.5, 1.0, -1.0))
    it = expectations(parts, FunctionGains(("bytes",), saved), CallGains(("inline",), calls))
    chosen = it.decide(NO_CHANGE)
    change = moved(NO_CHANGE, chosen)
    # LLVM inlines twice, which is said to cost bytes.
    assert [inline for _, inline in change.calls] == [False]
    assert {texts for _, texts in change.functions} == {("licm",)}
    assert len(change.functions) == 3
    (found,) = parts.evaluator.evaluate([change])
    assert "twice" in found.object.functions


def test_what_does_harm_at_first_is_dropped_and_tried_last(parts):
    saved = {"licm": both(step(1e6, 0.1, 0)), "simplifycfg": both(step(1e6, 0.2, 0))}
    calls = both(step(0.5, 1.0, -1.0))
    it = expectations(parts, FunctionGains(("bytes",), saved), CallGains(("inline",), calls))
    chosen = it.decide(NO_CHANGE)
    assert sum(bool(each.calls) for each in chosen) == 1
    before = dict.fromkeys(parts.functions, 100)
    # What does harm is taken back first.
    change, main = moved(NO_CHANGE, chosen), parts.functions["main"]
    taken = it.local_moves(before, {**before, "main": 101})[0].move(change)
    assert {*change.functions} - {*taken.functions} == {(main, ("licm", "simplifycfg"))}
    # Without the call, there is a function that was inlined.
    after = {**before, "main": 90, "fold": 101, "twice": 120}
    kept = it.keep_helpful({**before, "twice": 0}, after)
    assert {*(each.functions for each in kept)} == {frozenset({"main"}), frozenset({"mix"})}
    assert {texts for each in kept for texts in each.adjustments.values()} == {
        ("licm", "simplifycfg")
    }
    # Of the adjustments, each by itself, and after all that was not tried at all.
    call, *_, first, second = it.local_moves(before, before)
    assert call in chosen and call.calls
    fold = parts.functions["fold"]
    assert (first.adjustments, second.adjustments) == (
        {fold: ("licm",)},
        {fold: ("simplifycfg",)},
    )


def test_what_may_save_most_is_tried_first(parts):
    """Adjustments that save nothing on average may still be worth a try."""
    may_save = {"licm": 0.01, "simplifycfg": 0.03}
    trees = {
        text: GainTrees(step(0, 0, -0.1), step(0, 0, share)) for text, share in may_save.items()
    }
    it = expectations(parts, FunctionGains(("bytes",), trees), NO_CALL_GAINS)
    assert it.decide(NO_CHANGE) == []
    sizes = parts.baseline.object.functions
    moves = [each for each in it.local_moves(sizes, sizes) if {*each.functions} <= {*sizes}]
    of_main = [it for each in moves if "main" in each.functions for it in each.adjustments.values()]
    assert of_main == [("simplifycfg",), ("licm",)]
    largest = max(sizes, key=lambda name: sizes[name] + parts.baseline.object.unwinding[name])
    assert moves[0].functions == {largest}


class _Belief:
    """Expects the same of all sets, and chooses the last."""

    def __init__(self):
        self.least = []
        self.learned = []

    def choose(self, candidates, least):
        self.least.append(least)
        return candidates[-1]

    def expected(self, change):
        return -0.02

    def learn(self, change, result):
        self.learned.append((change, result))


def test_sets_of_options_are_judged_without_what_the_moves_do():
    belief, first, second = _Belief(), Change(("-a",)), Change(("-b",))
    sets = OptionSets(belief, [second, first])
    assert sets.next() == first
    sets.learn(first, -0.10)
    assert sets.next() == second and sets.left == []
    sets.learn(second, -0.11)
    (_, one), (_, two) = belief.learned
    assert (one, two) == (pytest.approx(-0.02), pytest.approx(-0.03))
    # With the moves, any first set is smaller than no change; the second is to beat the first.
    assert belief.least[0] > 0.5 and belief.least[1] == pytest.approx(-0.02)


@pytest.mark.parametrize("asked", [False, True], ids=["safe", "experimental"])
def test_first_evaluations_use_experimental_options_only_if_asked(compilation, start, asked):
    evaluator = start(compilation, evaluations=2)
    search = searched(evaluator, with_experimental=asked, ranking=shipped_ranking())
    assert search.best.loaded < search.baseline.loaded
    assert [stage.name for stage in search.stages] == ["portfolio"]
    # In the order of the portfolio, these evaluations would have no decisions about calls.
    assert search.best.change.functions and search.best.change.calls
    assert bool(experimental_options(search.best.change)) is asked


def inlining_all():
    """A model that expects much of inlining all calls, and nothing of anything else."""
    calls = CallGains(("inline",), both(step(0.5, -5, 5)))
    return replace(shipped_ranking(), functions=FunctionGains((), {}), calls=calls)


def test_what_harms_in_the_runs_for_remarks_is_left_out_of_the_first_evaluation(compilation, start):
    evaluator = start(compilation, evaluations=1, jobs=1)
    search = searched(evaluator, Objective.TEXT, ranking=inlining_all())
    (first,) = (each for each in evaluator._known if each != NO_CHANGE)
    sites = {each.index: each for each in list_call_sites(evaluator)}
    inlined = {sites[index].callee for index, inline in first.calls if inline}
    # LLVM inlines this one. The others are larger than their calls, and are pinned.
    assert inlined == {"twice"} and {index for index, _ in first.calls} == {*sites}
    assert search.best.object.text < search.baseline.object.text
    assert search.best.change == first


def test_what_harms_is_taken_back_if_the_first_results_are_larger_than_the_baseline(
    compilation, start, monkeypatch
):
    # As if clang failed to write the object files of its remarks.
    monkeypatch.setattr(Inlining, "made", lambda *_: None)
    evaluator = start(compilation, evaluations=3, jobs=1)
    search = searched(evaluator, Objective.TEXT, ranking=inlining_all())
    first, second, third = (each for each in evaluator._known if each != NO_CHANGE)
    assert search.best is search.baseline
    chosen = {index for index, inline in first.calls if inline}
    assert chosen == {index for index, inline in second.calls if inline}
    assert third.options in (first.options, second.options)
    taken_back = {*first.calls} - {*third.calls}
    assert taken_back and all(inline for _, inline in taken_back)
    assert {(index, False) for index, _ in taken_back} <= {*third.calls}
