"""``compiler-gym optimize compile_commands.json``: the object files of a whole project."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler_gym.cli.console import print_json, print_line, print_table
from compiler_gym.cli.optimize_program import Settings
from compiler_gym.cli.pool_options import PoolProgress, command_pool
from compiler_gym.distributed.pool import Limits
from compiler_gym.distributed.task import Job, Outcome, digest_of
from compiler_gym.tuning.size.compilation import (
    NO_CHANGE,
    Change,
    Compilation,
    check_options,
    has_level,
    options_of_bitcode,
)
from compiler_gym.tuning.size.compile_commands import (
    LeftSource,
    Project,
    ProjectSource,
    read_compile_commands,
)
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.tasks import Optimization, Optimized
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, run_command
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.held_interrupts import hold_interrupts
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.shell_format import join_cmd, plural
from compiler_gym.util.statistics import geometric_mean

_SECONDS = 600
_LONGEST_SEARCH_SECONDS = 24 * 3600.0
_MAX_ROWS = 20


@dataclass(frozen=True)
class _Made:
    """The object file of a source."""

    source: ProjectSource
    target: Path
    found: Optimized
    command: Sequence[str]
    is_repeated: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "source": str(self.source.folder / self.source.source),
            "object": str(self.target),
            "before": self.found.before,
            "after": self.found.after,
            "evaluations": self.found.evaluations,
            "ended_by_time_limit": self.found.is_cut,
            "folder": str(self.source.folder),
            "command": [*self.command],
            "command_repeats": self.is_repeated,
        }


@dataclass(frozen=True)
class _Failed:
    """A source without an object file.

    Attributes:
        name: The name in messages.
        source: The path.
        error: The reason.
    """

    name: str
    source: str
    error: str

    def as_json(self) -> dict[str, Any]:
        return {"source": self.source, "object": None, "error": self.error}


class _Search:
    """Makes the object files of a project.

    Args:
        settings: The settings of all sources.
        folder: The folder of the object files.
    """

    def __init__(self, settings: Settings, folder: Path):
        self._settings = settings
        self._objective = settings.objective or Objective.ALL
        self._folder = folder.absolute()
        self._sources: dict[str, list[ProjectSource]] = {}
        self.made: list[_Made] = []
        self.failed: list[_Failed] = []
        self.left: list[LeftSource] = []

    def jobs(self, project: Project) -> Iterator[Job]:
        """Yields the search of each source that can be preprocessed. Equal searches are one."""
        for each in project.left:
            if each.is_failure:
                self._add_failure(_Failed(each.source, each.source, each.why))
            else:
                self.left.append(each)
        for source in project.sources:
            try:
                job = self._job(source)
            except (subprocess.SubprocessError, OSError, ValueError) as error:
                self._fail(source, _reason_of(error))
                continue
            same = self._sources.setdefault(job.task.name, [])
            same.append(source)
            if len(same) == 1:
                yield job

    def _compilation(self, source: ProjectSource) -> Compilation:
        wanted = self._settings.options
        options = (*wanted, *source.options) if has_level(wanted) else (*source.options, *wanted)
        return Compilation(
            llvm_tools.clang_path(),
            Path(source.source),
            (*options, "-w"),
            llvm_tools.own_passes_path(),
            self._settings.limits,
        )

    def _job(self, source: ProjectSource) -> Job:
        compilation = self._compilation(source)
        check_options(compilation.options)
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            text = Path(name) / ("source.ii" if source.is_cxx else "source.i")
            run_command([*compilation.command(text), "-E"], _SECONDS, cwd=source.folder)
            data = text.read_bytes()
        limits = self._settings.limits
        task = Optimization(
            text.name,
            digest_of(data),
            tuple(options_of_bitcode(compilation.options)),  # Preprocessed text needs no others.
            self._objective,
            self._settings.seconds,
            0 if limits.excludes(source.folder / source.source) else self._settings.evaluations,
            self._settings.with_experimental,
            self._settings.may_drop_weak,
            limits,
        )
        return Job(task, {task.text: data})

    def take(self, outcome: Outcome) -> int:
        """Writes the object files of a search. Returns how many sources it was for."""
        sources = self._sources.pop(outcome.task.name)
        for source in sources:
            if outcome.error is not None:
                self._fail(source, outcome.error)
                continue
            try:
                self.made.append(self._write(source, outcome.value))
            except (subprocess.SubprocessError, OSError, ValueError) as error:
                self._fail(source, _reason_of(error))
        return len(sources)

    def _fail(self, source: ProjectSource, error: str) -> None:
        path = str(source.folder / source.source)
        self._add_failure(_Failed(source.source, path, error))

    def _add_failure(self, failed: _Failed) -> None:
        self.failed.append(failed)
        print(f"{failed.name}: {failed.error}", file=sys.stderr)

    def _write(self, source: ProjectSource, found: Optimized) -> _Made:
        """Compiles a source with the change that was found for its preprocessed text."""
        target = self._folder / source.output
        target.parent.mkdir(parents=True, exist_ok=True)
        compilation = self._compilation(source)
        made = self._compile(source, compilation, found.change, target)
        is_repeated = made.digest == found.digest
        if not is_repeated and found.change != NO_CHANGE:
            changed = self._objective.size_of_sections(made)
            plain = self._compile(source, compilation, NO_CHANGE, target)
            if changed < self._objective.size_of_sections(plain):
                self._compile(source, compilation, found.change, target)
        return _Made(source, target, found, compilation.command(target, found.change), is_repeated)

    def _compile(
        self, source: ProjectSource, compilation: Compilation, change: Change, target: Path
    ) -> ObjectFile:
        with atomic_file_write(target) as path:
            run_command(compilation.command(path, change), _SECONDS, cwd=source.folder)
            return self._objective.read(path)


def _reason_of(error: Exception) -> str:
    """Returns why there is no object file, without commands, which name temporary files."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it takes more than {error.timeout:g} s"
    return error.said if isinstance(error, CommandError) else str(error)


