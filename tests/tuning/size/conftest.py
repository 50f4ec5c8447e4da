"""A program of a few functions, and what compiles it."""

import contextlib
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.trial_linking import trial_linker
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

static unsigned twice(unsigned a) { return mix(a, a + 1) ^ mix(a + 2, a); }

unsigned fold(const unsigned *values, int count) {
  unsigned sum = 0;
  for (int i = 0; i < count; i++) {
    sum += twice(values[i]);
    if (sum % 3 == 0) sum = mix(sum, values[i]);
  }
  return sum;
}

int main(void) {
  unsigned values[40];
  for (int i = 0; i < 40; i++) values[i] = mix(i, 7 * i);
  printf("%u\n", fold(values, 40) + mix(1, 2));
  return 0;
}
"""


@pytest.fixture(scope="session", name="cache")
def fixture_cache(tmp_path_factory):
    """A place for what is learned: one for all tests, as clang is started anew for each other."""
    path = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("COMPILER_GYM_CACHE", str(path))
        yield path


@pytest.fixture(autouse=True)
def empty_cache(cache):
    yield
    shutil.rmtree(cache)
    cache.mkdir()


@pytest.fixture(name="source")
def fixture_source(tmp_path):
    path = tmp_path / "program.c"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(name="compilation")
def fixture_compilation(source):
    return Compilation(llvm_tools.clang_path(), source, plugin=llvm_tools.own_passes_path())


@pytest.fixture(name="compiled")
def fixture_compiled(tmp_path):
    """Compiles a text for size, by default, and returns the object file."""

    def compiled(text, *options, name="source.c"):
        source = tmp_path / name
        source.write_text(text)
        clang = llvm_tools.tool_path("clang++" if source.suffix == ".cc" else "clang")
        output = source.with_suffix(".o")
        subprocess.run([clang, "-Oz", "-w", *options, "-c", source, "-o", output], check=True)
        return output

    return compiled


def searched(evaluator, *arguments, **options):
    """Returns a search that has ended."""
    search = Optimizer(evaluator, *arguments, **options)
    search.start()
    search.run()
    return search


@pytest.fixture(name="start")
def fixture_start(tmp_path):
    """Starts an evaluator, which is ended after the test."""
    with contextlib.ExitStack() as opened:

        def start(compilation, seconds=math.inf, evaluations=None, jobs=2, objective=None, **more):
            folder = Path(tempfile.mkdtemp(prefix="evaluator-", dir=tmp_path))
            budget, trial = Budget(seconds, evaluations), trial_linker(compilation.options)
            read = (objective or Objective.ALL).read
            evaluator = Evaluator(compilation, folder, budget, jobs, trial=trial, read=read, **more)
            return opened.enter_context(evaluator)

        yield start


@pytest.fixture(name="begin")
def fixture_begin(start):
    """Starts an evaluator, and evaluates its source. Returns both."""

    def begin(*arguments, **more):
        evaluator = start(*arguments, **more)
        return evaluator, evaluator.evaluate_source()

    return begin
