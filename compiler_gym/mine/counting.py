"""Counts the machine instructions that a function executes, and compares times.

The count is exact: a macro before each instruction of the assembly adds one. Instructions of other
functions do not count, such as those of libc. The step of a debugger would be a thousand times as
slow.
"""

import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from compiler_gym.mine.checks import ALL_INPUTS, run_inputs
from compiler_gym.mine.decisions import (
    OUTPUT,
    Decision,
    QuickCompiler,
    Tools,
    compile_with,
    run_quickly,
)
from compiler_gym.mine.harness import ENTRY, HARNESS, MIN_INPUTS, NoHarnessError, write_harness

if TYPE_CHECKING:
    from compiler_gym.util.statistics import RuntimeComparison

COUNTER = """\
.macro count_instruction
  leaq -128(%rsp), %rsp
  pushfq
  decq mined_left(%rip)
  jns .Lcounted\\@
  andq $-16, %rsp
  call mined_over
.Lcounted\\@:
  popfq
  leaq 128(%rsp), %rsp
.endm"""
"""The macro, which keeps the flags and the bytes below the stack pointer. See the harness."""

HARNESS_OPTIONS = ("-O1", "-w", "-DMICROSECONDS=200000")
"""The options of clang for the harness. The macro stops long calls; the time is for libc."""

_INSTRUCTION = re.compile(r"^\t[a-z]", re.MULTILINE)
# Compiling larger functions a hundred times takes longer than a look at the next one.
_MAX_INSTRUCTIONS = 1500

_PAIRS = 15
# The instructions in one run of a pair, and the smallest difference of times that counts.
_RUN_INSTRUCTIONS = 40_000_000
_MAX_REPEATS = 20_000
_DIFFERENCE = 0.005


@dataclass(frozen=True)
class Counts:
    """The calls of a function that came to their end, by the number of the input.

    Attributes:
        digests: What each call does.
        steps: The instructions that it executes.
    """

    digests: Mapping[str, str]
    steps: Mapping[str, int]

    def of_inputs(self, inputs: Iterable[str]) -> "Counts":
        """Returns those of some inputs."""
        known = [each for each in inputs if each in self.steps]
        return Counts(
            {each: self.digests[each] for each in known}, {each: self.steps[each] for each in known}
        )


@dataclass(frozen=True)
class Pair:
    """The instructions that a function executes without and with a decision.

    Attributes:
        before: The instructions without the decision, for the inputs.
        after: The instructions with the decision.
        inputs: The inputs for which both calls come to their end.
        is_equal: Whether both do the same.
    """

    before: int
    after: int
    inputs: tuple[str, ...]
    is_equal: bool

    @staticmethod
    def of(before: Counts, after: Counts) -> "Pair":
        """Compares two sets of calls."""
        both = tuple(each for each in before.steps if each in after.steps)
        return Pair(
            sum(before.steps[each] for each in both),
            sum(after.steps[each] for each in both),
            both,
            all(before.digests[each] == after.digests[each] for each in both),
        )

    @property
    def saved(self) -> int:
        """The instructions saved; negative if the decision costs some."""
        return self.before - self.after

    def is_enough(self, least: int) -> bool:
        """Returns whether so many per cent are saved, and an instruction in each call."""
        return (
            self.is_equal
            and len(self.inputs) >= MIN_INPUTS
            and self.saved >= len(self.inputs)
            and self.saved * 100 >= least * self.before
        )


