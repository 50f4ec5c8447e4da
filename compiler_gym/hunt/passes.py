"""The passes of a hunt: those that ``opt`` lists, except passes that prove nothing."""

import random
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from compiler_gym.envs.llvm.llvm_command_line import elements_of_module, unnested_forms
from compiler_gym.util.commands import run_command
from compiler_gym.util.thread_pool import map_in_threads

NOT_HUNTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "prints, checks, counts or tests, or fails on purpose": (
            *("aa-eval", "annotation-remarks", "check-debugify", "count-visits", "debugify"),
            *("dot-*", "extra-*-passes", "free-machine-function", "func-properties-stats"),
            *("helloworld", "instcount", "invalidate*", "kernel-info", "lint", "no-op-*"),
            *("pa-eval", "print", "print-*", "print<*", "transform-warning", "trigger-*"),
            *("verify", "verify<*", "view-*", "recompute-globalsaa"),
        ),
        "calls a run-time library, or stops programs by itself": (
            *("alloc-token", "asan", "bounds-checking", "cfguard", "cross-dso-cfi"),
            *("ctx-instr-*", "dfsan", "ee-instrument", "hwasan", "insert-gcov-profiling"),
            *("instrprof", "jmc-instrumenter", "kcfi", "memprof*", "msan", "nsan"),
            *("pgo-instr-gen", "rtsan", "safe-stack", "sancov-module", "sanmd-module"),
            *("stack-protector", "tsan*", "tysan"),
        ),
        "needs a profile, a summary, a model or a file": (
            *("ctx-prof-*", "extract-blocks", "function-import", "inliner-ml-advisor-release"),
            *("pgo-instr-use", "prof-inject", "prof-verify", "rewrite-symbols"),
            *("sample-profile",),
        ),
        "changes what the program means, or which names it exports, by design": (
            *("internalize", "lower-global-dtors", "lower-invoke", "loop-extract"),
            *("metarenamer", "lowertypetests", "wholeprogramdevirt"),
        ),
        "is for other targets or languages, and may refuse this one": (
            *("dxil-upgrade", "hardware-loops", "hipstdpar-*", "lower-emutls"),
            *("place-safepoints", "rewrite-statepoints-for-gc", "shadow-stack-gc-lowering"),
            *("sjlj-eh-prepare", "wasm-eh-prepare", "win-eh-prepare"),
        ),
        "is a whole pipeline, whose passes are hunted one by one": (
            *("default", "embed-bitcode", "fatlto-*", "function-simplification", "lto"),
            *("lto-pre-link", "thinlto", "thinlto-pre-link"),
        ),
    }
)
"""Patterns of excluded passes, by the reason."""

# As in the policy of the actions, which has the reasons.
_NEEDED_PARAMETERS = {"instcombine": "no-verify-fixpoint"}
_FAILING_PARAMETERS = ("verify-fixpoint",)
_MEMORY_SSA_ADAPTORS = dict.fromkeys(("licm", "lnicm"), "function(loop-mssa({}))")

_LOOP = "function(loop({}))"
_ADAPTORS = {
    "Module passes": "{}",
    "CGSCC passes": "cgscc({})",
    "Function passes": "function({})",
    "LoopNest passes": _LOOP,
    "Loop passes": _LOOP,
}
_PARAMETER_WITH_NUMBER = re.compile(r"[\w-]+=N")
_NUMBERS = (1, 2, 8, 64)
_DEFAULT_TARGET = re.compile(r"Default target: (\S+)")
_CHECK_SECONDS = 60


@dataclass(frozen=True)
class Pass:
    """A pass, and its forms.

    Attributes:
        name: The name in LLVM, e.g. ``"gvn"``.
        texts: Elements of ``module(...)``: ``("function(gvn)", "function(gvn<no-pre>)")``.
    """

    name: str
    texts: tuple[str, ...]


def list_passes(opt: Path) -> list[Pass]:
    """Returns the passes that ``opt`` lists, less :data:`NOT_HUNTED`, in its order.

    Parameters are taken one at a time, numbers among them from a few.

    Raises:
        CommandError: If opt fails.
    """
    text = run_command([opt, "--print-passes"], timeout=_CHECK_SECONDS).stdout
    texts: dict[str, list[str]] = {}
    adaptor = None
    for line in text.splitlines():
        if not line.startswith(" "):
            adaptor = _ADAPTORS.get(line.partition(":")[0].removesuffix(" with params"))
            continue
        name, parameters = _split(line.strip())
        if adaptor is not None and why_not_hunted(name) is None:
            known = texts.setdefault(name, [])
            nested = _MEMORY_SSA_ADAPTORS.get(name, adaptor)
            elements = (nested.format(form) for form in _forms(name, parameters))
            known += [element for element in elements if element not in known]
    return [Pass(name, tuple(each)) for name, each in texts.items()]


def why_not_hunted(name: str) -> str | None:
    """Returns the reason for excluding a pass; None if it is included."""
    for reason, patterns in NOT_HUNTED.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return reason
    return None


