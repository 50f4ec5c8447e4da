"""The object file for a command of ``compiler-gym-cc``: kept, locked, or the result of a search.

All object files are made of one copy of the unoptimised bitcode. Before that replaces anything, it
has to make the object file of clang, so that no edit of the source in between has an effect.
"""

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import compiler_gym
from compiler_gym.cli import wrapper_settings as settings
from compiler_gym.cli.kept_objects import Found, KeptObjects, digest_of
from compiler_gym.cli.wrapper_command import UnitCommand, UnitCompilation
from compiler_gym.cli.wrapper_log import log
from compiler_gym.cli.wrapper_settings import (
    EXCLUDE_FROM,
    FROZEN,
    LOCK,
    LOG,
    POLICY,
    RECORD,
    REGALLOC,
    SOLE,
    WrongSettingError,
)
from compiler_gym.tuning.size.compilation import (
    NO_CHANGE,
    change_as_json,
    change_from_json,
    decision_names,
)
from compiler_gym.util import llvm_tools
from compiler_gym.util.clang_driver import OVERRIDES
from compiler_gym.util.commands import CommandError, JobSlots, run_command
from compiler_gym.util.environment_variables import PREFIX
from compiler_gym.util.processors import processors
from compiler_gym.util.runfiles_path import cache_path

if TYPE_CHECKING:
    from compiler_gym.cli.lock_file import Entry, LockFile
    from compiler_gym.cli.lock_file import Unit as LockedUnit
    from compiler_gym.tuning.size.optimizer import Optimizer
    from compiler_gym.tuning.size.trial_linking import TrialLinker

_KEPT = "size-objects"

# Smaller sources are mostly probes of the compiler, and there are many.
_WORTH_BYTES = 100

# Private runs of clang take about as long as that of the user, which has waited for nothing else.
_LEAST_LIMIT_SECONDS = 60
_LIMIT_FACTOR = 10

# Assembly that may read files. Macros may hide the directives.
_READS_FILES = re.compile(rb"\.(inc|macro|irp|rept)", re.IGNORECASE)
_OTHER_BITCODE = "the bitcode of the source makes another object file than clang"


class NotRepeatedError(Exception):
    """clang makes another object file of the bitcode. The text says so."""


@dataclass(frozen=True)
class Unit:
    """A unit that clang has compiled.

    Attributes:
        command: The command.
        folder: A folder for temporary files.
        plain: A copy of the object file of clang.
        seconds: The duration of the run of clang.
    """

    command: UnitCommand
    folder: Path
    plain: Path
    seconds: float

    @cached_property
    def compilation(self) -> UnitCompilation:
        """The compilation of the bitcode."""
        return self.command.compilation()

    @cached_property
    def bitcode(self) -> Path:
        """The unoptimised bitcode of the source.

        Raises:
            CommandError: If clang reports errors, such as those for a source that changes.
            subprocess.TimeoutExpired: If it takes much longer than before.
        """
        path = self.folder / "source.bc"
        limit = _LEAST_LIMIT_SECONDS + _LIMIT_FACTOR * self.seconds
        run_command(self.command.bitcode_command(path), timeout=limit)
        return path

    @property
    def reads_files(self) -> bool:
        """True if inline assembly may read files, which are no part of the bitcode."""
        listed = run_command([llvm_tools.llvm_dis_path(), self.bitcode, "-o", "-"], text=False)
        lines = (line for line in listed.stdout.splitlines() if b"asm" in line)
        return any(_READS_FILES.search(line) for line in lines)

    @property
    def trial(self) -> "TrialLinker | None":
        """Links the object file alone."""
        from compiler_gym.tuning.size.trial_linking import trial_linker

        return trial_linker(["-fPIC"] if self.command.is_for_libraries else [])

    def check(self) -> None:
        """Compiles the bitcode.

        Raises:
            NotRepeatedError: If it makes another object file than the source.
        """
        from compiler_gym.tuning.size.object_file import content_digest

        path = self.folder / "repeated.o"
        try:
            run_command(self.compilation.command_of_unit(self.bitcode, path))
        except CommandError as error:
            raise NotRepeatedError(_OTHER_BITCODE) from error
        if content_digest(path) != content_digest(self.plain):
            raise NotRepeatedError(_OTHER_BITCODE)


