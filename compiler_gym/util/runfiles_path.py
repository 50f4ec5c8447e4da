"""Paths of the package's files and services, and of the user's data and caches."""

import getpass
import os
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util.llvm_engines import PREFIX_FILE, chosen_folder, package_folder

_SHARED_MEMORY = Path("/dev/shm")


def user_name() -> str:
    """Returns the name of the user, or the number if it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # No such entry in the password database.
        return str(os.getuid())


def runfiles_path(relpath: str | Path = "") -> Path:
    """Returns the path of a file that comes with the package.

    Args:
        relpath: The path relative to the root of the source tree, for example
            ``"compiler_gym/data/kernels-v0"``. Works alike in a source tree, under Bazel and
            when installed; the environment variable ``COMPILER_GYM_RUNFILES`` names another root.
    """
    root = os.environ.get("COMPILER_GYM_RUNFILES")
    # Not resolved, because under Bazel this file is a link out of the tree of runfiles.
    return (Path(root) if root else Path(__file__).absolute().parents[2]) / relpath


def site_data_path(relpath: str | Path = "") -> Path:
    """Returns a path below the directory of datasets.

    That is ``COMPILER_GYM_SITE_DATA``, else ``~/.local/share/compiler_gym``, else (without
    ``HOME``) ``compiler_gym_<user>/site_data`` in the directory of temporary files. It is made,
    open to nobody else, if it does not exist.

    Raises:
        OSError: It cannot be made, or is a temporary directory that belongs to somebody else.
    """
    root = _user_directory("COMPILER_GYM_SITE_DATA", ".local/share/compiler_gym", "site_data")
    return root / relpath


def possible_site_data_path(relpath: str) -> Path | None:
    """Returns a path below the directory of datasets; None if that cannot be made."""
    try:
        return site_data_path(relpath)
    except OSError:
        return None


def cache_path(relpath: str | Path = "") -> Path:
    """Returns a path below the cache directory, for files that can be created or downloaded again.

    That is ``COMPILER_GYM_CACHE``, else ``~/.local/cache/compiler_gym``, else (without ``HOME``)
    ``compiler_gym_<user>/cache`` in the directory of temporary files. It is made, open to nobody
    else, if it does not exist.

    Raises:
        OSError: It cannot be made, or is a temporary directory that belongs to somebody else.
    """
    return _user_directory("COMPILER_GYM_CACHE", ".local/cache/compiler_gym", "cache") / relpath


def transient_cache_path(relpath: str | Path = "") -> Path:
    """Returns a path below the transient cache, for files that may be lost at a reboot.

    That is ``COMPILER_GYM_TRANSIENT_CACHE``, else ``/dev/shm/compiler_gym_<user>``, which is in
    memory and fast but may not allow executables, else the directory of :func:`cache_path`. It
    is made, open to nobody else, if it does not exist.

    Raises:
        OSError: It cannot be made.
    """
    configured = os.environ.get("COMPILER_GYM_TRANSIENT_CACHE")
    if configured:
        return _private_directory(Path(configured), "COMPILER_GYM_TRANSIENT_CACHE") / relpath
    if os.access(_SHARED_MEMORY, os.W_OK):
        try:
            return _owned_directory(_SHARED_MEMORY / f"compiler_gym_{user_name()}") / relpath
        except OSError:
            pass  # Another user has the name, or shared memory is full.
    return cache_path(relpath)


def create_user_logs_dir(name: str, base: Path | None = None) -> Path:
    """Makes a new directory for the logs of one experiment.

    Args:
        name: The kind of experiment, e.g. ``"random_search"``.
        base: The directory of all logs: ``COMPILER_GYM_LOGS``, else ``~/logs/compiler_gym`` (or,
            without ``HOME``, ``compiler_gym_<user>/logs`` in that of temporary files).

    Returns:
        ``<base>/<name>/<date and time>``. The link ``latest`` beside it points to it.

    Raises:
        OSError: It cannot be made.
    """
    root = base or _user_directory("COMPILER_GYM_LOGS", "logs/compiler_gym", "logs")
    parent = root / name
    parent.mkdir(parents=True, exist_ok=True)
    path = _new_directory(parent, datetime.now().strftime("%Y-%m-%dT%H-%M-%S"))
    # Created aside and renamed, so that the link always exists.
    link = path.with_name(f".latest-{path.name}")
    link.symlink_to(path.name)
    link.replace(parent / "latest")
    return path


def _new_directory(parent: Path, name: str) -> Path:
    """Creates a directory. Appends a number to its name if the name exists."""
    number = 1
    path = parent / name
    while True:
        try:
            path.mkdir(mode=0o700)
            return path
        except FileExistsError:
            number += 1
            path = parent / f"{name}-{number}"


def _user_directory(variable: str, path_in_home: str, path_in_temp: str) -> Path:
    """Returns the directory of a variable, or a default one, after creating it."""
    configured = os.environ.get(variable)
    if configured:
        return _private_directory(Path(configured), variable)
    if os.environ.get("HOME"):
        return _private_directory(Path(os.environ["HOME"]) / path_in_home, variable)
    temp = _owned_directory(Path(tempfile.gettempdir()) / f"compiler_gym_{user_name()}")
    return _private_directory(temp / path_in_temp, variable)


def _private_directory(path: Path, variable: str) -> Path:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot make the directory {path}: {error.strerror}. Set the environment variable "
            f"{variable} to a directory that you can write to",
        ) from error
    return path


def _owned_directory(path: Path) -> Path:
    """Creates a directory in a public place. Refuses one that belongs to another user."""
    path.mkdir(mode=0o700, exist_ok=True)
    if path.is_symlink() or path.stat().st_uid != os.getuid():
        raise PermissionError(
            f"{path} belongs to somebody else. Set the environment variable HOME, or "
            "COMPILER_GYM_SITE_DATA, COMPILER_GYM_CACHE and COMPILER_GYM_LOGS"
        )
    return path


# Paths of the compiler services' executables.

_PACKAGE_DIRECTORY = Path(__file__).absolute().parents[1]

# Packages that pip installs with an extra, by their Bazel package.
_COMPANIONS = {"mlir_service": "compiler_gym_mlir"}
_LLVM_SERVICE = "llvm_service"
_SHARED_SERVICE = "compiler_gym-llvm-service-shared"


def find_service_binary(name: str, package: str = _LLVM_SERVICE) -> Path:
    """Finds the executable of a compiler service.

    Looks, in order, in companions of the installed package such as ``compiler_gym_mlir``, in the
    package itself, among the runfiles of Bazel, and in what Bazel has
    built in a source tree. What belongs to another LLVM than the default, if one is asked for, is
    in the package of that LLVM, see :mod:`compiler_gym.util.llvm_engines`.

    Args:
        name: The file name of the executable, e.g. ``"compiler_gym-llvm-service"``.
        package: The Bazel package that builds it, i.e. its directory in the source tree.

    Returns:
        The path of the executable.

    Raises:
        EnvironmentNotSupported: It does not exist in these places.
        ValueError: The version of LLVM that is asked for is not one.
    """
    candidates = list(_candidates(name, package))
    for path in candidates:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    install = f"pip install {_requirement(name, package)}"
    if _is_installed():
        raise EnvironmentNotSupported(f'{name} is not installed; try "{install}"')
    # The service is the main target of its package.
    target = f"//{package}" if package == _LLVM_SERVICE else f"//{package}:{name}"
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


def find_service_file(name: str, package: str = _LLVM_SERVICE) -> Path | None:
    """Finds a file that the build puts beside the executable of a service, or returns None.

    Args:
        name: The name of the file.
        package: Same as in :func:`find_service_binary`.

    Raises:
        EnvironmentNotSupported: The LLVM that is asked for is not installed.
        ValueError: The version of LLVM that is asked for is not one.
    """
    return next((path for path in _candidates(name, package) if path.is_file()), None)


def find_other_llvm() -> Path | None:
    """Returns the folder of the LLVM that is asked for, or None if that is the default.

    Raises:
        EnvironmentNotSupported: It is not installed.
        ValueError: The version that is asked for is not one.
    """
    return chosen_folder(_own_candidates(PREFIX_FILE, _LLVM_SERVICE))


def _candidates(name: str, package: str) -> Iterator[Path]:
    if package == _LLVM_SERVICE and (other := find_other_llvm()) is not None:
        yield other / name
    else:
        yield from _own_candidates(name, package)


def _own_candidates(name: str, package: str) -> Iterator[Path]:
    root = _PACKAGE_DIRECTORY.parent
    companion = _COMPANIONS.get(package)
    if companion and (folder := package_folder(companion)):
        yield folder / name
    yield _PACKAGE_DIRECTORY / "_service" / name
    yield root / package / name  # Runfiles have the layout of the source tree.
    yield root / "bazel-bin" / package / name
