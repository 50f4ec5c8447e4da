"""Runs clang with changes, in parallel, and measures the object files."""

import itertools
import json
import math
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.size.compilation import NO_CHANGE, Change, Compilation
from compiler_gym.tuning.size.memory_regions import MemoryUse
from compiler_gym.tuning.size.object_file import ObjectFile, content_digest, read_object
from compiler_gym.tuning.size.safety import Kind
from compiler_gym.tuning.size.trial_linking import LinkedSize, LinkError, TrialLinker
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, commands_of, run_command
from compiler_gym.util.started_programs import run_started
from compiler_gym.util.thread_pool import end_calls, submit

if TYPE_CHECKING:
    from compiler_gym.tuning.size.linking import Linker

# A change may make clang hang. The limit is the same for all sources, and long enough that results
# do not depend on the load.
_LIMIT_SECONDS = 600
_SOURCE_LIMIT_SECONDS = 3600
_LIST_SECONDS = 600


class SymbolsError(ValueError):
    """An object file does not link where clang's object file does.

    It lacks weak symbols that clang's exports, or needs symbols that clang's does not need.
    """


class Budget:
    """The limits of a search: time and evaluations.

    Args:
        seconds: The time limit, which starts now, of the search and the work after it.
        evaluations: The maximum number of runs of clang with changes; None for no limit.
        ends: The shares of the time at which the search and each step after it have to end.

    Attributes:
        used: The evaluations so far.
        is_cut: True if the time limit ended the search. The result is then not reproducible.
        is_enough: True if what was found is small enough, so that the search ends.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        evaluations: int | None = None,
        ends: Sequence[float] = (1.0,),
    ):
        self._start = time.monotonic()
        self._seconds = seconds
        self._ends = ends
        self._evaluations = evaluations
        self.used = 0
        self.is_cut = False
        self.is_enough = False

    @property
    def passed(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self._start

    @property
    def seconds_left(self) -> float:
        """The remaining seconds of the search; not positive if there are none."""
        return self._seconds * self._ends[0] - self.passed

    def after(self, step: int, evaluations: int | None = None) -> "Budget":
        """Returns the budget of a step after the search.

        Args:
            step: The number of the step, from 1. Those without an end of their own have the last.
            evaluations: Its maximum number of runs of clang with changes; None for no limit.
        """
        end = self._ends[min(step, len(self._ends) - 1)]
        return Budget(max(0.0, self._seconds * end - self.passed), evaluations)

    @property
    def is_over(self) -> bool:
        """True if the time or the evaluations are used up, or if no more are needed."""
        if self.evaluations_left(1) == 0:
            return True
        return self.seconds_left <= 0 and self.cut()

    def cut(self) -> bool:
        """Records that the time limit has ended the search. Returns True."""
        self.is_cut = True
        return True

    def evaluations_left(self, wanted: int) -> int:
        """Returns the number of evaluations that are left, at most ``wanted``."""
        if self.is_enough:
            return 0
        return wanted if self._evaluations is None else min(wanted, self._evaluations - self.used)


@dataclass(frozen=True)
class Evaluation:
    """The output of clang with a change.

    Attributes:
        change: The change.
        object: The contents of the object file.
        path: The object file.
        linked: The size of the linked program, or its use of memory; None if it is not linked.
        alone: The size of a program of this object file alone; None if it is not linked alone.
    """

    change: Change
    object: ObjectFile
    path: Path
    linked: LinkedSize | MemoryUse | None = None
    alone: LinkedSize | None = None

    @property
    def loaded(self) -> int:
        """The loaded bytes: of the file linked alone if known, else of its sections."""
        return self.object.all if self.alone is None else self.alone.loaded


@dataclass(frozen=True)
class Remarks:
    """LLVM's remarks about a compilation.

    Attributes:
        text: The remarks.
        object: The object file; None if clang failed.
    """

    text: str = ""
    object: ObjectFile | None = None


def compile_source(compilation: Compilation, path: Path) -> subprocess.CompletedProcess[str]:
    """Compiles a source without a change to an object file. Returns what clang said.

    Raises:
        BenchmarkInitError: If it does not compile. The text says why.
    """
    try:
        return run_command(compilation.command(path), timeout=_SOURCE_LIMIT_SECONDS)
    except CommandError as error:
        source = compilation.source
        raise BenchmarkInitError(f"{source} does not compile. {error.said}") from error
    except subprocess.TimeoutExpired as error:
        source, seconds = compilation.source, error.timeout
        raise BenchmarkInitError(f"{source} does not compile in {seconds:g} s") from error


class Evaluator:
    """Evaluates changes of one compilation. Use it in a ``with`` block, which ends its processes.

    Args:
        compilation: The compilation of the source.
        folder: The folder for object files.
        budget: The budget.
        jobs: The number of compilers at a time. It does not affect the results.
        linker: Links each object file to a program; None if only object files count.
        trial: Links each object file alone; None if only its own sections count.
        read: Reads an object file, like ``Objective.read``.
        unit: The bitcode of the source, if it exists already.
        made: The object file of the source, if it exists already. Its bitcode then has to make the
            same object file.
        slots: Held while clang runs with a change, such as the job slots of make.
        is_refused: Returns true for changes known to be wrong. They are not evaluated.
        may_drop_weak: Whether results may lack weak symbols that clang's object file exports.

    Attributes:
        unit: The bitcode of the source; None if clang compiles it to other code than the source.
        messages: The messages of clang about the source.
        seconds: The time that clang took for the object file of the bitcode, or of the source.
        limits: What changes may do: the limits of the compilation, nothing of x86 for other
            targets, and no options if functions of the source are kept, or have special contents
            such as inline assembly.
        failed: The number of failed evaluations.
        timed_out: The number of those that exceeded the limit of 10 minutes.
        watch: Called with each evaluation, and with None for a failed one.
    """

    def __init__(
        self,
        compilation: Compilation,
        folder: Path,
        budget: Budget,
        jobs: int = 1,
        linker: "Linker | None" = None,
        trial: TrialLinker | None = None,
        read: Callable[[Path], ObjectFile] = read_object,
        unit: Path | None = None,
        made: Path | None = None,
        slots: Callable[[], AbstractContextManager[None]] = nullcontext,
        is_refused: Callable[[Change], bool] = lambda _: False,
        may_drop_weak: bool = False,
    ):
        self.compilation = compilation
        self.limits = compilation.limits
        self.budget = budget
        self.failed = 0
        self.timed_out = 0
        self.unit: Path | None = None
        self.messages = ""
        self.seconds = 0.0
        self.watch: Callable[[Evaluation | None], None] = lambda _: None
        self._linker = linker
        self._trial = trial
        self._read_object = read
        self._given_unit = unit
        self._given_object = made
        self._slots = slots
        self._is_refused = is_refused
        self.may_drop_weak = may_drop_weak
        self._exported: frozenset[str] = frozenset()
        self._needed: frozenset[str] | None = None
        self._kept: tuple[int, ...] = ()
        self._folder = folder
        self._pool = ThreadPoolExecutor(jobs)
        self._stop = threading.Event()
        self._numbers = itertools.count()
        self._known: dict[Change, Evaluation | None] = {}
        self._facts: dict[str, list[dict[str, Any]]] = {}

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown()

    def evaluate_source(self) -> Evaluation:
        """Compiles the source without a change, and to bitcode, on which changes are tried.

        Raises:
            BenchmarkInitError: If the source does not compile. The text says why.
            ValueError: If the object file is not ELF, does not link, or cannot be read otherwise.
            EnvironmentNotSupported: If reading it needs a tool that is not installed.
        """
        path = self._given_object or self._compile_source()
        evaluation = self._read_source(path)
        self.unit = self._make_unit(evaluation.object)
        self._keep_weak(evaluation.object.exported)
        self._needed = evaluation.object.needed
        self._known[NO_CHANGE] = evaluation
        self.limits = replace(self.limits, is_x86=evaluation.object.is_x86)
        self._exclude_options()
        return evaluation

    def _compile_source(self) -> Path:
        path = self._folder / "source.o"
        start = time.monotonic()
        done = compile_source(self.compilation, path)
        self.messages, self.seconds = done.stderr, time.monotonic() - start
        return path

    def _read_source(self, path: Path) -> Evaluation:
        try:
            return self._read(NO_CHANGE, path)
        except LinkError:
            if self._trial is None:
                raise
            # Code of some targets does not link alone, for example if a branch is out of range.
            self._trial = None
            return self._read(NO_CHANGE, path)

    def _make_unit(self, expected: ObjectFile) -> Path | None:
        """Returns the bitcode of the source; None if clang compiles it to other code."""
        unit, result = self._given_unit or self._folder / "unit.bc", self._folder / "unit.o"
        try:
            if self._given_unit is None:
                run_started(self.compilation.unit_command(unit), timeout=_SOURCE_LIMIT_SECONDS)
            command, start = self.compilation.command_of_unit(unit, result), time.monotonic()
            run_started(command, timeout=_SOURCE_LIMIT_SECONDS)
            seconds = time.monotonic() - start
        except subprocess.SubprocessError:
            return None
        if self._given_object is not None:
            is_same = content_digest(result) == content_digest(self._given_object)
        else:
            made = read_object(result)
            is_same = (made.code, made.all) == (expected.code, expected.all)
        if not is_same:
            return None
        self.seconds = seconds
        return unit

    def _keep_weak(self, exported: frozenset[str]) -> None:
        """Keeps the weak symbols that clang's object file exports."""
        if self.may_drop_weak or not exported:
            return
        self._exported = exported
        if self.unit is not None and self.compilation.plugin is not None:
            listed = self.facts("list-weak")
            self._kept = tuple(each["index"] for each in listed if each["name"] in exported)

    def command(self, change: Change, output: Path) -> list[str]:
        """Returns the command for a change."""
        if self.unit is None:
            return self.compilation.command(output, change)
        return self.compilation.command_of_unit(self.unit, output, change)

    def facts(self, name: str) -> list[dict[str, Any]]:
        """Returns the output of a pass of the plugin for the bitcode; empty if ``opt`` fails.

        Args:
            name: The pass, which prints lines of JSON.
        """
        if name not in self._facts:
            self._facts[name] = self._read_facts(name)
        return self._facts[name]

    def _read_facts(self, name: str) -> list[dict[str, Any]]:
        load = f"-load-pass-plugin={self.compilation.plugin}"
        passes = ",".join([*self.limits.first_passes(), name])
        command = [str(llvm_tools.opt_path()), load, f"-passes={passes}", "-disable-output"]
        try:
            lines = run_started([*command, str(self.unit)], _LIST_SECONDS).stdout.splitlines()
        except subprocess.SubprocessError:
            return []
        return [*map(json.loads, lines)]

    def _exclude_options(self) -> None:
        """Excludes options, which apply to all functions, if some have to stay as they are."""
        has_plugin = self.unit is not None and self.compilation.plugin is not None
        functions = self.facts("list-functions") if has_plugin else []
        if any(each["kept"] or each["special"] for each in functions):
            without = (*self.limits.without, Kind.OPTIONS)
            self.limits = replace(self.limits, without=without)

    def remarks(self, change: Change) -> Remarks:
        """Returns LLVM's remarks about inlining with a change; none if clang fails."""
        path = self._folder / "remarks.o"
        command = self.command(self.limited(change), path)
        options = ["-Rpass=inline", "-Rpass-missed=inline"]
        limit = min(_LIMIT_SECONDS, self.budget.seconds_left)
        try:
            done = run_started([*command, *options], timeout=max(0, limit))
            return Remarks(done.stderr, read_object(path))
        except (subprocess.SubprocessError, ValueError):
            return Remarks()

    def evaluate(self, changes: Sequence[Change]) -> list[Evaluation]:
        """Evaluates changes within the budget, without what the limits exclude.

        Returns:
            The successful evaluations, in order. clang may refuse a change, crash or take too long.

        Raises:
            KeyboardInterrupt: After Ctrl-C. No process is left running.
        """
        changes = [self.limited(each) for each in changes]
        unknown = (each for each in dict.fromkeys(changes) if each not in self._known)
        new = [each for each in unknown if not self._is_refused(each)]
        new = new[: self.budget.evaluations_left(len(new))]
        futures = [submit(self._pool, self._evaluate, each, self._next_path()) for each in new]
        try:
            for change, future in zip(new, futures, strict=True):
                evaluation, is_made = future.result()
                if is_made:
                    self._known[change] = evaluation
                    self.budget.used += 1
                    self.failed += evaluation is None
                    self.watch(evaluation)
        except BaseException:
            self._stop.set()
            end_calls(futures, self)
            raise
        found = (self._known.get(each) for each in changes)
        return [each for each in found if each is not None]

    def limited(self, change: Change) -> Change:
        """Returns a change without what the limits exclude, as :meth:`evaluate` tries it."""
        return replace(change.within(self.limits), kept=self._kept)

    @contextmanager
    def outside_budget(self, budget: Budget) -> Iterator[None]:
        """Uses another budget in the ``with`` block. ``watch`` is not called there."""
        own, watch = self.budget, self.watch
        self.budget, self.watch = budget, lambda _: None
        try:
            yield
        finally:
            self.budget, self.watch = own, watch

    def discard(self, evaluation: Evaluation) -> None:
        """Removes the object file of an evaluation."""
        evaluation.path.unlink(missing_ok=True)

    def restore(self, evaluation: Evaluation) -> None:
        """Recreates the object file of an evaluation if it was removed."""
        if not evaluation.path.is_file():
            command = self.command(evaluation.change, evaluation.path)
            run_started(command, timeout=_SOURCE_LIMIT_SECONDS)

    def _read(self, change: Change, path: Path) -> Evaluation:
        """Reads the result of clang.

        Raises:
            SymbolsError: If weak symbols are missing that have to stay, or symbols are needed that
                clang's object file does not need: optimisation has not removed a call that has to
                go, to a function that nobody defines.
            ValueError: If it cannot be read.
        """
        found = self._read_object(path)
        if not found.exported >= self._exported:
            raise SymbolsError("expected the weak symbols of clang's object file, got fewer")
        if self._needed is not None and not found.needed <= self._needed:
            raise SymbolsError("expected to need the symbols of clang's object file, got more")
        linked = self._linker.measure(path) if self._linker else None
        alone = self._trial.size(path) if self._trial else None
        return Evaluation(change, found, path, linked, alone)

    def _next_path(self) -> Path:
        return self._folder / f"{next(self._numbers)}.o"

    def _evaluate(self, change: Change, path: Path) -> tuple[Evaluation | None, bool]:
        """Evaluates a change. Also returns false if there was no time."""
        left = self.budget.seconds_left
        if self._stop.is_set():
            return None, False
        if left <= 0:
            return None, not self.budget.cut()
        try:
            with commands_of(self), self._slots():
                run_started(self.command(change, path), timeout=min(_LIMIT_SECONDS, left))
                return self._read(change, path), True
        except subprocess.TimeoutExpired:
            path.unlink(missing_ok=True)
            if left < _LIMIT_SECONDS:
                return None, not self.budget.cut()
            self.timed_out += 1
            return None, True
        except (CommandError, ValueError):
            path.unlink(missing_ok=True)
            return None, True