def smaller_object(unit: Unit) -> Path:
    """Returns a smaller object file for a unit, or that of clang.

    Raises:
        WrongSettingError: If a setting is wrong, or if a frozen lock file does not have the unit.
        NotRepeatedError: If clang makes another object file of the bitcode.
    """
    policy = os.environ.get(POLICY, "")
    if policy.startswith(REGALLOC):
        return _allocated(unit, Path(policy.removeprefix(REGALLOC)))
    if is_probe(unit.plain):
        log("clang", output=unit.command.output, note=f"less than {_WORTH_BYTES} bytes of code")
        return unit.plain
    if settings.one_run() == settings.VERIFY:
        return _verified(unit)
    if os.environ.get(LOCK) or os.environ.get(FROZEN):
        return _locked(unit)
    return _made(unit)[0]


def is_probe(path: Path) -> bool:
    """Returns true if an object file has too little code for a search."""
    from compiler_gym.tuning.size.object_file import read_object

    return read_object(path).text < _WORTH_BYTES


def _verified(unit: Unit) -> Path:
    """Returns the smaller one of the object file of clang and that of one run with the plugin."""
    from compiler_gym.tuning.size.objective import Objective
    from compiler_gym.tuning.size.one_run import description, one_run_options

    command, path = unit.command, unit.folder / "one_run.o"
    run_command([*unit.compilation.command(path), *one_run_options()])
    objective = Objective(settings.objective())
    plain, made = (objective.read(each) for each in (unit.plain, path))
    before, after = map(objective.size_of_sections, (plain, made))
    log("one run", before, after, output=command.output, note=description(command.architecture))
    return path if after < before and made.needed <= plain.needed else unit.plain


def _allocated(unit: Unit, policy: Path) -> Path:
    """Returns the object file with the decisions of a file about register allocation.

    clang allocates by itself if the file has none for the source, or if it asks other questions.

    Raises:
        WrongSettingError: If the file cannot be used.
        NotRepeatedError: If clang makes another object file of the bitcode.
    """
    from compiler_gym.envs.llvm.regalloc.channel import OtherQuestionsError, compile_with_decisions
    from compiler_gym.envs.llvm.regalloc.decisions import decisions_for

    if os.environ.get(LOCK) or os.environ.get(FROZEN):
        raise WrongSettingError(
            f"expected a lock file or {POLICY}={REGALLOC}FILE, got both: leave one of them out"
        )
    source, output = unit.command.source, unit.command.output
    try:
        decisions = decisions_for(policy, source)
    except (OSError, ValueError) as error:
        raise WrongSettingError(f"{POLICY}: {error}") from error
    if decisions is None:
        log("clang", output=output, note=f"regalloc: {policy} has no decisions for {source}")
        return unit.plain
    unit.check()
    path = unit.folder / "allocated.o"
    try:
        compile_with_decisions(unit.compilation.command_of_unit(unit.bitcode, path), decisions)
    except (OtherQuestionsError, CommandError) as error:
        note = f"regalloc: clang allocates {source} by itself: {error}"
        sys.stderr.write(f"compiler-gym: warning: {note}\n")
        log("clang", output=output, note=note)
        return unit.plain
    count = sum(map(len, decisions.functions.values()))
    log("regalloc", output=output, note=f"{count} decisions of {policy}")
    return path


