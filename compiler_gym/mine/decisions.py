"""Single decisions about a compilation, and their effects on a program.

Each decision has the commands of a stock LLVM that make it.
"""

import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from compiler_gym.tuning.size.compilation import DEFAULT_LEVEL, is_setting
from compiler_gym.tuning.size.object_file import ObjectFile, read_object
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.started_programs import run_started


class Kind(str, Enum):
    """The kinds of decisions."""

    OPTION = "option"
    WITHOUT = "without"
    BEFORE = "before"
    AFTER = "after"


# Passes that clang runs, besides those that searches leave out most often.
_MORE_PASSES = ("loop-rotate", "loop-idiom", "correlated-propagation", "memcpyopt", "inline")

# Passes that make code faster and larger, so that searches for small code have no use for them.
_SPEED_PASSES = ("loop-vectorize", "slp-vectorizer", "loop-unroll", "loop-unroll-full")

# Run once more on the result. All are passes of the -Oz pipeline or enabled in others of LLVM.
_AGAIN = (
    "aggressive-instcombine",
    "bdce",
    "constraint-elimination",
    "correlated-propagation",
    "dse",
    "early-cse<memssa>",
    "gvn",
    "gvn-sink",
    "instcombine<no-verify-fixpoint>",
    "jump-threading",
    "mergeicmps",
    "reassociate,instcombine<no-verify-fixpoint>",
    "sccp",
    "simplifycfg<hoist-common-insts;sink-common-insts>",
    "sink",
)

_FIRST = ("sroa,instcombine<no-verify-fixpoint>", "sroa,gvn")


@dataclass(frozen=True)
class Tools:
    """The programs of an LLVM, as words of a shell, and the level at which it is judged.

    Attributes:
        clang: The compiler.
        opt: The program that runs passes.
        level: The option of clang for the level of optimisation.
    """

    clang: str = "clang"
    opt: str = "opt"
    level: str = DEFAULT_LEVEL

    @staticmethod
    def of(clang: Path, opt: Path, level: str = DEFAULT_LEVEL) -> "Tools":
        """Returns the tools at two paths."""
        return Tools(shlex.quote(str(clang)), shlex.quote(str(opt)), level)


@dataclass(frozen=True, order=True)
class Decision:
    """A decision that differs from those of clang at the same level of optimisation.

    Attributes:
        kind: What it is about.
        text: The option, or the pass as ``opt -passes=`` or ``-opt-disable=`` spells it.
    """

    kind: Kind
    text: str

    @property
    def title(self) -> str:
        """The decision in words."""
        return {
            Kind.OPTION: f"with {self.text}",
            Kind.WITHOUT: f"without {self.text}",
            Kind.BEFORE: f"{self.text} first",
            Kind.AFTER: f"{self.text} once more",
        }[self.kind]

    def command(self, source: str, output: str, tools: Tools = Tools(), flags: str = "-c") -> str:
        """Returns the line for a shell that compiles textual IR or bitcode with this decision.

        Args:
            source: The IR, as a word of the shell.
            output: The result, as a word of the shell.
            tools: The LLVM.
            flags: The options of clang that say what the result is: ``-c``, ``-S`` or
                ``-S -emit-llvm``.
        """
        clang = f"{tools.clang} {tools.level}"
        end = f"{flags} {{}} -o {output}"
        if self.kind is Kind.OPTION:
            return f"{clang} -mllvm {shlex.quote(self.text)} {end.format(source)}"
        if self.kind is Kind.WITHOUT:
            return f"{clang} -mllvm -opt-disable={self.text} {end.format(source)}"
        passes = f"{tools.opt} -passes='{self._pipeline}'"
        if self.kind is Kind.BEFORE:
            return f"{passes} {source} | {clang} -x ir {end.format('-')}"
        code = f"{clang} -Xclang -disable-llvm-passes -x ir {end.format('-')}"
        return f"{clang} -emit-llvm -c {source} -o - | {passes} | {code}"

    def steps(
        self, source: Path, folder: Path, tools: Tools, flags: Sequence[str] = ("-c",)
    ) -> list[list[str]]:
        """Returns commands without a shell that do the same, with files in place of pipes.

        Args:
            source: The IR.
            folder: Where the last command writes ``OUTPUT``. ``OPTIMISED`` is expected there if the
                decision is about passes that run once more.
            tools: The LLVM.
            flags: The options of clang that say what the result is, as in :meth:`command`.
        """
        clang = [*shlex.split(tools.clang), tools.level, _NO_REPORTS]
        passes = [*shlex.split(tools.opt), f"-passes={self._pipeline}"]
        end = [*flags, "-o", str(folder / OUTPUT)]
        changed = str(folder / "changed.bc")
        if self.kind is Kind.OPTION:
            return [[*clang, "-mllvm", self.text, *end, str(source)]]
        if self.kind is Kind.WITHOUT:
            return [[*clang, "-mllvm", f"-opt-disable={self.text}", *end, str(source)]]
        if self.kind is Kind.BEFORE:
            return [[*passes, str(source), "-o", changed], [*clang, *end, changed]]
        return [
            [*passes, str(folder / OPTIMISED), "-o", changed],
            [*clang, "-Xclang", "-disable-llvm-passes", *end, changed],
        ]

    @property
    def _pipeline(self) -> str:
        return f"function({self.text})"


