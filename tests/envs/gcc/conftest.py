import pytest

from tests.envs.gcc.compilers import FakeGcc


@pytest.fixture(scope="session", autouse=True)
def user_folders(tmp_path_factory):
    """Keeps tests out of the user's folders, and from another compiler."""
    folder = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPILER_GYM_SITE_DATA", str(folder / "data"))
        patch.setenv("COMPILER_GYM_CACHE", str(folder / "cache"))
        patch.delenv("CC", raising=False)
        yield


@pytest.fixture
def fake_gcc(tmp_path):
    return FakeGcc(tmp_path / "fake-gcc")
