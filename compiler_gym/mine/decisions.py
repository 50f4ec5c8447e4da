"""Single decisions about a compilation, each with the commands of a stock LLVM that make it."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from compiler_gym.tuning.size.ranking import shipped_parts, skippable_passes


class Kind(str, Enum):
    """The kinds of decisions."""

    OPTION = "option"
    WITHOUT = "without"
    BEFORE = "before"
    AFTER = "after"


# Passes that clang runs, besides those that searches leave out most often.
_MORE_PASSES = ("loop-rotate", "loop-idiom", "correlated-propagation", "memcpyopt", "inline")

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
    """The programs of an LLVM, as words of a shell.

    Attributes:
        clang: The compiler.
        opt: The program that runs passes.
    """

    clang: str = "clang"
    opt: str = "opt"

    @staticmethod
    def of(clang: Path, opt: Path) -> "Tools":
        """Returns the tools at two paths."""
        return Tools(shlex.quote(str(clang)), shlex.quote(str(opt)))


@dataclass(frozen=True, order=True)
class Decision:
    """A decision that differs from those of ``clang -Oz``.

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
        clang = f"{tools.clang} -Oz"
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

    @property
    def _pipeline(self) -> str:
        return f"function({self.text})"


def baseline_command(source: str, output: str, tools: Tools = Tools(), flags: str = "-c") -> str:
    """Returns the line for a shell that compiles without any decision."""
    return f"{tools.clang} -Oz {flags} {source} -o {output}"


def known_decisions() -> list[Decision]:
    """Returns the decisions that are tried: options, passes left out, and passes added."""
    options = _singles(part.options for part in shipped_parts() if not part.passes)
    left_out = (*skippable_passes(), *_MORE_PASSES)
    return [
        *(Decision(Kind.OPTION, each) for each in options),
        *(Decision(Kind.WITHOUT, each) for each in dict.fromkeys(left_out)),
        *(Decision(Kind.BEFORE, each) for each in _FIRST),
        *(Decision(Kind.AFTER, each) for each in _AGAIN),
    ]


def _singles(parts: Iterable[tuple[str, ...]]) -> list[str]:
    return [*dict.fromkeys(option for part in parts for option in part)]