def baseline_command(source: str, output: str, tools: Tools = Tools(), flags: str = "-c") -> str:
    """Returns the line for a shell that compiles without any decision."""
    return f"{tools.clang} {tools.level} {flags} {source} -o {output}"


def known_decisions() -> list[Decision]:
    """Returns the decisions that are tried at -Oz: options, passes left out, and passes added."""
    from compiler_gym.tuning.size.ranking import shipped_parts

    options = _singles(part.options for part in shipped_parts() if not part.passes)
    return _decisions(options, _passes())


def known_speed_decisions() -> list[Decision]:
    """Returns the decisions that are tried at -O3.

    Options are those of searches for fast and for small code, except those about alignment.
    """
    from compiler_gym.tuning.size.ranking import shipped_parts
    from compiler_gym.tuning.speed.optimizer import parts as speed_parts

    parts = (*speed_parts(), *shipped_parts())
    options = _singles(part.options for part in parts if not part.passes)
    left_out = (*_passes(), *_SPEED_PASSES)
    return _decisions([each for each in options if "align" not in each], left_out)


def _passes() -> list[str]:
    """Returns the passes that are left out at -Oz."""
    from compiler_gym.tuning.size.ranking import function_adjustments

    left_out = (each for each in function_adjustments() if not is_setting(each))
    return [*left_out, *_MORE_PASSES]


def _decisions(options: Iterable[str], left_out: Iterable[str]) -> list[Decision]:
    return [
        *(Decision(Kind.OPTION, each) for each in options),
        *(Decision(Kind.WITHOUT, each) for each in dict.fromkeys(left_out)),
        *(Decision(Kind.BEFORE, each) for each in _FIRST),
        *(Decision(Kind.AFTER, each) for each in _AGAIN),
    ]


def _singles(parts: Iterable[tuple[str, ...]]) -> list[str]:
    return [*dict.fromkeys(option for part in parts for option in part)]


COMPILE_SECONDS = 120
OUTPUT, OPTIMISED = "measured.o", "optimised.bc"
# A compiler that crashes leaves nothing behind.
_NO_REPORTS = "-fno-crash-diagnostics"


@dataclass(frozen=True)
class Saving:
    """The effect of a decision on one function.

    Attributes:
        function: The symbol.
        before: Its cost without the decision: bytes, or instructions that it executes.
        after: Its cost with the decision; lower.
    """

    function: str
    before: int
    after: int

    @property
    def saved(self) -> int:
        """The difference of the costs."""
        return self.before - self.after


