"""The search as a whole."""

from dataclasses import replace
from pathlib import Path

import pytest

from compiler_gym.tuning.size import moves, optimizer
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.evaluator import Evaluation
from compiler_gym.tuning.size.inputs import command_check
from compiler_gym.tuning.size.moves import list_functions
from compiler_gym.tuning.size.object_file import ObjectFile, read_object
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.product import reproduces, write_object, write_script
from compiler_gym.tuning.size.safety import Limits
from compiler_gym.util.commands import run_command
from tests.effort import effort
from tests.tuning.size.conftest import searched


def facts(search):
    return (
        search.best.change,
        search.best.object,
        [(stage.name, stage.evaluations, stage.size) for stage in search.stages],
    )


def test_smaller_and_the_same_with_any_number_of_jobs(compilation, start):
    searches = [searched(start(compilation, 600, effort(24, 60), jobs=jobs)) for jobs in (1, 3)]
    one, other = searches
    assert facts(one) == facts(other)
    assert one.size(one.best) < 0.95 * one.size(one.baseline)
    assert [stage.name for stage in one.stages][:3] == ["portfolio", "callees", "functions"]
    sizes = [stage.size for stage in one.stages]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == one.size(one.best)
    assert one.curve[0] == (0, one.curve[0][1], one.size(one.baseline))
    assert one.curve[-1][2] == one.size(one.best)


def test_files_that_nobody_needs_are_removed(compilation, start, tmp_path):
    def made():
        return [path.name for path in tmp_path.glob("evaluator-*/[0-9]*.o")]

    evaluator = start(compilation, 600, 12)
    search, kept = Optimizer(evaluator), []
    search.start()
    evaluator.watch, take = lambda it: (take(it), kept.append(len(made()))), evaluator.watch
    search.run()
    assert evaluator.budget.used == 12
    assert made() == [search.best.path.name] and search.baseline.path.is_file()
    assert max(kept) < 12


def test_a_removed_file_is_made_again(compilation, start, monkeypatch):
    """A minimised change may have been evaluated earlier, without an improvement."""
    evaluator = start(compilation, 600, 4)
    search = searched(evaluator, check=command_check("test -s {}"))
    removed = [each for each in evaluator._known.values() if each and not each.path.is_file()]
    chosen = removed[0]
    monkeypatch.setattr(optimizer, "minimise", lambda *arguments: (chosen, []))
    search.minimise()
    assert search.best is chosen
    assert read_object(chosen.path) == chosen.object


def test_advice_is_tried_first_and_can_be_dropped(compilation, start):
    asked = []
    sequences = [("function(sroa)", "cgscc(inline)"), ("no-such-pass",), ("function(gvn)",)]

    def advice(bitcode):
        asked.append(bitcode)
        return sequences

    evaluator = start(compilation, evaluations=6)
    tried = []
    search = Optimizer(evaluator, advice=advice)
    search.start()
    evaluator.watch, take = lambda it: (tried.append(it), take(it)), evaluator.watch
    search.run()
    assert asked == [evaluator.unit] and evaluator.failed == 2 and tried[2:4] == [None, None]
    first, last = sequences[0], sequences[2]
    expected = [first, (*first, "skip-rest"), last, (*last, "skip-rest")]
    assert [each.change.sequence for each in tried if each] == expected
    assert [stage.name for stage in search.stages] == ["policy"]
    # What makes it larger is dropped.
    grown = searched(start(compilation, evaluations=20), advice=lambda _: [("loop-unroll",)])
    assert grown.best.change.sequence == ()
    assert grown.size(grown.best) < grown.size(grown.baseline)


def test_the_search_goes_on_from_advice(compilation, start):
    # At -O2, `fold` has less on its stack than at -Oz.
    for_speed = replace(compilation, options=("-O2",), limits=Limits(max_stack_growth=64))
    advice = ("mark-for-size<Oz>",)
    search = searched(start(for_speed, evaluations=24), advice=lambda _: [advice])
    assert [stage.name for stage in search.stages][:3] == ["policy", "portfolio", "callees"]
    assert search.best.change.sequence == advice and search.best.change.options
    assert reproduces(for_speed, search.best)


def test_functions_are_adjusted_by_the_sizes_of_the_objective(compilation, start, monkeypatch):
    asked = []

    def climb_locally(leading, moves, evaluate, cost, sizes, *limits):
        asked.append((sizes(leading), leading.object))
        return leading, []

    monkeypatch.setattr(optimizer, "climb_locally", climb_locally)
    for objective in (Objective.INSTRUCTIONS, Objective.ALL):
        searched(start(compilation, evaluations=24, objective=objective), objective)
    assert asked[0][0] == asked[0][1].instructions
    assert asked[-1][0] == Objective.ALL.with_unwinding(asked[-1][1])


def test_equal_instruction_counts_are_ordered_by_size():
    large, small = (ObjectFile(size, 100, {}, "", "", {"f": 3}) for size in (20, 19))
    few = ObjectFile(30, 100, {}, "", "", {"f": 1, "g": 1})
    few, small, large = (Evaluation(Change(), each, Path()) for each in (few, small, large))
    assert sorted([large, few, small], key=Objective.INSTRUCTIONS.cost) == [few, small, large]


