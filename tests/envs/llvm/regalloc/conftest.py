import pytest


@pytest.fixture(scope="session", autouse=True)
def site_data(tmp_path_factory):
    """Keeps tests out of the user's folders."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPILER_GYM_SITE_DATA", str(folder / "data"))
        patch.setenv("COMPILER_GYM_CACHE", str(folder / "cache"))
        yield
