"""Packages that only some functions need, and the commands that install them."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from compiler_gym.errors import EnvironmentNotSupported

EXTRAS: Mapping[str, str] = {
    "absl": "gym",
    "datasets": "huggingface",
    "fastapi": "explorer",
    "fastmcp": "mcp",
    "openenv": "openenv",
    "pyarrow": "ray",
    "ray": "ray",
    "scipy": "statistics",
    "stable_baselines3": "sb3",
    "submitit": "slurm",
    "tabulate": "gym",
    "uvicorn": "explorer",
    "websockets": "explorer",
}
"""The extra of this package that installs a package, by the name of the module."""


def advice(name: str) -> str:
    """Returns that a package is not installed, with the command that installs it."""
    wanted = f"'compiler_gym[{EXTRAS[name]}]'" if name in EXTRAS else name.replace("_", "-")
    return f'{name} is not installed; try "pip install {wanted}"'


def require(name: str, kind: type[Exception] = EnvironmentNotSupported) -> Any:
    """Imports a module of a package that need not be installed.

    Args:
        name: The name of the module, such as ``"pyarrow.parquet"``.
        kind: The class of the error.

    Raises:
        Exception: If the package is not installed: an error of ``kind``, with the command that
            installs it.
    """
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ImportError as error:
        if (error.name or package).partition(".")[0] != package:
            raise  # The package is there, and lacks another one.
        raise kind(advice(package)) from error
