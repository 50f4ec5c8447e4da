"""The part of an environment's interface that benchmarks use."""

from pathlib import Path
from typing import Protocol

from compiler_gym.datasets import Benchmark


class ProgramEnv(Protocol):
    """An environment whose program can be built and validated; ``LlvmEnv`` is one."""

    @property
    def benchmark(self) -> Benchmark | None:
        """The benchmark of the episode."""

    def write_input(self, path: Path) -> Path:
        """Writes the program that ``commandline()`` starts from to a file, and returns its path."""

    def commandline(self) -> str:
        """Returns the command line of ``opt`` that is equivalent to the actions of the episode."""

    def write_bitcode(self, path: Path) -> Path:
        """Writes the current program to a file, and returns its path."""