def optimize_project(
    path: Path, output: Path, settings: Settings, ray: str | None, as_json: bool
) -> int:
    """Makes the object files of a project smaller.

    Args:
        path: The file ``compile_commands.json``.
        output: The folder of the object files, which has the folders of the build.
        settings: The settings of all sources. ``jobs`` is the number of sources at a time.
        ray: The address of a Ray cluster; None for processes of this machine.
        as_json: Whether to print JSON.

    Returns:
        The exit code: 1 if a source has no object file, 130 after Ctrl-C.

    Raises:
        ValueError: If the file has another format.
        OSError: If it cannot be read.
        PoolError: If there are no workers.
    """
    project = read_compile_commands(path)
    count = len(project.sources) + sum(each.is_failure for each in project.left)
    search = _Search(settings, output)
    longest = min(settings.seconds, _LONGEST_SEARCH_SECONDS) + _SECONDS
    limits = Limits(workers=None if ray else settings.jobs, task_seconds=longest)
    is_finished = True
    with (
        command_pool(ray, limits) as pool,
        PoolProgress(pool, len(project.sources), "sources").shown() as progress,
    ):
        try:
            for outcome in pool.run(search.jobs(project)):
                with hold_interrupts():
                    taken = search.take(outcome)
                for _ in range(taken):
                    progress.advance()
        except KeyboardInterrupt:
            is_finished = False
    if as_json:
        made = [each.as_json() for each in search.made]
        left = [{"source": it.source, "object": None, "left": it.why} for it in search.left]
        print_json([*made, *(each.as_json() for each in search.failed), *left])
    else:
        _print_results(search, settings, count)
    return INTERRUPTED if not is_finished else 1 if search.failed else 0


def _print_results(search: _Search, settings: Settings, count: int) -> None:
    objective = settings.objective or Objective.ALL
    made = sorted(search.made, key=lambda each: each.found.after - each.found.before)
    rows = [
        {
            "object file": str(each.source.output),
            "clang": each.found.before,
            "best": each.found.after,
            "saved": f"{_saved(each.found):.2%}",
            "tries": each.found.evaluations,
        }
        for each in made[:_MAX_ROWS]
    ]
    if rows:
        print_table(rows, f"{objective.unit}, most saved first")
        before = sum(each.found.before for each in made)
        after = sum(each.found.after for each in made)
        mean = geometric_mean(1 - _saved(each.found) for each in made)
        print_line(
            f"\n{len(made)} of {plural(count, 'object file')} made: {after} {objective.unit}, "
            f"where clang makes {before}; {1 - mean:.2%} smaller in the geometric mean."
        )
        others = [each for each in made if not each.is_repeated]
        if others:
            print_line(
                f"Other bytes than the search measured, for example because of absolute paths: "
                f"{plural(len(others), 'object file')}."
            )
        print_line(f"The most saved is made in {made[0].source.folder} by")
        print_line(f"  {join_cmd(made[0].command)}")
    for each in search.failed:
        print_line(f"{each.name} failed: no object file is written for it, see above.")
    if search.left:
        names = ", ".join(each.source for each in search.left)
        print_line(
            f"Left as they are, neither C nor C++: {plural(len(search.left), 'source')}: {names}"
        )
    if rest := count - len(made) - len(search.failed):
        print_line(f"Ctrl-C ended the search: {plural(rest, 'source')} left.")


def _saved(found: Optimized) -> float:
    return 1 - found.after / found.before if found.before else 0.0