def _locked(unit: Unit) -> Path:
    """Returns the object file of the lock file if it has one, else a new one.

    Raises:
        WrongSettingError: If the lock file is frozen and does not have it.
        NotRepeatedError: If clang makes another object file of the bitcode.
    """
    from compiler_gym.cli.lock_file import LockFile, entry_of, unit_of

    lock = LockFile(settings.lock_path())
    command = unit.command
    place = lock.folder, command.clang, command.source, command.options
    locked = unit_of(*place, unit.bitcode)
    try:
        entry = lock.read().get(locked.key)
    except ValueError as error:
        raise WrongSettingError(str(error)) from error
    limits = settings.limits()
    why = "got none" if entry is None else entry.difference(locked)
    if entry is not None and not why and not entry.limits.covers(limits):
        why = "got one of a search with fewer exclusions"
    if entry is not None and not why:
        if entry.left_out:
            with suppress(OSError):  # There may be no folder.
                KeptObjects(cache_path(_KEPT)).refuse(_key(unit), entry.left_out)
        return _repeat(unit, entry)
    if os.environ.get(FROZEN):
        unit.check()
        raise WrongSettingError(_missing(lock, locked, why))
    if not settings.evaluations():
        log("clang", output=command.output, note="no entry in the lock file")
        return unit.plain
    path, found = _made(unit)
    if found is not None:
        lock.update(entry_of(locked, found, path, limits))
    return path


def _missing(lock: "LockFile", unit: "LockedUnit", why: str) -> str:
    return (
        f"{lock.path} is frozen: expected an entry for {unit.source} with the options "
        f"'{unit.options}', {why}; run the build without --frozen and {FROZEN}, or "
        "`compiler-gym lock update`, and commit the file"
    )


def _repeat(unit: Unit, entry: "Entry") -> Path:
    """Returns the object file of an entry of a lock file.

    Raises:
        WrongSettingError: If clang refuses the decisions.
        NotRepeatedError: If clang makes another object file of the bitcode.
    """
    path = unit.plain
    if entry.decisions:
        unit.check()
        path = unit.folder / "locked.o"
        change = change_from_json(entry.decisions)
        compilation = replace(unit.compilation, limits=entry.limits)
        try:
            run_command(compilation.command_of_unit(unit.bitcode, path, change))
        except CommandError as error:
            raise WrongSettingError(f"{os.environ[LOCK]}: {entry.source}: {error}") from error
    note = "" if digest_of(path) == entry.object else "other bytes than when it was locked"
    log("lock", entry.before, entry.after, output=unit.command.output, note=note)
    return path


def _made(unit: Unit) -> tuple[Path, Found | None]:
    """Returns the object file, one that is kept or the result of a search, and how it was found.

    The latter is None if there was no search.
    """
    kept, key = KeptObjects(cache_path(_KEPT)), _key(unit)
    former = kept.get(key)
    limits = settings.evaluations(), settings.seconds()
    if former is not None and former[1].is_enough(*limits):
        path, found = former
        log("kept", found.before, found.after, output=unit.command.output)
        return path, found
    path, found = _search(unit, kept.refused(key), *limits)
    if not unit.reads_files:
        with suppress(OSError):  # The disk may be full.
            return kept.put(key, path, found)
    return path, found


def _key(unit: Unit) -> str:
    """Returns a cache key: a hash of everything that the object file depends on."""
    command = unit.command
    policy = os.environ.get(POLICY, "")
    facts = (
        *_facts_of_tools(command.clang),
        settings.objective(),
        str(settings.with_experimental()),
        str(settings.may_drop_weak()),
        *sorted(settings.sole_groups()),
        str(unit.trial),
        *settings.limits().facts(),
        *(policy, digest_of(Path(policy)) if Path(policy).is_file() else ""),
        *command.code_options,
        # The bitcode makes this object file, which a search has checked.
        digest_of(unit.plain),
    )
    key = hashlib.sha256(os.fsencode("\0".join(facts)))
    key.update(unit.bitcode.read_bytes())
    return key.hexdigest()[:40]


def _facts_of_tools(clang: Path) -> list[str]:
    """Returns what object files depend on, besides the source and the settings."""
    from compiler_gym.tuning.size.shipped import shipped_digest

    status = clang.resolve().stat()
    plugins = llvm_tools.own_passes_path(), llvm_tools.one_run_path()
    return [
        *(compiler_gym.__version__, shipped_digest()),
        *(str(clang), str(status.st_mtime_ns), str(status.st_size)),
        *(digest_of(each) if each else "" for each in plugins),
    ]


