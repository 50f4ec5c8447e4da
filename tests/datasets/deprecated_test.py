"""Tests of the functions of former releases in compiler_gym.datasets."""

from types import SimpleNamespace

import pytest

from compiler_gym.datasets import Dataset, Datasets, activate, deactivate, delete, require


class Installable(Dataset):
    @property
    def installed(self):
        return self.site_data_path.exists()

    def install(self):
        self.site_data_path.mkdir(parents=True)


@pytest.fixture
def env(tmp_path):
    dataset = Installable("benchmark://x-v0", "", "", site_data_base=tmp_path)
    return SimpleNamespace(datasets=Datasets([dataset]))


def test_require_and_delete(env):
    with pytest.deprecated_call(match="require"):
        assert require(env, "x-v0")
    assert env.datasets["x-v0"].installed
    with pytest.deprecated_call(match="uninstall"):
        assert delete(env, "x-v0")
    assert not env.datasets["x-v0"].installed
    with pytest.deprecated_call():
        assert not delete(env, "x-v0")


@pytest.mark.parametrize("function", [activate, deactivate])
def test_no_change(env, function):
    with pytest.deprecated_call():
        assert not function(env, "x-v0")
    assert "x-v0" in env.datasets
