"""``compiler-gym-cc`` and ``compiler-gym-c++``: clang with smaller object files, for builds.

For a command that compiles one source for size, they search for a smaller object file once, and
cache the result by the content of the unit. clang runs all other commands, and these too if
anything goes wrong.

Imports are delayed, because a build runs this program many times.
"""

import hashlib
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import compiler_gym
from compiler_gym.cli import wrapper_settings as settings
from compiler_gym.cli.kept_objects import Found, KeptObjects, digest_of
from compiler_gym.cli.wrapper_command import (
    NotForSizeError,
    bitcode_command,
    command_for_size,
    compilation_of,
    options_of,
)
from compiler_gym.cli.wrapper_settings import (
    FROZEN,
    LOCK,
    LOG,
    POLICY,
    RECORD,
    REGALLOC,
    SETTINGS,
    WrongSettingError,
)
from compiler_gym.envs.llvm.benchmarks.compiler_command import CompilerCommand
from compiler_gym.errors.nearest_names import UnknownNameError
from compiler_gym.tuning.size.compilation import (
    NO_CHANGE,
    change_as_json,
    change_from_json,
    decision_names,
)
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, JobSlots, run_command
from compiler_gym.util.environment_variables import check_names
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.runfiles_path import cache_path

if TYPE_CHECKING:
    from compiler_gym.cli.lock_file import Entry
    from compiler_gym.tuning.size.evaluator import Budget
    from compiler_gym.tuning.size.optimizer import Optimizer

_KEPT = "size-objects"

# Smaller sources are mostly probes of the compiler, and there are many.
_WORTH_BYTES = 100


def cc() -> NoReturn:
    """Compiles C."""
    sys.exit(main("clang", sys.argv[1:]))


def cxx() -> NoReturn:
    """Compiles C++."""
    sys.exit(main("clang++", sys.argv[1:]))


def main(driver: str, words: Sequence[str]) -> int:
    """Runs clang, with smaller object files.

    Args:
        driver: The driver: ``"clang"`` or ``"clang++"``.
        words: Its arguments.

    Returns:
        Its exit code.
    """
    clang = llvm_tools.tool_path(driver)
    try:
        check_names(os.environ)
        words = settings.take_own_words(words)
        os.environ.update(json.loads(os.environ.pop(SETTINGS, "{}")))
        command = command_for_size(driver, words)
        if settings.limits().excludes(Path(command.sources[0].path)):
            raise NotForSizeError(f"{settings.EXCLUDE} has the source")
        if os.environ.get(RECORD):
            return _record(clang, driver, command, words)
        if _compile(clang, command, words):
            return 0
        note = "clang has errors to report"
    except KeyboardInterrupt:
        return INTERRUPTED
    except (WrongSettingError, UnknownNameError) as error:
        sys.stderr.write(f"compiler-gym: {error}\n")
        return 1
    except NotForSizeError as error:
        note = str(error)
    except Exception as error:
        note = f"error: {error}"
    _log("clang", note=f"{note}: {shlex.join(words)}")
    sys.stderr.flush()
    os.execv(clang, [str(clang), *words])


def _compile(clang: Path, command: CompilerCommand, words: Sequence[str]) -> bool:
    """Makes the object file. Returns False if clang reports errors."""
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        folder = Path(name)
        bitcode = folder / "source.bc"
        # This writes the dependencies, too.
        done = subprocess.run(
            bitcode_command(clang, command, words, bitcode), stderr=subprocess.PIPE
        )
        if done.returncode:
            return False
        policy = os.environ.get(POLICY, "")
        if policy.startswith(REGALLOC):
            path = _allocated(clang, command, folder, Path(policy.removeprefix(REGALLOC)))
        else:
            path = _locked(clang, command, bitcode)
        shutil.copyfile(path, command.output)
    sys.stderr.buffer.write(done.stderr)
    return True


def _allocated(clang: Path, command: CompilerCommand, folder: Path, policy: Path) -> Path:
    """Returns the object file with the decisions of a file about register allocation.

    clang allocates by itself if the file has none for the source, or if it asks other questions.

    Raises:
        WrongSettingError: If the file cannot be used.
    """
    from compiler_gym.envs.llvm.regalloc.channel import OtherQuestionsError, compile_with_decisions
    from compiler_gym.envs.llvm.regalloc.decisions import decisions_for

    if os.environ.get(LOCK) or os.environ.get(FROZEN):
        raise WrongSettingError(
            f"expected a lock file or {POLICY}={REGALLOC}FILE, got both: leave one of them out"
        )
    source = command.sources[0].path
    try:
        unit = decisions_for(policy, source)
    except (OSError, ValueError) as error:
        raise WrongSettingError(f"{POLICY}: {error}") from error
    path = folder / "allocated.o"
    words = compilation_of(clang, command).command(path)
    if unit is None:
        note = f"regalloc: {policy} has no decisions for {source}"
    else:
        try:
            compile_with_decisions(words, unit)
        except (OtherQuestionsError, CommandError) as error:
            note = f"regalloc: clang allocates {source} by itself: {error}"
            sys.stderr.write(f"compiler-gym: warning: {note}\n")
        else:
            count = sum(map(len, unit.functions.values()))
            _log("regalloc", output=command.output, note=f"{count} decisions of {policy}")
            return path
    run_command(words)
    _log("clang", output=command.output, note=note)
    return path


