"""Functions of former releases that managed datasets, kept for programs that call them."""

import warnings
from typing import Protocol

from compiler_gym.datasets.dataset import Dataset
from compiler_gym.datasets.datasets import Datasets


class EnvWithDatasets(Protocol):
    """The part of an environment's interface that these functions use."""

    @property
    def datasets(self) -> Datasets:
        """The datasets to choose benchmarks from."""


def activate(env: EnvWithDatasets, dataset: str | Dataset) -> bool:
    """Does nothing, because all datasets are active. Returns False for "no change"."""
    _warn("activate", "nothing in its place")
    return False


def deactivate(env: EnvWithDatasets, dataset: str | Dataset) -> bool:
    """Does nothing, because datasets cannot be deactivated. Returns False for "no change"."""
    _warn("deactivate", "env.datasets.remove()")
    return False


def delete(env: EnvWithDatasets, dataset: str | Dataset) -> bool:
    """Deletes the files of a dataset. Returns true if it had any."""
    _warn("delete", "env.datasets.dataset(name).uninstall()")
    found = env.datasets.dataset(dataset)
    had_files = found.has_site_data and found.site_data_path.exists()
    found.uninstall()
    return had_files


def require(env: EnvWithDatasets, dataset: str | Dataset) -> bool:
    """Installs a dataset. Returns true if it was not installed before."""
    _warn("require", "env.datasets.require()")
    was_installed = env.datasets.dataset(dataset).installed
    env.datasets.require(dataset)
    return not was_installed


def _warn(name: str, instead: str) -> None:
    """Warns that a function is deprecated."""
    message = f"compiler_gym.datasets.{name}() is deprecated; use {instead}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