def cache_key(clang: Path, words: Sequence[str]) -> str:
    """Returns a digest of what object files depend on, besides the command and the source.

    It is for caches that other programs have, whose keys have no names of sources. All settings
    count, also those that :func:`_key` does not have, such as the number of evaluations.

    Args:
        clang: The compiler.
        words: The command.

    Returns:
        Empty if the compiler has to run: with a lock file, while a build is recorded, and where an
        excluded source may be named in a file of arguments.
    """
    limits = settings.limits()
    has_file = any(word.startswith("@") for word in words)
    if any(os.environ.get(name) for name in (LOCK, FROZEN, RECORD)) or (
        limits.excluded and has_file
    ):
        return ""
    excluded = [word for word in words if limits.excludes(Path(word))]
    facts = [*_facts_of_tools(clang), os.environ.get(OVERRIDES, ""), *excluded]
    for name, value in sorted(os.environ.items()):
        if name.startswith(PREFIX) and name not in (LOG, f"{PREFIX}CACHE"):
            facts += [name, value]
            if name in (EXCLUDE_FROM, POLICY, SOLE):
                paths = map(Path, value.removeprefix(REGALLOC).split(os.pathsep))
                facts += [digest_of(each) if each.is_file() else "" for each in paths]
    return hashlib.sha256(os.fsencode("\0".join(facts))).hexdigest()


def _search(unit: Unit, refused: set[str], evaluations: int, seconds: float) -> tuple[Path, Found]:
    """Returns the smallest object file and its search.

    Args:
        unit: The unit.
        refused: Wrong decisions, by the names of :func:`decision_names`.
        evaluations: The number of evaluations.
        seconds: The time limit.

    Raises:
        NotRepeatedError: If clang makes another object file of the bitcode.
    """
    from compiler_gym.tuning.size.evaluator import Budget, Evaluator
    from compiler_gym.tuning.size.memory import open_memory
    from compiler_gym.tuning.size.minimise import ENDS
    from compiler_gym.tuning.size.objective import Objective
    from compiler_gym.tuning.size.optimizer import Optimizer
    from compiler_gym.tuning.size.ranking import shipped_ranking

    compilation, budget = unit.compilation, Budget(seconds, evaluations, ENDS)
    objective, advice = Objective(settings.objective()), settings.advice()
    memory = None
    if settings.with_memory():
        facts = (objective.value, str(settings.with_experimental()), os.environ.get(POLICY, ""))
        memory = open_memory(compilation, *facts)
    slots = JobSlots.from_environment(os.environ)
    jobs, hold = (processors(), slots.hold) if slots else (1, nullcontext)
    with Evaluator(
        *(compilation, unit.folder, budget, jobs),
        trial=unit.trial,
        read=partial(objective.read, sole=settings.sole_groups()),
        unit=unit.bitcode,
        made=unit.plain,
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
        if evaluator.unit is None:
            raise NotRepeatedError(_OTHER_BITCODE)
        search.run()
        search.minimise(with_costs=False)
        search.remember()
    found = _found(search, unit.command.output, seconds)
    notes = [f"ended by the time limit after {budget.used} evaluations"] * budget.is_cut
    if evaluator.timed_out:
        notes.append(f"clang took more than 10 minutes in {evaluator.timed_out} evaluations")
    if search.recalled is not None:
        notes.append(search.recalled.description)
    log("search", found.before, found.after, budget, unit.command.output, "; ".join(notes))
    return search.best.path, found


def _found(search: "Optimizer", output: Path, seconds: float) -> Found:
    budget, change = search.evaluator.budget, search.best.change
    return Found(
        command=search.evaluator.compilation.command(output, change),
        decisions=change_as_json(change),
        from_bitcode=change != NO_CHANGE,
        objective=search.objective.value,
        before=search.size(search.baseline),
        after=search.size(search.best),
        tried=budget.used,
        evaluations=budget.used if budget.evaluations_left(1) == 0 else None,
        time_limit=seconds if budget.is_cut else None,
        same_functions=search.recalled.same if search.recalled else None,
    )
