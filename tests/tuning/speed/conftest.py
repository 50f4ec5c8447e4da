"""A program of a few functions, and what compiles it."""

import contextlib

import pytest

from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.util import llvm_tools

PROGRAM = r"""
#include <stdio.h>

static unsigned mix(unsigned a, unsigned b) {
  for (int i = 0; i < 5; i++) {
    a = (a ^ (b >> i)) * 2654435761u;
    b = (b << 7 | b >> 25) + a;
  }
  return a ^ b;
}

int main(void) {
  unsigned sum = 0;
  for (int i = 0; i < 4000; i++) sum += mix(i, 7 * i) ^ mix(sum, i);
  printf("%u\n", sum);
  return 0;
}
"""


@pytest.fixture(name="source")
def fixture_source(tmp_path):
    path = tmp_path / "program.c"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(name="compilation")
def fixture_compilation(source):
    return Compilation(llvm_tools.clang_path(), source, ("-O3",), llvm_tools.own_passes_path())


@pytest.fixture(name="start")
def fixture_start(tmp_path_factory, compilation):
    """Starts an evaluator, which is ended after the test."""
    with contextlib.ExitStack() as opened:

        def start(evaluations, seconds=1000.0):
            folder, budget = tmp_path_factory.mktemp("evaluator"), Budget(seconds, evaluations)
            return opened.enter_context(Evaluator(compilation, folder, budget, jobs=2))

        yield start
