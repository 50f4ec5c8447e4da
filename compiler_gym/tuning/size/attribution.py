"""Attributes the savings of a search to single decisions, by leaving each of them out."""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from compiler_gym.tuning.size.compilation import Change, adjustment
from compiler_gym.tuning.size.evaluator import Budget, Evaluation, Evaluator
from compiler_gym.tuning.size.html_elements import visible
from compiler_gym.tuning.size.image import Image, Instruction, estimate_cycles, read_image
from compiler_gym.tuning.size.inlining import CallSite, list_call_sites
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.object_file import (
    compare_functions,
    group_name,
    readable_names,
)
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.trial_linking import TrialLinker, trial_linker
from compiler_gym.util.shell_format import plural

_LEAST_LEFT_OUT, _MAX_LEFT_OUT = 4, 32
_MAX_ESTIMATES = 200


@dataclass(frozen=True)
class Effect:
    """The difference that a decision makes to a result.

    Attributes:
        decision: The decision in words; ``{}`` stands for the symbol.
        symbol: The symbol of the function that it is about; empty if there is none.
        saved: What the result is smaller by, compared with the result without the decision, in the
            unit of the objective; negative if it is larger. None if clang fails without it.
        functions: What each function is smaller by, the largest difference first.
    """

    decision: str
    symbol: str
    saved: int | None
    functions: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Function:
    """A function that has changed.

    Attributes:
        name: Its symbol; all that the outliner has made count as one.
        shown: Its name as its source has it.
        bytes: Its bytes before and after.
        cycles: Its estimated cycles before and after, None where there is no estimate.
        assembly: Its instructions before and after.
        reasons: The decisions that changed its size, and what each made it smaller by.
    """

    name: str
    shown: str
    bytes: tuple[int, int]
    cycles: tuple[float | None, float | None]
    assembly: tuple[Sequence[Instruction], Sequence[Instruction]]
    reasons: Sequence[tuple[Effect, int]]

    @property
    def change_of_cycles(self) -> float | None:
        """The change in estimated cycles; None if there is no estimate."""
        before, after = self.cycles
        return None if before is None or after is None else after - before


@dataclass(frozen=True)
class Findings:
    """The difference between the result of a search and what clang makes.

    Attributes:
        search: The search, at its end.
        before: What clang makes without a change.
        after: The result.
        images: The object files, or the programs that are linked of them, before and after.
        maps: The images for maps of their bytes: the same, or the object files linked alone.
        effects: The effect of each decision of the result.
        unmeasured: The number of further decisions.
    """

    search: Optimizer
    before: Evaluation
    after: Evaluation
    images: tuple[Image, Image]
    maps: tuple[Image, Image]
    effects: Sequence[Effect]
    unmeasured: int

    @property
    def unit(self) -> str:
        """The unit of the objective."""
        return self.search.objective.unit

    @cached_property
    def names(self) -> dict[str, str]:
        """The names of functions as their source has them, by symbol."""
        symbols = {
            group_name(name) for image in self.images + self.maps for name in image.functions
        }
        for effect in self.effects:
            symbols |= {effect.symbol, *(name for name, _ in effect.functions)}
        names = map(visible, readable_names([*symbols]))
        return dict(zip(symbols, names, strict=True))

    @cached_property
    def functions(self) -> list[Function]:
        """The functions that have changed, those that changed most first."""
        before, after = self.images
        changes = compare_functions(before.functions, after.functions)
        code = [_grouped(image.assembly) for image in self.images]
        pairs = [tuple(each.get(change.name, []) for each in code) for change in changes]
        estimated = [lines for pair in pairs[:_MAX_ESTIMATES] for lines in pair]
        cycles = estimate_cycles(before.arch, estimated) + [None] * 2 * len(changes)
        reasons = self._reasons()
        return [
            Function(
                name=change.name,
                shown=self.names[change.name],
                bytes=(change.before, change.after),
                cycles=(
                    cycles[2 * index] if change.before else 0.0,
                    cycles[2 * index + 1] if change.after else 0.0,
                ),
                assembly=(pair[0], pair[1]),
                reasons=reasons.get(change.name, []),
            )
            for index, (change, pair) in enumerate(zip(changes, pairs, strict=True))
        ]

    def _reasons(self) -> dict[str, list[tuple[Effect, int]]]:
        reasons: dict[str, list[tuple[Effect, int]]] = {}
        for effect in self.effects:
            for name, saved in effect.functions:
                if saved:
                    reasons.setdefault(name, []).append((effect, saved))
        for each in reasons.values():
            each.sort(key=lambda reason: -abs(reason[1]))
        return reasons


