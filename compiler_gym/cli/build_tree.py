"""A build, its units and their object files, and what it links."""

import hashlib
import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from compiler_gym.cli.compiled_units import Compiled, compiled_unit
from compiler_gym.cli.kept_objects import digest_of, find_objects
from compiler_gym.cli.linked_files import (
    LinkedFile,
    elf_files,
    files_since,
    measured,
    roots_of,
    shared_groups,
    worse_files,
)
from compiler_gym.cli.lock_file import Entry, Key, LockFile
from compiler_gym.cli.probes import is_of_probe
from compiler_gym.cli.project_build import run_build, started, why_check_fails
from compiler_gym.cli.relinking import links_of
from compiler_gym.cli.unit_searches import Begun, UnitSearches
from compiler_gym.cli.wrapper_settings import (
    DROP_WEAK_SYMBOLS,
    EVALUATIONS,
    FROZEN,
    LOCK,
    LOG,
    RECORD,
    SOLE,
)
from compiler_gym.tuning.size.compilation import Decisions


class BuildTree:
    """A build whose object files can be replaced.

    Args:
        words: The command of the build.
        lock: A temporary lock file, in the folder of the final one.
        work: A folder for temporary files.
        may_drop_weak: Whether weak symbols that clang's object files export may be missing.

    Attributes:
        units: The units whose object files exist after the build.
        lost: The sources of units whose object files the build has removed or changed.
        made: The files that the build has written.
        linked: The programs and shared libraries that clang's object files make.
    """

    def __init__(self, words: Sequence[str], lock: LockFile, work: Path, may_drop_weak: bool):
        self.units: list[Compiled] = []
        self.lost: list[str] = []
        self.made: list[Path] = []
        self.linked: dict[Path, LinkedFile] = {}
        self.log = work / "log"
        self._words = words
        self._lock = lock
        self._work = work
        self._may_drop_weak = may_drop_weak
        self._copies: Counter[str] = Counter()
        self._placed: dict[Key, Decisions] = {}
        self._links: list[dict[str, Any]] = []

    def compile(self) -> int:
        """Builds without decisions, and records the units. Returns the exit code of the build."""
        notes = self._work / "notes"
        notes.mkdir()
        since = notes.stat().st_mtime_ns  # By the clock of files, which is behind others.
        code = run_build(self._words, self._with_clang(notes))
        read = [json.loads(path.read_text()) for path in sorted(notes.iterdir())]
        recorded = [note for note in read if "key" in note]
        self._links = [note for note in read if "key" not in note]
        for note, place in zip(recorded, find_objects(recorded), strict=True):
            if place is None:
                self.lost.append(note["key"][0])
                continue
            unit = compiled_unit(note, place)
            self.units.append(unit)
            shutil.copyfile(unit.output, self._copy(unit, {}))
        self.units.sort(key=lambda unit: (-unit.code, unit.key, unit.output))
        made = files_since(roots_of({note["folder"] for note in read}), since)
        self.made = [path for path in made if not is_of_probe(os.path.relpath(path))]
        files = elf_files(self.made)
        self.linked = measured(files.linked)
        self._copies = shared_groups(files.objects)
        return code

    def _with_clang(self, notes: Path) -> dict[str, str]:
        """Returns settings for clang's own object files, and notes about them in a folder."""
        return {RECORD: str(notes), LOCK: str(self._lock.path)}

    def why_check_fails_with_clang(self, check: str) -> str:
        """Returns the reason for which a check fails after the build with clang; empty if none."""
        notes = self._work / "check"
        notes.mkdir()
        return why_check_fails(check, self._with_clang(notes))

    def why_check_fails(self, check: str) -> str:
        """Returns the reason for which a check fails; empty if it passes.

        What the check itself compiles is not searched.
        """
        return why_check_fails(check, self._without_search)

    @property
    def _without_search(self) -> dict[str, str]:
        return {LOCK: str(self._lock.path), EVALUATIONS: "0"}

    def linked_now(self) -> dict[Path, LinkedFile]:
        """Returns the linked files as they are now."""
        return measured(self.linked)

    def worse_files(self) -> list[Path]:
        """Returns the linked files that are larger than clang's, or lack exported symbols."""
        return worse_files(self.linked, self.linked_now(), self._may_drop_weak)

    def relinked(self, files: Sequence[Path]) -> Callable[[Mapping[Key, Decisions]], bool] | None:
        """Returns what links files again, and says whether none of them is worse than clang's.

        It takes object files that were made before, and compiles nothing. Where one is missing, or
        linking fails, it says no. None if it is not known how the build has linked one of them.

        Args:
            files: The linked files, which have the placed object files.
        """
        folder = self._work / "members"
        folder.mkdir(exist_ok=True)
        objects = [unit.output for unit in self.units]
        links = links_of(files, self._links, objects, folder)
        if links is None:
            return None

        def are_no_worse(decisions: Mapping[Key, Decisions]) -> bool:
            copies = {
                unit.output: self._copy(unit, decisions.get(unit.key, {})) for unit in self.units
            }
            if not all(path.exists() for path in copies.values()):
                return False
            for path, link in links.items():
                size = link.size(copies)
                if size is None or size.is_worse(self.linked[path], self._may_drop_weak):
                    return False
            return True

        return are_no_worse

    def search(
        self, searches: UnitSearches, seconds: float | None, watch: Callable[[Begun], None]
    ) -> None:
        """Searches all units.

        Args:
            searches: The searches.
            seconds: The time limit of all searches together; None for none.
            watch: Called when the search of a unit begins.
        """
        searches.run(self._start_search, self._work, seconds, watch)
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
        return run_build(self._words, self._without_search)

    def entries(self) -> list[Entry]:
        """Returns the lock entries of the placed units."""
        entries = self._lock.read()
        for unit in self.units:
            if unit.key not in entries:
                continue
            entry = entries[unit.key]
            if entry.left_out or not entry.decisions:
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

    def _start_search(
        self, unit: Compiled, variables: Mapping[str, str]
    ) -> AbstractContextManager[subprocess.Popen[bytes]]:
        sole = sorted(name for name in unit.shared if self._copies[name] == 1)
        path = self._copy(unit, {}).with_suffix(".sole")
        path.write_text("\n".join(sole))
        settings = {SOLE: str(path), DROP_WEAK_SYMBOLS: "1" if self._may_drop_weak else "0"}
        return self._start(unit, {**settings, **variables})

    def _start(
        self, unit: Compiled, variables: Mapping[str, str]
    ) -> AbstractContextManager[subprocess.Popen[bytes]]:
        common = {LOCK: str(self._lock.path), LOG: str(self.log)}
        return started(unit.command, unit.environment, {**common, **variables}, unit.folder)