@dataclass
class Counter:
    """Counts the instructions of a function with any decision.

    Attributes:
        module: The textual IR.
        function: The symbol.
        folder: A scratch folder.
        tools: The LLVM.
        assembly: The assembly without a decision.
        baseline: The calls without a decision.
    """

    module: Path
    function: str
    folder: Path
    tools: Tools
    assembly: str = ""
    baseline: Counts = field(default_factory=lambda: Counts({}, {}))
    _known: dict[str, Counts | None] = field(default_factory=dict)
    _compiler: QuickCompiler = field(init=False)

    def __post_init__(self) -> None:
        self._compiler = QuickCompiler(self.module, self.folder, self.tools, ("-S",))

    @staticmethod
    def of(module: Path, function: str, folder: Path, tools: Tools) -> "Counter | None":
        """Compiles a function and its harness, and calls it.

        Returns:
            None if the function is too large, or cannot be called with enough random inputs.
        """
        counter = Counter(module, function, folder, tools)
        try:
            (folder / HARNESS).write_text(write_harness(module.read_text(), function))
        except NoHarnessError:
            return None
        words = ["-c", str(folder / HARNESS), "-o", str(counter.harness)]
        if not run_quickly([[*counter._clang, *words]]):
            return None
        counter.assembly = counter._compile(None) or ""
        if not 0 < len(_INSTRUCTION.findall(counter.assembly)) <= _MAX_INSTRUCTIONS:
            return None
        baseline = counter._count(counter.assembly)
        if baseline is None or len(baseline.steps) < MIN_INPUTS:
            return None
        counter.baseline = baseline
        counter._known[counter.assembly] = baseline
        return counter

    @property
    def harness(self) -> Path:
        """The object file of the harness."""
        return self.folder / "harness.o"

    @property
    def total(self) -> int:
        """The instructions without a decision."""
        return sum(self.baseline.steps.values())

    def compare(self, decision: Decision, inputs: Iterable[str] | None = None) -> Pair | None:
        """Compares the calls without and with a decision.

        Args:
            decision: The decision.
            inputs: The inputs that count; None for all.

        Returns:
            None if it does not compile or run with the decision.
        """
        assembly = self._compile(decision)
        if assembly is None:
            return None
        before = self.baseline if inputs is None else self.baseline.of_inputs(inputs)
        if assembly not in self._known:
            self._known[assembly] = self._count(assembly, self.baseline.steps)
        after = self._known[assembly]
        return None if after is None else Pair.of(before, after)

    @property
    def _clang(self) -> list[str]:
        return [*shlex.split(self.tools.clang), *HARNESS_OPTIONS]

    def _compile(self, decision: Decision | None) -> str | None:
        """Returns the assembly with a decision; None if it does not compile."""
        if decision is not None:
            output = self._compiler.compile(decision)
            return output.read_text() if output else None
        output = self.folder / OUTPUT
        is_made = compile_with(None, self.module, output, self.tools, "-S")
        return output.read_text() if is_made else None

    def _count(self, assembly: str, inputs: Iterable[str] = ALL_INPUTS) -> Counts | None:
        counted = _INSTRUCTION.sub(r"\tcount_instruction\n\g<0>", assembly)
        program = self._link(f"{COUNTER}\n{counted}", "counted")
        if program is None:
            return None
        try:
            results = run_inputs(program, inputs)
        except subprocess.TimeoutExpired:
            return None
        ended = {number: each for number, each in results.items() if each.is_defined}
        return Counts(
            {number: each.text for number, each in ended.items()},
            {number: each.cost for number, each in ended.items()},
        )

    def _link(self, assembly: str, name: str) -> Path | None:
        source, made = self.folder / f"{name}.s", self.folder / f"{name}.o"
        program = self.folder / name
        source.write_text(f"{assembly}\n.globl {ENTRY}\n.set {ENTRY}, {self.function}\n")
        commands = (
            [*self._clang, "-c", str(source), "-o", str(made)],
            [*self._clang, str(made), str(self.harness), "-lm", "-o", str(program)],
        )
        return program if run_quickly(commands) else None

    def compare_times(self, decision: Decision, inputs: Sequence[str], pairs: int = _PAIRS) -> str:
        """Measures the times without and with a decision, in turns.

        The inputs are called again and again. The times include the call, and the time to restore
        the buffers that the function changes.

        Args:
            decision: The decision.
            inputs: The inputs.
            pairs: The number of measurements of each.

        Returns:
            ``measured: ...``, ``no difference measured ...``, ``slower ...`` or ``not measured:
            ...``.
        """
        import numpy as np

        from compiler_gym.tuning.speed.workload import Stopwatch
        from compiler_gym.util.statistics import compare_paired_runtimes

        programs = []
        # Names of equal length: the stack begins below them.
        for name, each in (("timed-1", None), ("timed-2", decision)):
            assembly = self._compile(each)
            programs.append(assembly and self._link(assembly, name))
        first, second = programs
        if not first or not second:
            return "not measured: it does not link"
        steps = sum(self.baseline.of_inputs(inputs).steps.values())
        repeats = min(max(_RUN_INSTRUCTIONS // steps, 1), _MAX_REPEATS)

        def seconds(program: Path) -> float:
            results = run_inputs(program, inputs, repeats)
            times = [results[each].cost for each in inputs if each in results]
            if len(times) < len(inputs) or 0 in times:
                raise ValueError("expected a cost above 0 for each input")
            return sum(times) / 1e9

        stopwatch = Stopwatch(seconds, np.random.default_rng(0))
        try:
            before, after = stopwatch.compare(first, second, pairs)
            if not before:
                return "not measured: the function cannot be called again and again"
            return time_verdict(compare_paired_runtimes(before, after))
        except subprocess.TimeoutExpired:
            return "not measured: it takes too long"
        except ImportError as error:
            return f"not measured: {error}"


def time_verdict(found: "RuntimeComparison") -> str:
    """Returns a comparison of times in words."""
    interval = f"{found.confidence:.0%} interval {found.low:.2f} to {found.high:.2f}"
    if found.is_significant and found.low > 1 + _DIFFERENCE:
        return f"measured: {found.speedup:.2f} times as fast ({interval})"
    if found.is_significant and found.high < 1 - _DIFFERENCE:
        return f"slower: {found.speedup:.2f} times as fast ({interval})"
    return f"no difference measured ({interval})"
