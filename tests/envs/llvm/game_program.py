"""A small program that makes LLVM decide much: it has many calls, and too few registers."""

from functools import cache
from pathlib import Path

import compiler_gym
from compiler_gym.datasets import Benchmark

SOURCE = Path(__file__).absolute().with_name("mixing.c")


@cache
def game_program() -> Benchmark:
    return compiler_gym.benchmark(SOURCE, "./a.out")
