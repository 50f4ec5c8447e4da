"""The compiler that the tests of a module share, and workbenches."""

import pytest

from compiler_gym.agents.compiler import Compiler
from compiler_gym.agents.limits import Limits
from compiler_gym.agents.problems import AgentError
from compiler_gym.agents.workbench import Workbench

LIMITS = Limits(run_seconds=20, answer_characters=2_000, branches=3, sequences=4)


@pytest.fixture(scope="session")
def compiler():
    compiler = Compiler(LIMITS)
    yield compiler
    compiler.close()


@pytest.fixture
def make_bench(compiler):
    """Makes workbenches, which are closed after the test."""
    benches = []

    def make(**arguments):
        benches.append(Workbench(compiler, LIMITS, **arguments))
        return benches[-1]

    yield make
    for bench in benches:
        bench.close()


@pytest.fixture
def bench(make_bench):
    """A workbench with the program sha256."""
    bench = make_bench()
    bench.open_program("sha256")
    return bench


@pytest.fixture
def fails():
    """Calls a tool that is to fail, and returns what it says."""

    def call(tool, *args, **arguments):
        with pytest.raises(AgentError) as caught:
            tool(*args, **arguments)
        return str(caught.value)

    return call
