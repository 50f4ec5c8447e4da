import pytest

from compiler_gym.envs.llvm import LlvmEnv, make_benchmark


@pytest.fixture(scope="session", autouse=True)
def site_data(tmp_path_factory):
    """Keeps tests out of the user's folders, and the user's vocabularies out of tests."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COMPILER_GYM_IR2VEC_VOCABULARY", raising=False)
        patch.setenv("COMPILER_GYM_SITE_DATA", str(folder / "data"))
        patch.setenv("COMPILER_GYM_CACHE", str(folder / "cache"))
        patch.delenv("COMPILER_GYM_INST2VEC_VOCABULARY", raising=False)
        yield folder


@pytest.fixture(scope="session")
def shared_env(site_data):
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
