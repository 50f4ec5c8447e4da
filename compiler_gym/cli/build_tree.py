"""The units of a build, and their object files."""

import hashlib
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compiler_gym.cli.kept_objects import digest_of, find_objects
from compiler_gym.cli.lock_file import Entry, Key, LockFile
from compiler_gym.cli.project_build import compilers, run_build, started
from compiler_gym.cli.wrapper_command import without_outputs
from compiler_gym.cli.wrapper_settings import BUDGET, EVALUATIONS, FROZEN, LOCK, LOG, RECORD
from compiler_gym.tuning.size.compilation import Decisions
from compiler_gym.tuning.size.linking import LinkError, trial_linker
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util.commands import served_slots

_VARIABLES = {"clang": "CC", "clang++": "CXX"}
_POLL_SECONDS = 0.02

# The maximum for one unit, as a multiple of the evaluations of an average one.
_MOST_OF_AVERAGE = 10


@dataclass(frozen=True)
class Compiled:
    """A compiled unit of a build.

    Attributes:
        key: Its key in a lock file.
        command: The command that compiles it.
        folder: The working directory of the command.
        environment: Its environment variables, which a makefile may have set.
        output: The object file.
        code: Bytes of code with clang alone.
        loaded: Loaded bytes with clang alone.
        digest: A digest of the object file by clang alone.
    """

    key: Key
    command: list[str]
    folder: Path
    environment: dict[str, str]
    output: Path
    code: int
    loaded: int
    digest: str

    def sizes(self) -> tuple[int, int]:
        """Returns the bytes of code and all loaded bytes of the object file as it is now."""
        return _sizes(self.output, self.command)