def usable_passes(passes: Iterable[Pass], opt: Path, jobs: int) -> list[Pass]:
    """Returns the passes in the forms that ``opt`` can run.

    opt refuses a form, even for an empty function, if the form is unknown or lacks a parameter. A
    form that crashes or hangs is included.

    Args:
        passes: The passes.
        opt: The path of opt.
        jobs: The number of forms to try in parallel.
    """
    target = _DEFAULT_TARGET.search(run_command([opt, "--version"], _CHECK_SECONDS).stdout)
    # Passes that prepare code generation need a target.
    triple = f'target triple = "{target.group(1)}"\n' if target else ""
    module = f"{triple}define void @f() {{\n  ret void\n}}\n"

    def runs(text: str) -> bool:
        command: list[str | Path] = [opt, f"-passes=module({text})", "-disable-output", "-"]
        try:
            done = run_command(command, timeout=_CHECK_SECONDS, stdin=module, check=False)
        except subprocess.TimeoutExpired:
            return True
        return done.returncode == 0 or "Stack dump" in done.stderr

    passes = list(passes)
    texts = [text for each in passes for text in each.texts]
    fine = dict(zip(texts, map_in_threads(runs, texts, jobs), strict=True))
    kept = (Pass(each.name, tuple(filter(fine.get, each.texts))) for each in passes)
    return [each for each in kept if each.texts]


class Sequences:
    """Draws sequences of passes, at random or based on novel ones.

    A pass with many findings is drawn less often, so that the hunt does not repeat known findings.
    This class is not thread-safe.

    Args:
        passes: The passes to draw from.
        length: The number of passes in a sequence.
        guided: The share of sequences that begin like a novel one.
        fixed: A fixed sequence to draw every time instead.
    """

    MAX_KEPT = 64

    def __init__(
        self,
        passes: Sequence[Pass],
        length: int,
        guided: float,
        fixed: Sequence[str] | None = None,
    ):
        self._fixed = fixed
        self._passes = list(passes)
        self._length = length
        self._guided = guided
        self.kept: list[list[str]] = []

    def draw(self, rng: random.Random, guilty: Mapping[str, int]) -> list[str]:
        """Returns a sequence.

        Args:
            rng: The source of randomness.
            guilty: The number of findings of each pass, by name.
        """
        if self._fixed is not None:
            return [*self._fixed]
        start: list[str] = []
        if self.kept and rng.random() < self._guided:
            first, second = rng.choice(self.kept), rng.choice(self.kept)
            start = first[: rng.randint(1, len(first))]
            if rng.random() < 0.5:
                start += second[rng.randrange(len(second)) :]
        weights = [1 / (1 + guilty.get(each.name, 0)) for each in self._passes]
        start = start[: self._length - 1]
        drawn = rng.choices(self._passes, weights, k=self._length - len(start))
        return [*start, *(rng.choice(each.texts) for each in drawn)]

    def keep(self, sequence: list[str], rng: random.Random) -> None:
        """Remembers a novel sequence. Replaces another one if there are many."""
        if len(self.kept) < self.MAX_KEPT:
            self.kept.append(sequence)
        else:
            self.kept[rng.randrange(self.MAX_KEPT)] = sequence


def parse_sequence(text: str, passes: Iterable[Pass]) -> list[str]:
    """Parses a text of passes into elements of ``module(...)``.

    Args:
        text: A pipeline for opt, with or without ``module(...)``. Passes that are known need no
            adaptors: ``"sroa,gvn<no-pre>"``.
        passes: The known passes.

    Raises:
        ValueError: If brackets do not match, or the text has no pass.
    """
    elements = elements_of_module(text)
    if not elements:
        raise ValueError("There are no passes in an empty text")
    full: dict[str, str] = {}
    for element in (element for each in passes for element in each.texts):
        # The first form of a pass is the plain one, which may have parameters of its own.
        for short in (*unnested_forms(element), name_of(element)):
            full.setdefault(short, element)
    return [full.get(element, element) for element in elements]


def name_of(text: str) -> str:
    """Returns the name of the pass that an element of a pipeline runs: gvn for function(gvn)."""
    return text.rpartition("(")[2].rstrip(")").partition("<")[0]


def _split(line: str) -> tuple[str, list[str]]:
    """Splits a line of ``opt --print-passes`` into a name and its parameters."""
    # In "print<memoryssa><no-ensure-optimized-uses>" only the last brackets hold parameters.
    name, _, parameters = line.partition("<")
    return name, [word for word in parameters.rstrip(">").split(";") if word]


def _forms(name: str, parameters: list[str]) -> Iterator[str]:
    needed = _NEEDED_PARAMETERS.get(name)
    yield f"{name}<{needed}>" if needed else name
    for parameter in parameters:
        if parameter in _FAILING_PARAMETERS or parameter == needed:
            continue
        start = f"{name}<{needed};" if needed else f"{name}<"
        if _PARAMETER_WITH_NUMBER.fullmatch(parameter):
            yield from (f"{start}{parameter[:-1]}{number}>" for number in _NUMBERS)
        else:
            yield f"{start}{parameter}>"