def attribute(search: Optimizer, linker: Linker | None, jobs: int) -> Findings:
    """Compiles a result once more, and without each of its decisions, and compares the code.

    Args:
        search: The search, at its end.
        linker: The linker of the search, if the objective is about what is linked.
        jobs: Number of parallel compilers.

    Raises:
        EnvironmentNotSupported: If a tool of LLVM is not installed.
        ValueError: If a file of clang cannot be disassembled.
        RuntimeError: If clang fails where it did not during the search.
    """
    objective, compilation = search.objective, search.evaluator.compilation
    trial = trial_linker(compilation.options)
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        folder = Path(name)
        with Evaluator(
            *(compilation, folder, Budget(), jobs, linker, trial, objective.read),
            may_drop_weak=search.evaluator.may_drop_weak,
        ) as evaluator:
            before = evaluator.evaluate_source()
            after = next(iter(evaluator.evaluate([search.best.change])), None)
            evaluator.budget = search.evaluator.budget.after(2)
            if after is None:
                raise RuntimeError(
                    "clang does not make the result again that it made in the search"
                )
            effects, unmeasured = measure_effects(
                after,
                evaluator,
                search.size,
                lambda evaluation: objective.of_functions(evaluation.object),
                max(_LEAST_LEFT_OUT, min(_MAX_LEFT_OUT, search.evaluator.budget.used // 2)),
            )
        images = _images(before, after, linker)
        # What a trial links has no names of functions from elsewhere, which assembly should have.
        maps = _images(before, after, trial) if before.alone and not linker else images
    return Findings(search, before, after, images, maps, effects, unmeasured)


def _images(
    before: Evaluation, after: Evaluation, linker: Linker | TrialLinker | None
) -> tuple[Image, Image]:
    """Returns the object files, or the programs that a linker makes of them."""
    images = []
    for each in (before, after):
        path = each.path
        if linker is not None:
            path = path.with_suffix(".program")
            linker.link(each.path, path)
        images.append(read_image(path))
    return images[0], images[1]


def _grouped(assembly: Mapping[str, Sequence[Instruction]]) -> dict[str, list[Instruction]]:
    groups: dict[str, list[Instruction]] = {}
    for name, instructions in assembly.items():
        groups.setdefault(group_name(name), []).extend(instructions)
    return groups


def measure_effects(
    best: Evaluation,
    evaluator: Evaluator,
    size: Callable[[Evaluation], int],
    sizes: Callable[[Evaluation], Mapping[str, int]],
    limit: int = _MAX_LEFT_OUT,
) -> tuple[list[Effect], int]:
    """Leaves each decision of a change out, one at a time.

    A pass that is left out of several functions is one decision, as are equal decisions about the
    calls of a function.

    Args:
        best: The result.
        evaluator: Runs clang, within its budget.
        size: Returns the size of a result.
        sizes: Returns the size of each function of a result.
        limit: The maximum number of decisions to leave out.

    Returns:
        The effects, the largest saving first, and the number of decisions that were not measured
        because there are too many, or because the time was over.
    """
    decisions = [*_decisions(best.change, evaluator)]
    measured = decisions[:limit]
    found = {each.change: each for each in evaluator.evaluate([change for *_, change in measured])}
    effects = [
        _effect(text, symbol, best, found.get(change), size, sizes)
        for text, symbol, change in measured
        if change in found or not evaluator.budget.is_cut
    ]
    effects.sort(key=lambda each: (-(each.saved or 0), each.decision, each.symbol))
    return effects, len(decisions) - len(effects)


def _effect(
    decision: str,
    symbol: str,
    best: Evaluation,
    without: Evaluation | None,
    size: Callable[[Evaluation], int],
    sizes: Callable[[Evaluation], Mapping[str, int]],
) -> Effect:
    if without is None:
        return Effect(decision, symbol, None)
    changes = compare_functions(sizes(without), sizes(best))
    functions = tuple((each.name, each.saved) for each in changes)
    return Effect(decision, symbol, size(without) - size(best), functions)


def _decisions(change: Change, evaluator: Evaluator) -> Iterator[tuple[str, str, Change]]:
    """Yields decisions, the symbol that each is about, and the change without it."""
    for option in change.options:
        rest = tuple(each for each in change.options if each != option)
        yield option, "", replace(change, options=rest)
    for name in change.passes:
        rest = tuple(each for each in change.passes if each != name)
        yield name, "", replace(change, passes=rest)
    if change.sequence:
        text = f"{plural(len(change.sequence), 'pass', 'passes')} of the policy"
        yield text, "", replace(change, sequence=())
    yield from _decisions_about_functions(change)
    if change.calls:
        yield from _decisions_about_calls(change, list_call_sites(evaluator))


def _decisions_about_functions(change: Change) -> Iterator[tuple[str, str, Change]]:
    """Yields each adjustment of functions as one decision."""
    counts = Counter(name for _, names in change.functions for name in names)
    for adjusted, count in counts.items():
        rest = (
            (index, tuple(name for name in names if name != adjusted))
            for index, names in change.functions
        )
        text = f"{adjustment(adjusted)} ({plural(count, 'function')})"
        yield text, "", replace(change, functions=tuple(each for each in rest if each[1]))


def _decisions_about_calls(
    change: Change, sites: Sequence[CallSite]
) -> Iterator[tuple[str, str, Change]]:
    """Yields the decisions about the calls of each function as one."""
    callees = {each.index: each.callee for each in sites}
    groups: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for index, is_inlined in change.calls:
        groups[callees.get(index, "?"), is_inlined].append(index)
    for (callee, is_inlined), indices in groups.items():
        calls = tuple(each for each in change.calls if each[0] not in indices)
        verb = "inline" if is_inlined else "do not inline"
        text = f"{verb} {{}} ({plural(len(indices), 'call')})"
        yield text, callee, replace(change, calls=calls)
