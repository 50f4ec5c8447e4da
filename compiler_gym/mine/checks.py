"""Checks that a saving is honest: both results mean the same, and the IR means something."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from compiler_gym.mine.decisions import compile_with
from compiler_gym.mine.harness import (
    ENTRY,
    HARNESS,
    INPUTS,
    MIN_INPUTS,
    NoHarnessError,
    Result,
    read_results,
    write_harness,
)
from compiler_gym.mine.objective import Objective, Trial, Verdict
from compiler_gym.mine.scripts import NONSENSE
from compiler_gym.util import llvm_tools as llvm
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.confinement import Limits as ConfinedLimits
from compiler_gym.util.confinement import run_confined

ALL_INPUTS = tuple(map(str, range(INPUTS)))
_SECONDS = 120
RUN_LIMITS = ConfinedLimits(seconds=_SECONDS, memory_mib=2048, processes=16)
"""The limits of a harness."""
_LONG = "takes too long"
_UNDEFINED = re.compile(NONSENSE)
_FAST_MATH = re.compile(r"= f\w+ (?:\w+ )*?(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) ")
# Vectors are made from poison, one element after the other, and constants have unused elements.
_VECTOR = re.compile(
    r"^.* = (?:insertelement|shufflevector) .*$|<\w+ [\w.+-]+(?:, \w+ [\w.+-]+)+>", re.MULTILINE
)
_DEFINED = re.compile(r"^define [^@]*@([\w.$-]+)\(", re.MULTILINE)


def check(objective: Objective, trial: Trial) -> Verdict:
    """Checks a reduced module.

    Args:
        objective: The cost that the decision reduces.
        trial: The module and the decision.
    """
    module, folder = trial.module, trial.folder
    bogus = why_undefined(module.read_text())
    if bogus:
        return Verdict(bogus)
    results = {}
    for name, each in (("before", None), ("after", trial.decision)):
        results[name] = folder / f"{name}.ll"
        flags = "-S -emit-llvm"
        is_made = compile_with(each, module, results[name], trial.tools, flags)
        if not is_made or not _is_verified(results[name]):
            return Verdict(f"the verifier refuses the IR {name} the decision")
        text = results[name].read_text()
        if objective.has_vectors:
            text = _VECTOR.sub("", text)
        if re.search(r"\b(unreachable|poison|undef)\b", text):
            return Verdict("what LLVM makes of it has undefined behaviour")
    checks = {"verifier": "correct IR, with and without the decision"}
    for name, says in (
        ("inputs", _check_inputs(objective, trial)),
        ("alive-tv", _check_refinement(module, results["after"])),
    ):
        checks[name] = says
        if says.startswith("differs"):
            return Verdict(f"{name}: {says}", checks)
    last = objective.check(trial)
    return Verdict(last.bogus, {**checks, **last.checks})


def why_undefined(text: str) -> str:
    """Returns why a saving in textual IR says nothing; an empty text if it may say something."""
    for line in text.splitlines():
        if line.startswith(";"):
            continue
        if _UNDEFINED.search(line):
            return f"undefined behaviour or values without meaning: {line.strip()}"
        if _FAST_MATH.search(line):
            return f"fast-math: {line.strip()}"
    return ""


def _is_verified(module: Path) -> bool:
    done = _run_opt("-passes=verify", "-disable-output", module, check=False)
    return done.returncode == 0


def _run_opt(*words: str | Path, check: bool = True) -> "subprocess.CompletedProcess[str]":
    return run_command([llvm.opt_path(), *words], _SECONDS, check=check)


def _check_inputs(objective: Objective, trial: Trial) -> str:
    objects = {name: trial.folder / f"{name}.o" for name in ("before", "after")}
    for each, path in ((None, objects["before"]), (trial.decision, objects["after"])):
        if not compile_with(each, trial.module, path, trial.tools):
            return "not checked: it does not compile"
    defined = defined_functions(trial.module.read_text())
    function = trial.function if objective.has_entry else defined[-1]
    return compare_results(
        trial.module, function, objects["before"], objects["after"], trial.folder
    )


def defined_functions(text: str) -> list[str]:
    """Returns the symbols of the functions that textual IR defines, in order."""
    return _DEFINED.findall(text)


def compare_results(module: Path, function: str, before: Path, after: Path, folder: Path) -> str:
    """Runs two object files of a module with random inputs, and the module without any pass.

    Left out are inputs for which the function without passes ends in another way or breaks a rule
    that clang's address sanitizer knows, and inputs that take longer than 5 ms.

    Args:
        module: The textual IR.
        function: The symbol of the function that is called.
        before: One object file.
        after: The other.
        folder: A scratch folder.

    Returns:
        ``equal ...``, ``differs ...`` or ``not checked: ...``.
    """
    try:
        expected, sanitizer = reference_results(module, function, folder)
        others = [
            _texts(run_inputs(_link(each, function, folder, each.stem))) for each in (before, after)
        ]
    except NoHarnessError as error:
        return f"not checked: {error}"
    except (CommandError, subprocess.TimeoutExpired):
        return "not checked: the harness does not build or takes too long"
    outputs = [_texts(expected), *others]
    usable = [
        number
        for number, result in outputs[0].items()
        if "ended" not in result and not any(each.get(number) == _LONG for each in outputs)
    ]
    for number in usable:
        if any(each.get(number) != outputs[0][number] for each in others):
            return f"differs for input {number}: {[each.get(number) for each in outputs]}"
    if len(usable) < MIN_INPUTS:
        return f"not checked: only {len(usable)} of {INPUTS} random inputs are defined"
    return f"equal for {len(usable)} of {INPUTS} random inputs, {sanitizer}"


def reference_results(module: Path, function: str, folder: Path) -> tuple[dict[str, Result], str]:
    """Runs a function without any pass, with the address sanitizer if that is installed.

    Args:
        module: The textual IR.
        function: The symbol.
        folder: A folder, in which the harness is written to ``harness.c``.

    Returns:
        The results, and the use of the sanitizer in words.

    Raises:
        NoHarnessError: If the function cannot be called with random inputs.
        CommandError: If the harness does not build.
        subprocess.TimeoutExpired: If it takes too long.
    """
    (folder / HARNESS).write_text(write_harness(module.read_text(), function))
    reference, sanitizer = _build_reference(module, function, folder)
    return run_inputs(reference), sanitizer


def run_inputs(
    program: Path, inputs: Iterable[str] = ALL_INPUTS, repeats: int = 0
) -> dict[str, Result]:
    """Runs a harness.

    Args:
        program: The linked program.
        inputs: The inputs.
        repeats: How often the function is called again to measure its time.

    Raises:
        subprocess.TimeoutExpired: If it takes too long.
    """
    command: list[str | Path] = [program, str(repeats), *inputs]
    environment = {"ASAN_OPTIONS": "detect_leaks=0:symbolize=0"}
    # A function that is called with random arguments may do anything.
    done = run_confined(command, RUN_LIMITS, env=environment, any_addresses=True)
    if done.limit == "time":
        raise subprocess.TimeoutExpired(command, RUN_LIMITS.seconds)
    return read_results(done.stdout.decode(errors="replace"))


def _texts(results: Mapping[str, Result]) -> dict[str, str]:
    return {number: each.text for number, each in results.items()}


def _build_reference(module: Path, function: str, folder: Path) -> tuple[Path, str]:
    """Builds the module without any pass, with the address sanitizer if that is installed."""
    path, marked = folder / "reference.o", folder / "marked.bc"
    clang: list[str | Path] = [llvm.clang_path(), "-O0"]
    try:
        _run_opt("-passes=forceattrs", "-force-attribute=sanitize_address", module, "-o", marked)
        run_command([*clang, "-fsanitize=address", "-c", marked, "-o", path], _SECONDS)
        linked = _link(path, function, folder, "reference", "-fsanitize=address")
        return linked, "with the address sanitizer on the function without passes"
    except CommandError:
        plain = [*clang, "-Xclang", "-disable-llvm-passes"]
        run_command([*plain, "-c", module, "-o", path], _SECONDS)
        return _link(path, function, folder, "reference"), "without a sanitizer"


def _link(object_file: Path, function: str, folder: Path, name: str, *options: str) -> Path:
    """Links an object file with the harness."""
    renamed, program = folder / f"{name}.renamed.o", folder / f"{name}.program"
    rename = f"--redefine-sym={function}={ENTRY}"
    run_command([llvm.tool_path("llvm-objcopy"), rename, object_file, renamed], _SECONDS)
    clang: list[str | Path] = [llvm.clang_path(), "-O1", "-w", *options]
    run_command([*clang, folder / HARNESS, renamed, "-lm", "-o", program], _SECONDS)
    return program


def _check_refinement(module: Path, after: Path) -> str:
    alive = shutil.which("alive-tv")
    if alive is None:
        return "not checked: alive-tv is not installed"
    try:
        done = run_command([alive, module, after], _SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "not checked: alive-tv takes too long"
    if re.search(r"^\s*[1-9]\d* incorrect", done.stdout, re.MULTILINE):
        return "differs: alive-tv finds the transformation incorrect"
    if re.search(r"^\s*[1-9]\d* correct", done.stdout, re.MULTILINE):
        return "correct"
    return "not checked: alive-tv does not know"
