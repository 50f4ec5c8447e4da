import pytest

from compiler_gym.envs.llvm import LlvmEnv, make_benchmark


@pytest.fixture(scope="session")
def shared_env():
    with LlvmEnv() as env:
        yield env


@pytest.fixture
def env(shared_env):
    """An environment as new, except that its service is used by all tests of the file."""
    fresh = LlvmEnv(service_connection=shared_env.service)
    yield fresh
    fresh.close()


@pytest.fixture
def small(tmp_path):
    """A small program of a user."""
    path = tmp_path / "small.c"
    path.write_text(
        "static int square(int x) { return x * x; }\n"
        "int main(int argc, char **argv) {\n"
        "  int sum = 0;\n"
        "  for (int i = 0; i < argc + 3; i++) sum += square(i);\n"
        "  return sum & 1;\n"
        "}\n"
    )
    return make_benchmark(path)
