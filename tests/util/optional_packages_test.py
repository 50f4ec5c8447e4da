"""Packages that need not be installed."""

import sys

import pytest

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util.optional_packages import require


def test_package_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EnvironmentNotSupported) as error:
        require("pyarrow.parquet")
    assert str(error.value) == "pyarrow is not installed; try \"pip install 'compiler_gym[ray]'\""
    with pytest.raises(ValueError, match='; try "pip install no-such-one"'):
        require("no_such_one", ValueError)


def test_package_that_lacks_another(tmp_path, monkeypatch):
    (tmp_path / "submitit.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "submitit", raising=False)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        require("submitit")