def test_instructions_have_to_be_counted(compilation, start):
    with pytest.raises(ValueError, match="INSTRUCTIONS"):
        Optimizer(start(compilation), Objective.INSTRUCTIONS).start()


@pytest.mark.parametrize("objective", [Objective.ALL, Objective.TEXT])
def test_frame_pointers_where_unwinding_is_large(compilation, start, monkeypatch, objective):
    monkeypatch.setattr(moves, "_LEAST_UNWINDING", 40)
    evaluator = start(compilation, evaluations=1)
    search = searched(evaluator, objective)
    sizes = search.baseline.object.unwinding
    large = {name for name, size in sizes.items() if size >= 40}
    assert large and large != {*sizes}
    (tried,) = (change for change in evaluator._known if change != Change())
    numbers = {index for index, texts in tried.functions if texts == ("frame-pointer=all",)}
    functions = list_functions(evaluator)
    expected = {functions[name] for name in large} if objective is Objective.ALL else set()
    assert numbers == expected


def test_frame_pointers_can_be_refused(compilation, start):
    refused = replace(compilation, options=("-fomit-frame-pointer",))
    search = searched(start(refused, evaluations=24))
    assert "frame-pointer=all" not in " ".join(search.evaluator.command(search.best.change, Path()))
    assert search.best.change.functions


def test_rounds_of_a_stage(compilation, start, monkeypatch):
    monkeypatch.setattr(optimizer, "function_adjustments", lambda _: ["licm", "simplifycfg"])
    search = searched(start(compilation, 600, 40))
    rounds = [(stage.name, stage.round) for stage in search.stages]
    assert len({*rounds}) == len(rounds) and ("portfolio", 1) in rounds
    assert max(number for _, number in rounds) > 1


def test_nothing_to_gain_is_no_loss(compilation, start):
    compilation.source.write_text("int x;\n")
    search = searched(start(compilation, evaluations=5))
    assert search.best is search.baseline and search.size(search.best) == 0


def test_results_that_fail_the_check_are_left(compilation, start, tmp_path):
    evaluator = start(replace(compilation, limits=Limits(max_stack_growth=999)), evaluations=15)
    sizes = []

    def check(path):
        sizes.append(path.stat().st_size)
        return "" if len(sizes) in (1, 4) else "wrong"

    search = searched(evaluator, check=check)
    assert search.best is not search.baseline
    assert [each.why for each in search.wrong][:2] == ["wrong", "wrong"]
    # The smallest was asked about first.
    assert search.wrong[0].size <= search.wrong[1].size <= search.size(search.best)


def test_a_check_that_always_fails_is_said_at_once(compilation, start):
    evaluator = start(compilation)
    with pytest.raises(ValueError, match="exit code 1"):
        searched(evaluator, check=command_check("false"))
    assert evaluator.budget.used == 0


def test_a_check_that_nothing_else_passes(compilation, start):
    asked = []
    search = searched(
        start(compilation, evaluations=12), check=lambda path: "wrong" if asked else asked.append(1)
    )
    assert search.best is search.baseline
    assert 0 < len(search.wrong) <= 16


def test_the_command_and_the_script_make_it_again(compilation, start, tmp_path):
    search = searched(start(compilation, evaluations=4))
    target, script = tmp_path / "result.o", tmp_path / "run.sh"
    write_object(search.best, target)
    assert target.read_bytes() == search.best.path.read_bytes()
    assert reproduces(compilation, search.best)
    command = compilation.command(target, search.best.change)
    assert write_script(script, [command], ["what it is"]) == [True]
    assert "# what it is\n" in script.read_text()
    # Names with signs of the shell and lines of comments are no commands.
    odd = tmp_path / 'a } "$(touch "$TMP")` b'
    odd.mkdir()
    script.unlink()
    outputs = [odd / "it's.o", odd / "$x `y`.o"]
    for output in outputs:
        output.write_bytes(target.read_bytes())
    commands = [compilation.command(output, search.best.change) for output in outputs]
    for named in (commands[:1], commands):
        assert write_script(script, named, ["two\ntouch lines"]) == [True] * len(named)
        assert "\n# touch lines\n" in script.read_text()
        for output in outputs[: len(named)]:
            output.unlink()
        run_command(["/bin/sh", script])
        assert all(each.read_bytes() == target.read_bytes() for each in outputs[: len(named)])
    # It says so where it does not.
    other = replace(compilation, options=("-DPROGRAM", "-O1"))
    assert not reproduces(other, search.best)
    assert write_script(script, [other.command(target, search.best.change)], []) == [False]
    compilation.source.write_text("It is being edited.")
    assert not reproduces(compilation, search.best)
    assert write_script(script, [command], []) == [False]


def test_bitcode_that_was_made_for_speed(compilation, start, begin, tmp_path):
    evaluator, _ = begin(replace(compilation, options=("-O2",)))
    bitcode = tmp_path / "speed.bc"
    bitcode.write_bytes(evaluator.unit.read_bytes())
    of_bitcode = replace(compilation, source=bitcode)
    search = searched(start(of_bitcode, evaluations=1), is_unmarked=True)
    assert [stage.name for stage in search.stages] == ["marks"]
    # Once its functions are marked, clang makes of it what it makes of the source.
    of_source = start(compilation).evaluate_source()
    assert search.best.object.code == of_source.object.code
    assert search.size(search.baseline) > search.size(search.best)
