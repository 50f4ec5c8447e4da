"""The programs of the explorer: built-in ones, and those given as text by its owner or visitors."""

import hashlib
import itertools
import threading
from dataclasses import dataclass, field

from cachetools import LRUCache

from compiler_gym.datasets import Benchmark, BenchmarkSource
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS
from compiler_gym.explorer import messages


@dataclass
class Program:
    """A program of the explorer.

    Attributes:
        message: The facts for the page.
        benchmark: The program, or its URI.
        sources: Its source files, as far as they are known.
    """

    message: messages.Program
    benchmark: Benchmark | str
    sources: list[BenchmarkSource] = field(default_factory=list)

    @property
    def is_built_in(self) -> bool:
        """True if it is one of the package's programs."""
        return str(self.benchmark).startswith(KERNELS)


class Programs:
    """The programs that are known. Those that were used lately are kept, and all of the owner.

    Methods may be called from any thread.

    Args:
        limit: The maximum number of programs besides those of the owner.
    """

    def __init__(self, limit: int):
        self._lock = threading.Lock()
        self._recent: LRUCache[str, Program] = LRUCache(limit)
        self._own: dict[str, Program] = {}  # By URI.

    def find(self, id: str) -> Program | None:
        """Returns the program with an id; None if it is not known, or no longer."""
        with self._lock:
            for program in self._own.values():
                if id == program.message.id:
                    return program
            return self._recent.get(id)

    def add(self, program: Program) -> None:
        """Adds a program, and drops those that have not been used for longest."""
        with self._lock:
            self._recent[program.message.id] = program

    def find_own(self, uri: str) -> Program | None:
        """Returns the owner's program with a URI; None if there is none."""
        with self._lock:
            return self._own.get(uri)

    def find_own_by_name(self, name: str) -> Program | None:
        """Returns the owner's program with a name; None if there is none."""
        with self._lock:
            programs = (each for each in self._own.values() if each.message.name == name)
            return next(programs, None)

    def add_own(self, uri: str, program: Program) -> Program:
        """Adds a program of the owner. Returns the one that has the URI, which may be another."""
        with self._lock:
            return self._own.setdefault(uri, program)

    def name_for_own(self, uri: str) -> str:
        """Returns a name for a program of the owner that none of the others has."""
        with self._lock:
            taken = {program.message.name for program in self._own.values()}
        name = uri.removeprefix(f"{KERNELS}/").removeprefix("benchmark://")
        if uri.startswith(("file://", "benchmark://file-v0/")):
            name = name.rpartition("/")[2]
        candidates = (name if i == 1 else f"{name}-{i}" for i in itertools.count(1))
        return next(each for each in candidates if each not in taken)

    def forget(self) -> None:
        """Drops all programs but the owner's."""
        with self._lock:
            self._recent.clear()


def id_of_source(source: messages.Source) -> str:
    """Returns the id of a program that is given as text."""
    digest = hashlib.sha256(source.model_dump_json().encode()).hexdigest()[:16]
    return f"source-{digest}"
