"""Where the programs of compiler services are."""

import os
from collections.abc import Iterator
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported

_PACKAGE_DIRECTORY = Path(__file__).absolute().parents[1]


def find_service_binary(name: str, package: str = "llvm_service") -> Path:
    """Finds the executable of a compiler service.

    Looks, in order, in the installed package, among the runfiles of Bazel, and in what Bazel has
    built in a source tree.

    Args:
        name: The file name of the executable, e.g. ``"compiler_gym-llvm-service"``.
        package: The Bazel package that builds it, i.e. its directory in the source tree.

    Returns:
        The path of the executable.

    Raises:
        EnvironmentNotSupported: It is in none of these places.
    """
    candidates = list(_candidates(name, package))
    for path in candidates:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    # A service is the main target of its package.
    target = f"//{package}" if package == "llvm_service" else f"//{package}:{name}"
    places = ", ".join(str(path) for path in candidates)
    raise EnvironmentNotSupported(
        f"The compiler service {name} has not been built. Run `bazel build {target}` in the "
        f"source tree of CompilerGym, or install a wheel that contains it. Looked for {places}"
    )


def find_service_file(name: str, package: str = "llvm_service") -> Path | None:
    """Finds a file that the build puts beside the executable of a service, or returns None.

    Args:
        name: The name of the file.
        package: As of :func:`find_service_binary`.
    """
    return next((path for path in _candidates(name, package) if path.is_file()), None)


def _candidates(name: str, package: str) -> Iterator[Path]:
    root = _PACKAGE_DIRECTORY.parent
    yield _PACKAGE_DIRECTORY / "_service" / name
    yield root / package / name  # Bazel lays out runfiles as the source tree is.
    yield root / "bazel-bin" / package / name
