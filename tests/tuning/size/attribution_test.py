"""Tests of the attribution of savings to single decisions."""

import pytest

from compiler_gym.tuning.size.attribution import measure_effects
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.inlining import list_call_sites
from compiler_gym.tuning.size.moves import list_functions

OPTIONS = ("-inline-threshold=-50", "-disable-lsr")


def size(evaluation):
    return evaluation.object.text


def weighted(evaluation):
    """Another unit than bytes of code."""
    return 3 * evaluation.object.text


def sizes(evaluation):
    return evaluation.object.functions


@pytest.fixture(name="evaluator")
def fixture_evaluator(begin, compilation):
    evaluator, _ = begin(compilation)
    return evaluator


def differences(other, best):
    """Returns how the sizes of functions differ."""
    names = {*sizes(other), *sizes(best)}
    found = {each: sizes(other).get(each, 0) - sizes(best).get(each, 0) for each in names}
    return {name: size for name, size in found.items() if size}


def test_each_decision_is_left_out(evaluator):
    mixes = [each.index for each in list_call_sites(evaluator) if each.callee == "mix"]
    change = Change(options=OPTIONS).decide(dict.fromkeys(mixes, False))
    (best,) = evaluator.evaluate([change])
    effects, unmeasured = measure_effects(best, evaluator, size, sizes)
    assert unmeasured == 0
    without = {
        OPTIONS[0]: Change(OPTIONS[1:], calls=change.calls),
        OPTIONS[1]: Change(OPTIONS[:1], calls=change.calls),
        f"do not inline {{}} ({len(mixes)} calls)": Change(OPTIONS),
    }
    assert {each.decision for each in effects} == without.keys()
    for effect in effects:
        (other,) = evaluator.evaluate([without[effect.decision]])
        assert effect.saved == size(other) - size(best)
        assert dict(effect.functions) == differences(other, best)
    assert {each.symbol for each in effects} == {"mix", ""}
    saved = [each.saved for each in effects]
    assert saved == sorted(saved, reverse=True) and any(saved)


def test_passes_that_are_left_out_of_functions(evaluator):
    functions = list_functions(evaluator)
    both = {functions["fold"]: ("indvars",), functions["main"]: ("indvars",)}
    change = Change().adjust(both).adjust({functions["fold"]: ("peephole-opt",)})
    (best,) = evaluator.evaluate([change])
    effects, _ = measure_effects(best, evaluator, weighted, sizes)
    with_peephole, without_indvars = evaluator.evaluate(
        [Change().adjust(both), Change().adjust({functions["fold"]: ("peephole-opt",)})]
    )
    others = {
        "no indvars (2 functions)": without_indvars,
        "no peephole-opt (1 function)": with_peephole,
    }
    assert {each.decision for each in effects} == others.keys()
    for effect in effects:
        other = others[effect.decision]
        # As for all other decisions, in the unit of the objective.
        assert effect.saved == weighted(other) - weighted(best) > 0
        assert dict(effect.functions) == differences(other, best)


def test_clang_that_fails_and_too_many_decisions(evaluator):
    change = Change(passes=("instcombine", "no-such-pass"))
    best = evaluator.evaluate_source()
    # Without its first pass, clang fails because of the second.
    (effect,), unmeasured = measure_effects(
        type(best)(change, best.object, best.path), evaluator, size, sizes, limit=1
    )
    assert (effect.decision, effect.saved, unmeasured) == ("instcombine", None, 1)
