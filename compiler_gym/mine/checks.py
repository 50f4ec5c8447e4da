"""Checks that a saving is honest: both results mean the same, and the IR means something."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from compiler_gym.mine.decisions import Decision, Tools, compile_with
from compiler_gym.mine.harness import ENTRY, NoHarnessError, write_harness
from compiler_gym.mine.reduction import NONSENSE
from compiler_gym.util import llvm_tools as llvm
from compiler_gym.util.commands import CommandError, run_command

_INPUTS = 60
_MIN_INPUTS = 10
_SECONDS = 120
_LONG = "takes too long"
_UNDEFINED = re.compile(NONSENSE)
_FAST_MATH = re.compile(r"= f\w+ (?:\w+ )*?(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) ")
_DEFINED = re.compile(r"^define [^@]*@([\w.$-]+)\(", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """The result of the checks.

    Attributes:
        bogus: Why the saving does not count; empty if it does.
        checks: What each check says, by its name.
    """

    bogus: str = ""
    checks: Mapping[str, str] = field(default_factory=dict)


def check(module: Path, decision: Decision, folder: Path, tools: Tools) -> Verdict:
    """Checks a reduced module.

    Args:
        module: The textual IR.
        decision: The decision that makes it smaller.
        folder: A scratch folder.
        tools: The LLVM.
    """
    text = module.read_text()
    bogus = why_undefined(text)
    if bogus:
        return Verdict(bogus)
    results = {}
    for name, each in (("before", None), ("after", decision)):
        results[name] = folder / f"{name}.ll"
        flags = "-S -emit-llvm"
        is_made = compile_with(each, module, results[name], tools, flags)
        if not is_made or not _is_verified(results[name]):
            return Verdict(f"the verifier refuses the IR {name} the decision")
        if re.search(r"\b(unreachable|poison|undef)\b", results[name].read_text()):
            return Verdict("what LLVM makes of it has undefined behaviour")
    checks = {"verifier": "correct IR, with and without the decision"}
    for name, says in (
        ("inputs", _check_inputs(module, decision, folder, tools)),
        ("alive-tv", _check_refinement(module, results["after"])),
    ):
        checks[name] = says
        if says.startswith("differs"):
            return Verdict(f"{name}: {says}", checks)
    return Verdict("", checks)


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


def _check_inputs(module: Path, decision: Decision, folder: Path, tools: Tools) -> str:
    objects = {name: folder / f"{name}.o" for name in ("before", "after")}
    for each, path in ((None, objects["before"]), (decision, objects["after"])):
        if not compile_with(each, module, path, tools):
            return "not checked: it does not compile"
    return compare_results(module, objects["before"], objects["after"], folder)


def compare_results(module: Path, before: Path, after: Path, folder: Path) -> str:
    """Runs two object files of a module with random inputs, and the module without any pass.

    Left out are inputs for which the function without passes ends in another way or breaks a rule
    that clang's address sanitizer knows, and inputs that take longer than 5 ms.

    Args:
        module: The textual IR with one function, or several of which the last counts.
        before: One object file.
        after: The other.
        folder: A scratch folder.

    Returns:
        ``equal ...``, ``differs ...`` or ``not checked: ...``.
    """
    text = module.read_text()
    function = _DEFINED.findall(text)[-1]
    source = folder / "harness.c"
    try:
        source.write_text(write_harness(text, function))
        reference, sanitizer = _build_reference(module, function, folder)
        outputs = [
            _run(reference),
            *(_run(_link(each, function, folder, each.stem)) for each in (before, after)),
        ]
    except NoHarnessError as error:
        return f"not checked: {error}"
    except (CommandError, subprocess.TimeoutExpired):
        return "not checked: the harness does not build or takes too long"
    expected, *others = outputs
    usable = [
        number
        for number, result in expected.items()
        if "ended" not in result and not any(each.get(number) == _LONG for each in outputs)
    ]
    for number in usable:
        if any(each.get(number) != expected[number] for each in others):
            return f"differs for input {number}: {[each.get(number) for each in outputs]}"
    if len(usable) < _MIN_INPUTS:
        return f"not checked: only {len(usable)} of {_INPUTS} random inputs are defined"
    return f"equal for {len(usable)} of {_INPUTS} random inputs, {sanitizer}"


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
    run_command([*clang, folder / "harness.c", renamed, "-lm", "-o", program], _SECONDS)
    return program


def _run(program: Path) -> dict[str, str]:
    command: list[str | Path] = [program, "0", str(_INPUTS)]
    done = run_command(
        command, _SECONDS, env={"ASAN_OPTIONS": "detect_leaks=0:symbolize=0"}, check=False
    )
    lines = (line.partition(" ") for line in done.stdout.splitlines())
    return {number: result for number, _, result in lines}


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
