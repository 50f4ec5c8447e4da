import pytest

from tests.envs.gcc.compilers import FakeGcc


@pytest.fixture
def fake_gcc(tmp_path):
    return FakeGcc(tmp_path / "fake-gcc")