class BuildTree:
    """A build whose object files can be replaced.

    Args:
        words: The command of the build.
        lock: A temporary lock file, in the folder of the final one.
        work: A folder for temporary files.

    Attributes:
        units: The units whose object files exist after the build.
        lost: The sources of units whose object files the build has removed or changed.
    """

    def __init__(self, words: Sequence[str], lock: LockFile, work: Path):
        self.units: list[Compiled] = []
        self.lost: list[str] = []
        self.log = work / "log"
        self._words = words
        self._lock = lock
        self._work = work
        self._placed: dict[Key, Decisions] = {}

    def compile(self) -> int:
        """Builds without decisions, and records the units. Returns the exit code of the build."""
        notes = self._work / "notes"
        notes.mkdir()
        code = run_build(self._words, {RECORD: str(notes), LOCK: str(self._lock.path)})
        recorded = [json.loads(path.read_text()) for path in sorted(notes.iterdir())]
        for note, place in zip(recorded, find_objects(recorded), strict=True):
            if place is None:
                self.lost.append(note["key"][0])
                continue
            unit = _compiled(note, place)
            self.units.append(unit)
            shutil.copyfile(unit.output, self._copy(unit, {}))
        self.units.sort(key=lambda unit: (-unit.code, unit.key, unit.output))
        return code

    def search(
        self,
        evaluations: int,
        seconds: float | None,
        jobs: int,
        watch: Callable[[int], None],
    ) -> None:
        """Searches all units that have code, the largest first.

        Args:
            evaluations: Evaluations for an average unit.
            seconds: The time limit of all units together; None for none.
            jobs: The number of parallel compilers.
            watch: Called with the number of units that are done.
        """
        waiting, total = [*self.units], sum(unit.code for unit in self.units)
        running: dict[int, subprocess.Popen[bytes]] = {}
        end = None if seconds is None else time.monotonic() + seconds
        with ExitStack() as stack:
            served = stack.enter_context(served_slots(max(0, jobs - len(waiting)), self._work))
            rest, done = total, 0
            while waiting or running:
                while waiting and len(running) < jobs:
                    unit = waiting.pop(0)
                    count = evaluations * len(self.units) * unit.code // max(1, total)
                    count = max(1, min(count, _MOST_OF_AVERAGE * evaluations))
                    variables = {EVALUATIONS: str(count), "MAKEFLAGS": served.makeflags}
                    if end is not None:
                        left = max(0.0, end - time.monotonic())
                        share = left * min(1.0, jobs * unit.code / max(1, rest))
                        variables[BUDGET] = f"{share:.1f}s"
                    rest -= unit.code
                    process = stack.enter_context(self._start(unit, variables))
                    running[process.pid] = process
                ended = [pid for pid, process in running.items() if process.poll() is not None]
                for pid in ended:
                    del running[pid]
                    done += 1
                    watch(done)
                if ended and not waiting:
                    served.add(len(ended))
                if not ended:
                    time.sleep(_POLL_SECONDS)
        self._placed = self.decisions()
        for unit in self.units:
            if unit.key in self._placed:
                shutil.copyfile(unit.output, self._copy(unit, self._placed[unit.key]))

    def decisions(self) -> dict[Key, Decisions]:
        """Returns the decisions of the lock file for the units of the build."""
        entries = self._lock.read()
        return {unit.key: entries[unit.key].decisions for unit in self.units if unit.key in entries}

    def place(self, wanted: Mapping[Key, Decisions]) -> None:
        """Compiles units with given decisions, and all others without any.

        Raises:
            ChildProcessError: If clang refuses them.
        """
        entries = self._lock.read()
        changed = {key for key in self._placed if self._placed[key] != wanted.get(key, {})}
        for key in changed:
            entries[key] = replace(entries[key], decisions=wanted.get(key, {}))
        self._lock.write(entries.values())
        for unit in (each for each in self.units if each.key in changed):
            self._placed[unit.key] = decisions = wanted.get(unit.key, {})
            copy = self._copy(unit, decisions)
            if copy.exists():
                shutil.copyfile(copy, unit.output)
                continue
            self._compile_as_locked(unit)
            shutil.copyfile(unit.output, copy)

    def refuse(self, key: Key, texts: Sequence[str]) -> None:
        """Records decisions that make a check fail, so that later searches avoid them.

        Args:
            key: The key of the unit.
            texts: The decisions.
        """
        entries = self._lock.read()
        entry = entries[key]
        entries[key] = replace(entry, left_out=[*entry.left_out, *texts])
        self._lock.write(entries.values())
        for unit in (each for each in self.units if each.key == key):
            self._compile_as_locked(unit)

    def _compile_as_locked(self, unit: Compiled) -> None:
        """Compiles a unit with the decisions of the lock file.

        Raises:
            ChildProcessError: If clang refuses them.
        """
        with self._start(unit, {FROZEN: "1"}) as process:
            if process.wait():
                raise ChildProcessError(f"{unit.key[0]} does not compile with its decisions")

    def _copy(self, unit: Compiled, decisions: Decisions) -> Path:
        """Returns the path for the copy of an object file with decisions."""
        facts = json.dumps([str(unit.output), decisions], sort_keys=True)
        return self._work / f"{hashlib.sha256(facts.encode()).hexdigest()}.o"

    def build(self) -> int:
        """Builds with the placed object files. Returns the exit code of the build."""
        return run_build(self._words, {LOCK: str(self._lock.path), EVALUATIONS: "0"})

    def entries(self) -> list[Entry]:
        """Returns the lock entries of the placed units."""
        entries = self._lock.read()
        for unit in self.units:
            if unit.key not in entries:
                continue
            entry = entries[unit.key]
            if entry.left_out:
                entry = replace(entry, after=self._after(unit, entry))
            entries[unit.key] = replace(entry, object=digest_of(unit.output))
        return [*entries.values()]

    @staticmethod
    def _after(unit: Compiled, entry: Entry) -> int:
        code, loaded = unit.sizes()
        gains = {"text": unit.code - code, "all": unit.loaded - loaded}
        return entry.before - gains.get(entry.objective, 0)

    def clear(self) -> None:
        """Removes the replaced object files. The next build makes them again."""
        for unit in self.units:
            if unit.output.exists() and digest_of(unit.output) != unit.digest:
                unit.output.unlink()

    def _start(
        self, unit: Compiled, variables: Mapping[str, str]
    ) -> AbstractContextManager[subprocess.Popen[bytes]]:
        common = {LOCK: str(self._lock.path), LOG: str(self.log)}
        return started(unit.command, unit.environment, {**common, **variables}, unit.folder)


def _compiled(note: dict[str, Any], output: Path) -> Compiled:
    """Returns the unit of a note, whose object file is now at ``output``."""
    words = note["words"]
    if output != Path(note["output"]):
        words = [*without_outputs(words), "-o", str(output)]
    code, loaded = _sizes(output, words)
    compiler = compilers()[_VARIABLES[note["driver"]]]
    source, options = note["key"]
    # The build that set these has ended.
    environment = {**note["environment"], "MAKEFLAGS": "", RECORD: ""}
    return Compiled(
        key=(source, options),
        command=[compiler, *words],
        folder=Path(note["folder"]),
        environment=environment,
        output=output,
        code=code,
        loaded=loaded,
        digest=digest_of(output),
    )


def _sizes(path: Path, words: Sequence[str]) -> tuple[int, int]:
    """Returns the bytes of code and all loaded bytes of an object file.

    Args:
        path: The object file.
        words: The arguments of clang.
    """
    made, trial = read_object(path), trial_linker(words)
    try:
        return made.text, trial.size(path).loaded if trial else made.all
    except LinkError:
        return made.text, made.all
