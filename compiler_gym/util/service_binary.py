"""Paths of the compiler services' executables."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported

_PACKAGE_DIRECTORY = Path(__file__).absolute().parents[1]

# Packages that pip installs with an extra, by their Bazel package.
_COMPANIONS = {"mlir_service": "compiler_gym_mlir"}
_SHARED_SERVICE = "compiler_gym-llvm-service-shared"


def find_service_binary(name: str, package: str = "llvm_service") -> Path:
    """Finds the executable of a compiler service.

    Looks, in order, in companions of the installed package such as ``compiler_gym_mlir``, in the
    package itself, among the runfiles of Bazel, and in what Bazel has
    built in a source tree.

    Args:
        name: The file name of the executable, e.g. ``"compiler_gym-llvm-service"``.
        package: The Bazel package that builds it, i.e. its directory in the source tree.

    Returns:
        The path of the executable.

    Raises:
        EnvironmentNotSupported: It does not exist in these places.
    """
    candidates = list(_candidates(name, package))
    for path in candidates:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    install = f"pip install {_requirement(name, package)}"
    if _is_installed():
        raise EnvironmentNotSupported(f'{name} is not installed; try "{install}"')
    # The service is the main target of its package.
    target = f"//{package}" if package == "llvm_service" else f"//{package}:{name}"
    places = ", ".join(str(path) for path in candidates)
    raise EnvironmentNotSupported(
        f"The compiler service {name} has not been built. Run `bazel build {target}` in the "
        f'source tree of CompilerGym, or install it with "{install}". Looked for {places}'
    )


def _is_installed() -> bool:
    """Returns whether this package comes from a wheel, rather than from a source tree."""
    root = _PACKAGE_DIRECTORY.parent
    return (_PACKAGE_DIRECTORY / "_service").is_dir() and not (root / "WORKSPACE").is_file()


def _requirement(name: str, package: str) -> str:
    """Returns what pip has to install to get the executable of a service."""
    if name == _SHARED_SERVICE:
        return "'compiler_gym[clang]'"
    if package in _COMPANIONS:
        return "'compiler_gym[mlir]'"
    return "--force-reinstall compiler_gym"


def find_service_file(name: str, package: str = "llvm_service") -> Path | None:
    """Finds a file that the build puts beside the executable of a service, or returns None.

    Args:
        name: The name of the file.
        package: Same as in :func:`find_service_binary`.
    """
    return next((path for path in _candidates(name, package) if path.is_file()), None)


def _candidates(name: str, package: str) -> Iterator[Path]:
    root = _PACKAGE_DIRECTORY.parent
    companion = _COMPANIONS.get(package)
    if companion and (found := find_spec(companion)) and found.submodule_search_locations:
        yield Path(found.submodule_search_locations[0]) / name
    yield _PACKAGE_DIRECTORY / "_service" / name
    yield root / package / name  # Runfiles have the layout of the source tree.
    yield root / "bazel-bin" / package / name
