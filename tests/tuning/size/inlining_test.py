"""Decisions about inlining, with what LLVM says of them."""

import pytest

from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.inlining import Inlining, list_call_sites
from compiler_gym.util import llvm_tools
from tests.tuning.size.conftest import PROGRAM


@pytest.fixture(name="evaluator", scope="module")
def fixture_evaluator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inlining")
    source, plugin = folder / "program.c", llvm_tools.own_passes_path()
    source.write_text(PROGRAM)
    compilation = Compilation(llvm_tools.clang_path(), source, plugin=plugin)
    with Evaluator(compilation, folder, Budget(), 2) as evaluator:
        evaluator.evaluate_source()
        yield evaluator


@pytest.fixture(name="sites")
def fixture_sites(evaluator):
    return list_call_sites(evaluator)


@pytest.fixture(name="inlining")
def fixture_inlining(evaluator, sites):
    return Inlining(evaluator, sites)


def test_calls_of_a_program(sites):
    calls = [(site.caller, site.callee, site.local) for site in sites]
    assert sorted(calls) == [
        ("fold", "mix", True),
        ("fold", "twice", True),
        ("main", "fold", False),
        ("main", "mix", True),
        ("main", "mix", True),
        ("twice", "mix", True),
        ("twice", "mix", True),
    ]
    assert len({site.index for site in sites}) == 7


def test_moves_are_to_other_decisions(evaluator, inlining, sites):
    (before,) = evaluator.evaluate([Change()])
    # LLVM inlines the only call of a local function, and not those of a larger one with several.
    assert {*before.object.functions} == {"mix", "fold", "main"}
    callees = {site.index: site.callee for site in sites}
    changes = [each.move(Change()) for each in inlining.moves_of_callees(Change())]
    decided = {
        ({callees[index] for index, _ in change.calls}.pop(), change.calls[0][1])
        for change in changes
    }
    assert decided == {("mix", True), ("twice", False), ("fold", True)}
    of_calls = [each.move(Change()).calls for each in inlining.moves_of_calls(Change())]
    assert all(len(calls) == 1 for calls in of_calls)
    assert {callees[calls[0][0]] for calls in of_calls} == {"mix"}
    assert all(inline for ((_, inline),) in of_calls)
    found = evaluator.evaluate(changes)
    assert len(found) == len(changes) == 3
    functions = {frozenset(each.object.functions) for each in found}
    assert frozenset({"fold", "main"}) in functions
    assert frozenset({"mix", "twice", "fold", "main"}) in functions


def test_pinned_calls_stay_as_llvm_decided_about_them(evaluator, inlining, sites):
    callees = {site.index: site.callee for site in sites}
    eager = Change(options=("-inline-threshold=5000",))
    pins = inlining.pins(Change())
    assert {(callees[index], inline) for index, inline in pins.items()} == {
        ("mix", False),
        ("twice", True),
        ("fold", False),
    }
    found = evaluator.evaluate([Change().decide(pins), eager, eager.decide(pins)])
    functions = [{*each.object.functions} for each in found]
    assert functions == [{"mix", "fold", "main"}, {"fold", "main"}, {"mix", "fold", "main"}]
    # What a change decides is not LLVM's decision.
    ((index, inline),) = [it for it in pins.items() if it[1]]
    assert index not in inlining.pins(Change().decide({index: not inline}))


def test_costs_of_pinned_calls_are_known(inlining):
    pinned = Change().decide(inlining.pins(Change()))
    assert inlining.moves_of_callees(pinned)[0] == inlining.moves_of_callees(Change())[0]
    costs = [each.cost for each in inlining.of_callees(inlining.decided(pinned))]
    assert len({*costs}) == len(costs) == 3


def test_moves_know_which_functions_they_change(evaluator, inlining):
    (before,) = evaluator.evaluate([Change()])
    for each in inlining.moves_of_callees(Change()):
        (found,) = evaluator.evaluate([each.move(Change())])
        saved = each.saved(before.object.functions, found.object.functions)
        assert saved == sum(before.object.functions.values()) - sum(found.object.functions.values())
    # LLVM inlines twice into its only caller. If that is inlined, too, twice has two callers.
    functions = {each.functions for each in inlining.moves_of_callees(Change())}
    assert {frozenset({"twice", "fold"}), frozenset({"twice", "fold", "main"})} <= functions


def test_without_bitcode_there_is_nothing_to_decide(compilation, begin):
    evaluator, _ = begin(compilation)
    evaluator.unit.write_bytes(b"no bitcode")
    assert list_call_sites(evaluator) == []
