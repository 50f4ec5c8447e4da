"""Functions without the mark of -Oz: where that saves instructions, and where it must not be."""

import re
from dataclasses import replace
from pathlib import Path

from compiler_gym.envs.llvm.benchmarks.bitcode import (
    ClangInvocation,
    add_attributes,
    compile_source,
    run_tool,
)
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation
from compiler_gym.tuning.size.moves import unmark
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.util import llvm_tools
from tests.tuning.size.conftest import searched

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
