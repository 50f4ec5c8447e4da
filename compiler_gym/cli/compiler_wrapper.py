"""``compiler-gym-cc`` and ``compiler-gym-c++``: clang for builds that are to become small.

A command that compiles one source to an object file, for size, is searched for a smaller one, once:
what was found is kept by the content of what is compiled. All other commands are clang's, and so
are these wherever anything goes wrong.

Little is imported before it is known what there is to do: a build runs this many times.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.compiler_command import (
    CompilerCommand,
    parse_compiler_command,
)
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.runfiles_path import cache_path

if TYPE_CHECKING:
    from compiler_gym.envs.llvm.size.optimizer import Advice

BUDGET, OBJECTIVE, POLICY, LEVEL, LOG, EXPERIMENTAL = (
    f"COMPILER_GYM_{name}"
    for name in ("BUDGET", "OBJECTIVE", "POLICY", "LEVEL", "LOG", "EXPERIMENTAL")
)
"""The environment variables that say what is wanted, as builds cannot."""

_DEFAULT_BUDGET = "10s"
_KEPT = "size-objects"
_MAX_KEPT_BYTES = 1 << 30
_FOR_SIZE = ("-Os", "-Oz")
_INTERRUPTED = 130

# Smaller sources are mostly there to find out what the compiler can do, and there are many.
_WORTH_BYTES = 100

# Commands with these write something besides the object file and what it depends on, need another
# compiler than clang's own, or are about what would not be the same.
_STRAIGHT = (
    *("-flto", "-gsplit-dwarf", "-save-temps", "--save-temps", "--coverage", "-ftest-coverage"),
    *("-fprofile", "-fcs-profile", "-ftime", "-fsave-optimization-record", "-fembed-bitcode"),
    *("-fsanitize", "-fmodules", "-fpass-plugin", "-foptimization-record", "-R", "-v", "-###"),
    *("--analyze", "-emit-", "-Xarch", "-arch", "--cuda", "-fopenmp-targets", "-fthinlto"),
)
_DEPENDENCIES = ("-MD", "-MMD")
_TO_PREPROCESSOR = ("-Wp,-MD,", "-Wp,-MMD,")

# What builds compile to find out what the compiler can do.
_PROBES = ("conftest", "CMakeScratch", "CMakeTmp", "CompilerIdC", "cmTC_", "meson-private")


_UNIT_OBJECTIVES = ("all", "text", "instructions")
_WHOLE = ", for which see `compiler-gym optimize --objective {}`"
_NOT_OF_A_UNIT = {
    "linked": "the size of a program is known when all of it is linked" + _WHOLE.format("linked"),
    "runtime": "one source is no program that could be run" + _WHOLE.format("runtime"),
}


class WrongSettingError(ValueError):
    """A variable of the environment says what cannot be had of a compiler. The text says why."""


def cc() -> NoReturn:
    """Compiles C."""
    sys.exit(main("clang", sys.argv[1:]))


def cxx() -> NoReturn:
    """Compiles C++."""
    sys.exit(main("clang++", sys.argv[1:]))


def main(driver: str, words: Sequence[str]) -> int:
    """Does what clang does, with smaller object files.

    Args:
        driver: Which clang: ``"clang"`` or ``"clang++"``.
        words: Its arguments.

    Returns:
        Its exit code.
    """
    clang = tools.tool_path(driver)
    try:
        command = _command_for_size(driver, words)
        if command is not None and _compile(clang, command, words):
            return 0
    except KeyboardInterrupt:
        return _INTERRUPTED
    except WrongSettingError as error:
        sys.stderr.write(f"compiler-gym: {error}\n")
        return 1
    except Exception as error:
        _log(f"error\t{words!r}\t{error}")
    sys.stderr.flush()
    os.execv(clang, [str(clang), *words])


def _command_for_size(driver: str, words: Sequence[str]) -> CompilerCommand | None:
    """Returns the command, if it compiles one source for size; None if that is not for us."""
    if "-c" not in words or any(word.startswith(_STRAIGHT) for word in words):
        return None
    try:
        command = parse_compiler_command([driver, *words])
    except (ValueError, OSError):
        return None
    source = command.sources[0].path
    if command.mode != "compile" or command.link_inputs or any(map(source.__contains__, _PROBES)):
        return None
    output = Path(command.output)
    if output.exists() and not output.is_file():
        return None
    levels = [word for (word, *_) in command.options if word.startswith("-O")]
    return command if _level() or (levels[-1:] and levels[-1] in _FOR_SIZE) else None


def _level() -> str | None:
    """Returns the level in place of that of every command, if there is one.

    Raises:
        WrongSettingError: If it is none of those for size.
    """
    wanted = os.environ.get(LEVEL) or None
    if wanted and wanted not in _FOR_SIZE:
        raise WrongSettingError(f"{LEVEL} is {wanted!r}, but has to be {' or '.join(_FOR_SIZE)}")
    return wanted


def _options(command: CompilerCommand) -> list[str]:
    """Returns the options without the source, and with the level that is wanted."""
    wanted = _level()
    options = [each for each in command.options if not (wanted and each[0].startswith("-O"))]
    language = command.sources[0].language
    words = [word for option in options for word in option if not word.startswith(_TO_PREPROCESSOR)]
    return [*([wanted] if wanted else []), *words, *(["-x", language] if language else [])]


def _compile(clang: Path, command: CompilerCommand, words: Sequence[str]) -> bool:
    """Makes the object file; returns False if clang has something to complain about."""
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        folder = Path(name)
        bitcode = folder / "source.bc"
        # This writes the dependencies, too.
        done = subprocess.run(
            _bitcode_command(clang, command, words, bitcode), stderr=subprocess.PIPE
        )
        if done.returncode:
            return False
        kept = cache_path(_KEPT) / f"{_key(clang, command, bitcode)}.o"
        if not kept.is_file():
            made = _search(clang, command, folder)
            kept.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file_write(kept) as path:
                shutil.copyfile(made, path)
            _forget_oldest(kept.parent)
        shutil.copyfile(kept, command.output)
        os.utime(kept)
    sys.stderr.buffer.write(done.stderr)
    return True


def _forget_oldest(folder: Path) -> None:
    """Removes the object files that were wanted longest ago, if all together are too large."""
    facts = [(path.stat(), path) for path in folder.glob("*.o")]
    size = sum(status.st_size for status, _ in facts)
    for status, path in sorted(facts, key=lambda each: each[0].st_mtime):
        if size <= _MAX_KEPT_BYTES:
            break
        path.unlink(missing_ok=True)
        size -= status.st_size


def _bitcode_command(
    clang: Path, command: CompilerCommand, words: Sequence[str], bitcode: Path
) -> list[str]:
    """Returns the command that makes bitcode in place of the object file, and all else as asked."""
    kept, rest = [], iter(words)
    for word in rest:
        if word == "-o":
            next(rest, None)
        elif word.startswith(_TO_PREPROCESSOR):
            _, option, file = word.split(",", 2)
            kept += [option, "-MF", file]
        elif not word.startswith("-o") or word.startswith("-object"):
            kept.append(word)
    if any(word in _DEPENDENCIES for word in kept):
        # By default, both come from the name of the output.
        if not any(word.startswith("-MF") for word in kept):
            kept += ["-MF", str(Path(command.output).with_suffix(".d"))]
        if not any(word.startswith(("-MT", "-MQ")) for word in words):
            kept += ["-MQ", command.output]
    if sys.stderr.isatty():
        kept.append("-fcolor-diagnostics")
    level = filter(None, [_level()])
    stop = ["-Xclang", "-disable-llvm-passes", "-emit-llvm", "-o", str(bitcode)]
    return [str(clang), *kept, *level, *stop]


def _key(clang: Path, command: CompilerCommand, bitcode: Path) -> str:
    """Returns a name for all that the object file depends on."""
    from compiler_gym.envs.llvm.size.portfolio import shipped_digest

    status = clang.resolve().stat()
    facts = (
        shipped_digest(),
        *(str(clang), str(status.st_mtime_ns), str(status.st_size)),
        *(os.environ.get(name, "") for name in (BUDGET, OBJECTIVE, POLICY, EXPERIMENTAL)),
        *_options(command),
    )
    key = hashlib.sha256("\0".join(facts).encode())
    key.update(bitcode.read_bytes())
    return key.hexdigest()[:40]


def _objective() -> str:
    """Returns what is to be small.

    Raises:
        WrongSettingError: If that is not to be known of one source.
    """
    wanted = os.environ.get(OBJECTIVE) or _UNIT_OBJECTIVES[0]
    if wanted not in _UNIT_OBJECTIVES:
        why = _NOT_OF_A_UNIT.get(wanted, "there is no such objective")
        *first, last = _UNIT_OBJECTIVES
        names = f"{', '.join(first)} or {last}"
        raise WrongSettingError(f"{OBJECTIVE} is {wanted!r}, but has to be {names}: {why}")
    return wanted


def _with_experimental() -> bool:
    """Returns whether to use options that LLVM itself sets nowhere.

    Raises:
        WrongSettingError: If the variable is neither 0 nor 1.
    """
    wanted = os.environ.get(EXPERIMENTAL) or "0"
    if wanted not in ("0", "1"):
        raise WrongSettingError(f"{EXPERIMENTAL} is {wanted!r}; expected 0 or 1")
    return wanted == "1"


def _seconds() -> float:
    """Returns the time for a source.

    Raises:
        WrongSettingError: If what is wanted is no time.
    """
    from compiler_gym.cli.durations import parse_duration

    try:
        return parse_duration(os.environ.get(BUDGET) or _DEFAULT_BUDGET)
    except ValueError as error:
        raise WrongSettingError(f"{BUDGET}: {error}") from error


def _advice() -> "Advice | None":
    """Returns what says which sequences of passes are tried first, if that is wanted.

    Raises:
        WrongSettingError: If there is no such policy.
    """
    if not os.environ.get(POLICY):
        return None
    from compiler_gym.envs.llvm.policies.policy import Policy

    try:
        return Policy.load(os.environ[POLICY]).sequences_for
    except (OSError, ValueError) as error:
        raise WrongSettingError(f"{POLICY}: {error}") from error


def _search(clang: Path, command: CompilerCommand, folder: Path) -> Path:
    """Returns the smallest object file that was found."""
    from compiler_gym.envs.llvm.size.compilation import Compilation
    from compiler_gym.envs.llvm.size.evaluator import Budget, Evaluator
    from compiler_gym.envs.llvm.size.objective import Objective
    from compiler_gym.envs.llvm.size.optimizer import Optimizer
    from compiler_gym.envs.llvm.size.trial_link import trial_linker

    source = Path(command.sources[0].path)
    compilation = Compilation(clang, source, (*_options(command), "-w"), tools.own_passes_path())
    budget, objective, advice = Budget(_seconds()), Objective(_objective()), _advice()
    with_experimental = _with_experimental()
    trial = trial_linker(compilation.options)
    with Evaluator(compilation, folder, budget, trial=trial, read=objective.read) as evaluator:
        search = Optimizer(
            evaluator,
            objective,
            advice=advice,
            is_unmarked=compilation.is_ir,
            with_experimental=with_experimental,
        )
        search.start()
        if search.baseline.object.text < _WORTH_BYTES:
            return search.baseline.path
        search.run()
    before, after = search.size(search.baseline), search.size(search.best)
    _log(f"{before}\t{after}\t{budget.used}\t{budget.passed:.1f}\t{command.output}")
    return search.best.path


def _log(line: str) -> None:
    path = os.environ.get(LOG)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{line}\n")