def _record(clang: Path, driver: str, command: CompilerCommand, words: Sequence[str]) -> int:
    """Runs clang, and records the unit. Returns the exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.run([clang, *words]).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = Path(command.output).absolute()
    if code or _is_probe(output):
        return code
    from compiler_gym.cli.lock_file import key_of

    key = key_of(settings.lock_path().parent, command.sources[0].path, options_of(command))
    note: dict[str, Any] = {
        "driver": driver,
        "words": words,
        "folder": os.getcwd(),
        "output": str(output),
        "digest": digest_of(output),
        "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "environment": {**os.environ},
        "key": key,
    }
    # Builds may compile several sources to the same file, and move it each time.
    name = hashlib.sha256(json.dumps([str(output), os.getcwd(), *words]).encode()).hexdigest()
    with atomic_file_write(Path(os.environ[RECORD], name), fileobj=True, mode="w") as file:
        json.dump(note, file)
    return 0


def _locked(clang: Path, command: CompilerCommand, bitcode: Path) -> Path:
    """Returns the object file of the lock file if it has one, else a new one.

    Raises:
        WrongSettingError: If the lock file is frozen and does not have it.
    """
    if not (os.environ.get(LOCK) or os.environ.get(FROZEN)):
        return _made(clang, command, bitcode)[0]
    from compiler_gym.cli.lock_file import LockFile, entry_of, unit_of

    lock = LockFile(settings.lock_path())
    unit = unit_of(lock.folder, clang, command.sources[0].path, options_of(command), bitcode)
    try:
        entry = lock.read().get(unit.key)
    except ValueError as error:
        raise WrongSettingError(str(error)) from error
    why = "got none" if entry is None else entry.difference(unit)
    if entry is not None and not why:
        if entry.left_out:
            KeptObjects(cache_path(_KEPT)).refuse(_key(clang, command, bitcode), entry.left_out)
        return _repeat(clang, command, bitcode, entry)
    is_frozen = bool(os.environ.get(FROZEN))
    if is_frozen or not settings.evaluations():
        plain = bitcode.with_name("plain.o")
        run_command(compilation_of(clang, command).command(plain))
        if not is_frozen or _is_probe(plain):
            _log("clang", output=command.output, note="no entry in the lock file")
            return plain
        raise WrongSettingError(
            f"{lock.path} is frozen: expected an entry for {unit.source} with the options "
            f"'{unit.options}', {why}; run the build without --frozen and {FROZEN}, or "
            "`compiler-gym lock update`, and commit the file"
        )
    path, found = _made(clang, command, bitcode)
    if found is not None:
        lock.update(entry_of(unit, found, path))
    return path


def _repeat(clang: Path, command: CompilerCommand, bitcode: Path, entry: "Entry") -> Path:
    """Returns the object file of an entry of a lock file.

    Raises:
        WrongSettingError: If clang refuses the decisions.
    """
    path, compilation = bitcode.with_name("locked.o"), compilation_of(clang, command)
    change = change_from_json(entry.decisions)
    try:
        if entry.from_bitcode and entry.decisions:
            run_command(compilation.command_of_unit(bitcode, path, change))
        else:
            run_command(compilation.command(path, change))
    except CommandError as error:
        raise WrongSettingError(f"{os.environ[LOCK]}: {entry.source}: {error}") from error
    note = "" if digest_of(path) == entry.object else "other bytes than when it was locked"
    _log("lock", entry.before, entry.after, output=command.output, note=note)
    return path


def _is_probe(path: Path) -> bool:
    """Returns true if an object file has too little code for a search."""
    from compiler_gym.tuning.size.object_file import read_object

    return read_object(path).text < _WORTH_BYTES


def _made(clang: Path, command: CompilerCommand, bitcode: Path) -> tuple[Path, Found | None]:
    """Returns the object file, one that is kept or the result of a search, and how it was found.

    The latter is None for a probe.
    """
    kept = KeptObjects(cache_path(_KEPT))
    key = _key(clang, command, bitcode)
    former = kept.get(key)
    limits = settings.evaluations(), settings.seconds()
    if former is not None and former[1].is_enough(*limits):
        path, found = former
        _log("kept", found.before, found.after, output=command.output)
        return path, found
    path, new = _search(clang, command, bitcode, kept.refused(key), *limits)
    return (path, None) if new is None else kept.put(key, path, new)


def _key(clang: Path, command: CompilerCommand, bitcode: Path) -> str:
    """Returns a cache key: a hash of everything that the object file depends on."""
    from compiler_gym.tuning.size.linking import trial_linker
    from compiler_gym.tuning.size.ranking import shipped_digest

    status = clang.resolve().stat()
    plugin = llvm_tools.own_passes_path()
    policy = os.environ.get(POLICY, "")
    facts = (
        compiler_gym.__version__,
        shipped_digest(),
        *(str(clang), str(status.st_mtime_ns), str(status.st_size)),
        digest_of(plugin) if plugin else "",
        settings.objective(),
        str(settings.with_experimental()),
        str(settings.may_drop_weak()),
        *sorted(settings.sole_groups()),
        str(trial_linker(options_of(command))),
        *settings.limits().facts(),
        *(policy, digest_of(Path(policy)) if Path(policy).is_file() else ""),
        *options_of(command),
    )
    key = hashlib.sha256("\0".join(facts).encode())
    key.update(bitcode.read_bytes())
    return key.hexdigest()[:40]


def _search(
    clang: Path,
    command: CompilerCommand,
    bitcode: Path,
    refused: set[str],
    evaluations: int,
    seconds: float,
) -> tuple[Path, Found | None]:
    """Returns the smallest object file and its search, or clang's object file for a probe.

    Args:
        clang: The compiler.
        command: The command.
        bitcode: The unoptimised bitcode.
        refused: Wrong decisions, by the names of :func:`decision_names`.
        evaluations: The number of evaluations.
        seconds: The time limit.
    """
    from compiler_gym.tuning.size.evaluator import Budget, Evaluator
    from compiler_gym.tuning.size.linking import trial_linker
    from compiler_gym.tuning.size.memory import open_memory
    from compiler_gym.tuning.size.minimise import ENDS
    from compiler_gym.tuning.size.objective import Objective
    from compiler_gym.tuning.size.optimizer import Optimizer
    from compiler_gym.tuning.size.ranking import shipped_ranking

    compilation, budget = compilation_of(clang, command), Budget(seconds, evaluations, ENDS)
    objective, advice = Objective(settings.objective()), settings.advice()
    memory = None
    if settings.with_memory():
        facts = (objective.value, str(settings.with_experimental()), os.environ.get(POLICY, ""))
        memory = open_memory(compilation, *facts)
    slots = JobSlots.from_environment(os.environ)
    jobs, hold = (os.cpu_count() or 1, slots.hold) if slots else (1, nullcontext)
    with Evaluator(
        *(compilation, bitcode.parent, budget, jobs),
        trial=trial_linker(compilation.options),
        read=partial(objective.read, sole=settings.sole_groups()),
        unit=bitcode,
        slots=hold,
        is_refused=lambda change: bool(decision_names(change_as_json(change)) & refused),
        may_drop_weak=settings.may_drop_weak(),
    ) as evaluator:
        search = Optimizer(
            evaluator,
            objective,
            advice=advice,
            memory=memory,
            is_unmarked=compilation.is_ir,
            with_experimental=settings.with_experimental(),
            ranking=shipped_ranking(),
        )
        search.start()
        if search.baseline.object.text < _WORTH_BYTES:
            _log("clang", output=command.output, note="less than 100 bytes of code")
            return search.baseline.path, None
        search.run()
        search.minimise(with_costs=False)
        search.remember()
    found = _found(search, command, seconds)
    notes = [f"ended by the time limit after {budget.used} evaluations"] * budget.is_cut
    if evaluator.timed_out:
        notes.append(f"clang took more than 10 minutes in {evaluator.timed_out} evaluations")
    if search.recalled is not None:
        notes.append(search.recalled.description)
    _log("search", found.before, found.after, budget, command.output, "; ".join(notes))
    return search.best.path, found


def _found(search: "Optimizer", command: CompilerCommand, seconds: float) -> Found:
    budget, change = search.evaluator.budget, search.best.change
    return Found(
        command=search.evaluator.compilation.command(Path(command.output), change),
        decisions=change_as_json(change),
        from_bitcode=search.evaluator.unit is not None and change != NO_CHANGE,
        objective=search.objective.value,
        before=search.size(search.baseline),
        after=search.size(search.best),
        tried=budget.used,
        evaluations=budget.used if budget.evaluations_left(1) == 0 else None,
        time_limit=seconds if budget.is_cut else None,
        same_functions=search.recalled.same if search.recalled else None,
    )


def _log(
    kind: str,
    before: int | str = "",
    after: int | str = "",
    budget: "Budget | None" = None,
    output: str = "",
    note: str = "",
) -> None:
    """Appends a line to the log in one write, because other compilers write there, too."""
    path = os.environ.get(LOG)
    if path:
        used = (budget.used, f"{budget.passed:.1f}") if budget else ("", "")
        line = "\t".join(map(str, (kind, before, after, *used, output, " ".join(note.split()))))
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{line}\n")
