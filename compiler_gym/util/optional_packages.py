"""Packages that only some functions need, and the commands that install them."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from compiler_gym.errors import EnvironmentNotSupported

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "gym": ("gym", "absl", "tabulate"),
    "sb3": ("stable_baselines3",),
    "ray": ("ray", "pyarrow"),
    "pyg": ("torch_geometric", "torch"),
    "rllib": ("ray", "torch"),
    "slurm": ("submitit",),
    "learning": ("jax", "optax", "sklearn"),
    "search": ("nevergrad", "optuna"),
    "statistics": ("scipy",),
    "huggingface": ("datasets",),
    "minari": ("minari", "h5py", "PIL"),
    "explorer": ("fastapi", "uvicorn", "websockets"),
    "openenv": ("openenv",),
    "mcp": ("fastmcp",),
}
"""The packages that an extra of this package installs, by the names of their modules.

``compiler-gym doctor`` shows the version of the first of each.
"""


def advice(name: str) -> str:
    """Returns that a package is not installed, with the command that installs it."""
    extra = next((extra for extra, names in EXTRAS.items() if name in names), None)
    wanted = name.replace("_", "-") if extra is None else f"'compiler_gym[{extra}]'"
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