@dataclass(frozen=True)
class Effect:
    """The effect of a decision on a program.

    Attributes:
        decision: The decision.
        net: The cost that it saves in all functions together; negative if they cost more.
        savings: The functions that cost less, the largest saving first.
    """

    decision: Decision
    net: int
    savings: tuple[Saving, ...]

    @property
    def saved(self) -> int:
        """The cost that it saves in the functions that cost less."""
        return sum(each.saved for each in self.savings)


def scratch_environment(folder: Path) -> dict[str, str]:
    """Returns environment variables with which all temporary files are made in a folder."""
    return {**os.environ, "TMPDIR": str(folder)}


def compile_with(
    decision: Decision | None, source: Path, output: Path, tools: Tools, flags: str = "-c"
) -> bool:
    """Compiles IR with a decision or, if None, as clang does. Returns whether that worked."""
    words = shlex.quote(str(source)), shlex.quote(str(output))
    if decision is None:
        line = baseline_command(*words, tools, flags)
    else:
        line = decision.command(*words, tools, flags)
    command = ["/bin/bash", "-o", "pipefail", "-c", line]
    try:
        run_command(command, COMPILE_SECONDS, env=scratch_environment(output.parent))
    except (CommandError, subprocess.TimeoutExpired):
        return False
    return True


def measure(
    decision: Decision | None, source: Path, folder: Path, tools: Tools
) -> ObjectFile | None:
    """Compiles IR, and reads the object file; None if clang refuses."""
    output = folder / OUTPUT
    return read_object(output) if compile_with(decision, source, output, tools) else None


def scan(
    source: Path, decisions: Iterable[Decision], folder: Path, tools: Tools
) -> tuple[ObjectFile, list[Effect]]:
    """Compiles a program with each decision alone.

    Args:
        source: The program: IR on which no pass has run, marked for size.
        decisions: The decisions.
        folder: A scratch folder.
        tools: The LLVM.

    Returns:
        The object file of ``clang -Oz``, and the decisions that make a function smaller.

    Raises:
        ValueError: If the program does not compile.
    """
    before = measure(None, source, folder, tools)
    if before is None:
        raise ValueError(f"{source.name} does not compile with -Oz")
    compiler = QuickCompiler(source, folder, tools)
    effects = []
    for decision in decisions:
        output = compiler.compile(decision)
        after = read_object(output) if output else None
        if after is not None and after.code != before.code:
            effect = Effect(
                decision, before.text - after.text, _savings(before.functions, after.functions)
            )
            effects += [effect] if effect.savings else []
    return before, effects


@dataclass
class QuickCompiler:
    """Compiles a program with many decisions, as :func:`compile_with` does.

    Compilers are loaded once, and the optimiser runs once for all passes that run once more.

    Attributes:
        source: The IR.
        folder: A scratch folder, in which each output replaces the former one.
        tools: The LLVM.
        flags: The options of clang that say what the output is.
    """

    source: Path
    folder: Path
    tools: Tools
    flags: Sequence[str] = ("-c",)
    _has_optimised: bool = False

    def compile(self, decision: Decision) -> Path | None:
        """Returns the output; None if clang refuses."""
        if decision.kind is Kind.AFTER and not self._has_optimised:
            optimised = self.folder / OPTIMISED
            if not compile_with(None, self.source, optimised, self.tools, "-emit-llvm -c"):
                return None
            self._has_optimised = True
        is_made = run_quickly(decision.steps(self.source, self.folder, self.tools, self.flags))
        return self.folder / OUTPUT if is_made else None


def run_quickly(steps: Iterable[Sequence[str]]) -> bool:
    """Runs commands with compilers that are loaded already. Returns whether that worked."""
    try:
        for step in steps:
            run_started(step, COMPILE_SECONDS)
    except (CommandError, subprocess.TimeoutExpired):
        return False
    return True


def _savings(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[Saving, ...]:
    found: Sequence[Saving] = [
        Saving(name, size, after[name])
        for name, size in before.items()
        if after.get(name, size) < size
    ]
    return tuple(sorted(found, key=lambda each: (-each.saved, each.function)))
