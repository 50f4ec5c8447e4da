"""The two kinds of work of a mine, as tasks of a pool: scans of programs, and reductions."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from compiler_gym.distributed.pool import Pool
from compiler_gym.distributed.task import Job, digest_of, name_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.mine.decisions import COMPILE_SECONDS, Tools
from compiler_gym.mine.miner import Mine
from compiler_gym.mine.programs import Program
from compiler_gym.mine.work import (
    Candidate,
    Reduction,
    Scanned,
    Settings,
    reduce_function,
    scan_unit,
)
from compiler_gym.util import llvm_tools as tools

_FORMAT = 1
_UNIT = "unit.bc"


def task_seconds(settings: Settings) -> float:
    """Returns the longest time that a task may take."""
    return COMPILE_SECONDS * (len(settings.decisions) + 1) + settings.reduce_seconds


@dataclass(frozen=True)
class ScanTask:
    """The measurement of all decisions on a program.

    Attributes:
        program: Its name.
        key: A digest of its bitcode and of the settings.
        unit: The digest of its bitcode, which is data of the job.
        settings: The settings of the mine. Nodes use the LLVM that they find.
    """

    program: str
    key: str
    unit: str
    settings: Settings

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        return name_of({"scan": _FORMAT, "key": self.key})

    def run(self, worker: Worker) -> Scanned:
        """Measures.

        Raises:
            EnvironmentNotSupported: If the node has no clang or ``opt``.
            ValueError: If the node has another LLVM, or the program does not compile.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-mine-") as name:
            unit = Path(name) / _UNIT
            unit.write_bytes(worker.blob(self.unit))
            return scan_unit(self.program, self.key, unit, _on_this_node(self.settings))


@dataclass(frozen=True)
class ReduceTask:
    """The reduction of a function that a decision makes smaller.

    Attributes:
        candidate: The function. The effects of its program are left out.
        unit: The digest of the program's bitcode, which is data of the job.
        settings: The settings of the mine. Nodes use the LLVM that they find.
    """

    candidate: Candidate
    unit: str
    settings: Settings

    @cached_property
    def name(self) -> str:
        """The hash of the content, of 32 hexadecimal digits."""
        return name_of({"reduction": _FORMAT, "candidate": self.candidate.key})

    def run(self, worker: Worker) -> Reduction:
        """Reduces.

        Raises:
            EnvironmentNotSupported: If the node has no clang, ``opt`` or ``llvm-reduce``.
            ValueError: If the node has another LLVM.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-mine-") as name:
            unit = Path(name) / _UNIT
            unit.write_bytes(worker.blob(self.unit))
            function, decision = self.candidate.saving.function, self.candidate.decision
            return reduce_function(
                unit, function, decision, _on_this_node(self.settings), Path(name)
            )


def mine_on_pool(mine: Mine, pool: Pool, programs: Sequence[Program]) -> None:
    """Mines on the workers of a pool: see :meth:`Mine.run`.

    This process compiles the programs to bitcode, removes duplicates, tries other versions of LLVM,
    and writes the folder.

    Args:
        mine: The mine.
        pool: The pool.
        programs: The programs.

    Raises:
        KeyboardInterrupt: After Ctrl-C.
        PoolError: If there are no workers.
        OSError: If another process uses the folder, or it cannot be written.
    """
    # Nodes find their own tools. Versions are tried here.
    settings = replace(mine.settings, versions=dict.fromkeys(mine.settings.versions, Tools()))
    with mine.opened() as folder:

        def scans() -> Iterator[Job]:
            for program in programs:
                unit = None
                with mine.reporting(program.name):
                    unit = mine.stage(program, folder)
                if unit is not None:
                    data = unit.path.read_bytes()
                    digest = digest_of(data)
                    task = ScanTask(unit.program, unit.key, digest, settings)
                    yield Job(task, {digest: data})

        for outcome in pool.run(scans()):
            assert isinstance(outcome.task, ScanTask)
            if outcome.error is None:
                mine.keep(outcome.value)
            else:
                mine.fail(outcome.task.program, outcome.error)

        def reductions() -> Iterator[Job]:
            for candidate in mine.candidates():
                if mine.is_left(candidate):
                    data = mine.unit_of(candidate).read_bytes()
                    digest = digest_of(data)
                    bare = replace(candidate, scanned=replace(candidate.scanned, effects=()))
                    yield Job(ReduceTask(bare, digest, settings), {digest: data})

        for outcome in pool.run(reductions()):
            assert isinstance(outcome.task, ReduceTask)
            candidate = outcome.task.candidate
            if outcome.error is not None:
                mine.fail(candidate.title, outcome.error)
                continue
            with mine.reporting(candidate.title):
                mine.adopt(candidate, outcome.value, Path(tempfile.mkdtemp(dir=folder)))


def _on_this_node(settings: Settings) -> Settings:
    """Returns the settings with the LLVM of this machine.

    Raises:
        ValueError: If it has another version than the mine.
    """
    settings.objective.check_machine()
    clang = tools.clang_path()
    version, expected = tools.tool_version(clang), next(iter(settings.versions))
    if expected.removeprefix("LLVM ") not in version:
        raise ValueError(f"expected {expected} on every node, found {version}; try to install it")
    own = Tools.of(clang, tools.opt_path(), settings.objective.level)
    return replace(settings, tools=own)
