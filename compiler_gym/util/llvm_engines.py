"""The LLVMs that are installed side by side, and which of them is asked for.

The package has one LLVM, the default. Each other one is a package of its own, such as
``compiler_gym_llvm23``: a folder with the files of the LLVM service, and with LLVM's tools in
``bin``. Nothing else knows where these are.

``compiler_gym.make(..., llvm_version=23)`` asks for one of them for an environment, and
``COMPILER_GYM_LLVM_VERSION`` or the option ``--llvm`` for a process and its children.
"""

import os
import pkgutil
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported

VERSION_VARIABLE = "COMPILER_GYM_LLVM_VERSION"
"""The environment variable with the version of LLVM to use, such as ``23``."""

PREFIX_FILE = "llvm_prefix.txt"
"""Written by the build beside a service: a line with the LLVM's folder, one with its version."""

_PACKAGE = "compiler_gym_llvm"
_VERSION = re.compile(r"[1-9]\d{0,2}")
# As in third_party/system.bzl; for a source tree in which the service has not been built.
_DEFAULT_VERSION = 22

# What code in a ``with`` block asks for, whatever the process does.
_asked: ContextVar[int | None] = ContextVar("_asked", default=None)


def asked_version() -> int | None:
    """Returns the version of LLVM that is asked for; None for the default.

    Raises:
        ValueError: If the environment variable is not a version.
    """
    version = _asked.get()
    if version is not None:
        return version
    text = os.environ.get(VERSION_VARIABLE)
    if not text:
        return None
    try:
        return checked_version(text)
    except ValueError as error:
        raise ValueError(f"{VERSION_VARIABLE}={text}: {error}") from None


def checked_version(version: int | str) -> int:
    """Returns a version of LLVM as a number.

    Raises:
        ValueError: If it is not one.
    """
    if isinstance(version, bool) or not _VERSION.fullmatch(str(version)):
        raise ValueError(f"expected a version of LLVM such as 22, got {version!r}")
    return int(version)


@contextmanager
def use_version(version: int | str | None) -> Iterator[None]:
    """Asks for a version of LLVM in the ``with`` block. None leaves what is asked for as it is.

    Raises:
        ValueError: If it is not a version.
    """
    token = _asked.set(_asked.get() if version is None else checked_version(version))
    try:
        yield
    finally:
        _asked.reset(token)


def chosen_folder(own_files: Iterable[Path]) -> Path | None:
    """Returns the folder of the LLVM that is asked for; None if that is the package's own.

    Args:
        own_files: Where ``llvm_prefix.txt`` of the package's own LLVM may be.

    Raises:
        EnvironmentNotSupported: If it is not installed. The text says what to install.
        ValueError: If the environment variable is not a version.
    """
    version = asked_version()
    if version is None:
        return None
    own = llvm_of(next((path for path in own_files if path.is_file()), None))[1]
    if version == own:
        return None
    folder = package_folder(f"{_PACKAGE}{version}")
    if folder is None:
        known = ", ".join(str(each) for each in sorted({own, *_installed()}))
        raise EnvironmentNotSupported(
            f"LLVM {version} is not installed, only {known}; try "
            f"\"pip install 'compiler_gym[llvm{version}]'\""
        )
    return folder


def llvm_of(prefix_file: Path | None) -> tuple[Path | None, int]:
    """Returns the folder and the version of the LLVM that a service was built with.

    Args:
        prefix_file: The file ``llvm_prefix.txt`` beside the service; None if that is not built.
    """
    if prefix_file is None:
        return None, _DEFAULT_VERSION
    prefix, version = prefix_file.read_text(encoding="utf-8").splitlines()
    return Path(prefix), int(version.partition(".")[0])


def package_folder(name: str) -> Path | None:
    """Returns the folder of a package; None if it is not installed."""
    found = find_spec(name)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]).absolute()


def _installed() -> list[int]:
    names = (each.name.partition(_PACKAGE) for each in pkgutil.iter_modules())
    return [int(end) for begin, _, end in names if not begin and _VERSION.fullmatch(end)]
