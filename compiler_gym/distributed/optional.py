"""Import of the packages that only many machines need."""

from importlib import import_module
from typing import Any

from compiler_gym.errors import EnvironmentNotSupported


def require(name: str) -> Any:
    """Imports a package of the extra ``ray``.

    Raises:
        EnvironmentNotSupported: If it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name.partition(".")[0]:
            raise
        raise EnvironmentNotSupported(
            f"{name} is not installed; install compiler_gym[ray]: pip install 'compiler_gym[ray]'"
        ) from error
