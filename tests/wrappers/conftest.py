import pytest

from compiler_gym.envs.llvm import LlvmEnv, make_benchmark_from_source

LOOP = """
int sum(int n) {
  int result = 0;
  for (int i = 0; i < n; ++i) result += i * i;
  return result;
}
"""


@pytest.fixture(scope="session")
def service():
    with LlvmEnv() as env:
        yield env.service


@pytest.fixture(scope="session")
def program(service):
    return make_benchmark_from_source(LOOP, lang="c")


@pytest.fixture
def env(service):
    """An LLVM environment as users make it; its service is shared to save time."""
    with LlvmEnv(service_connection=service) as env:
        yield env


@pytest.fixture
def small(service, program):
    """An LLVM environment whose benchmark is a small program."""
    with LlvmEnv(service_connection=service, benchmark=program) as env:
        yield env
