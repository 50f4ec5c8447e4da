import pytest

from benchmarks.programs import PROGRAMS
from compiler_gym.util.runfiles_path import find_service_binary


@pytest.fixture(scope="session", autouse=True)
def site_data(tmp_path_factory):
    """Keeps what is made out of the user's folders."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPILER_GYM_SITE_DATA", str(folder / "data"))
        patch.setenv("COMPILER_GYM_CACHE", str(folder / "cache"))
        yield


@pytest.fixture(scope="session")
def small_program(tmp_path_factory):
    """The bitcode file of the smallest program."""
    return PROGRAMS[200].make(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="session")
def replay_binary():
    return find_service_binary("Replay", package="benchmarks/llvm_service")


@pytest.fixture(scope="session")
def service_binary():
    return find_service_binary("compiler_gym-llvm-service")
