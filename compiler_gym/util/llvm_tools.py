"""Paths of the installed LLVM tools (clang, opt, llvm-link, ...).

A tool is searched for, in this order,

1. in ``$COMPILER_GYM_LLVM/bin``, if that environment variable is set, and nowhere else then;
2. in the package ``compiler_gym_clang``, if it is installed, or in that of another LLVM that is
   asked for, see :mod:`compiler_gym.util.llvm_engines`;
3. in the LLVM that the service was built with;
4. in ``/usr/lib/llvm-N/bin``, where Debian and Ubuntu put them;
5. on the ``PATH``, first with the version in the name (``clang-22``), then without.

The LLVM version of the service is preferred, because bitcode of a newer one may be unreadable to
it; an older one is never used.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util.commands import run_command
from compiler_gym.util.llvm_engines import PREFIX_FILE, asked_version, llvm_of, package_folder
from compiler_gym.util.runfiles_path import find_other_llvm, find_service_file

# The Debian packages of tools that are not in that of LLVM itself, without the version.
_PACKAGES = {"clang": "clang", "clang++": "clang", "ld.lld": "lld"}

PREFIX_VARIABLE = "COMPILER_GYM_LLVM"
"""The environment variable with the folder of an LLVM, whose tools are in its folder ``bin``."""

_COMPANION = "compiler_gym_clang"

# A line of ``clang --version``, see tools/clang_launcher.c.
_CONFIGURATION = re.compile(r"^Configuration file: (.*/c-library)/clang\.cfg$", re.MULTILINE)

OWN_PASSES_FILE = "compiler_gym-llvm-passes.so"
ONE_RUN_FILE = "compiler_gym-oz.so"

_DEBIAN_ROOT = Path("/usr/lib")
_VERSION_TIMEOUT_SECONDS = 60


def llvm_version() -> int:
    """Returns the major version of LLVM that the service is built with.

    Raises:
        EnvironmentNotSupported: If another LLVM is asked for, which is not installed.
        ValueError: If what is asked for is no version.
    """
    return _llvm_of_service(asked_version())[1]


# Looked up once for each version: benchmarks are made in tight loops.
@cache
def _llvm_of_service(asked: int | None) -> tuple[Path | None, int]:
    """Returns the folder and the major version of the LLVM that the service was built with."""
    del asked  # Which find_service_file() looks up.
    return llvm_of(find_service_file(PREFIX_FILE))


def companion_folder() -> Path | None:
    """Returns the folder of the package with LLVM's tools, None without that.

    That is ``compiler_gym_clang``, or the package of another LLVM that is asked for.
    """
    return _companion_folder(asked_version())


@cache
def _companion_folder(asked: int | None) -> Path | None:
    del asked
    if (other := find_other_llvm()) is not None:
        return other if (other / "bin").is_dir() else None
    return package_folder(_COMPANION)


def companion_c_library() -> Path | None:
    """Returns the folder of the C library that clang takes from ``compiler_gym_clang``.

    The clang of that package has one for systems without a C compiler. None if clang uses that of
    the system.

    Raises:
        EnvironmentNotSupported: If there is no clang.
    """
    found = _CONFIGURATION.search(tool_version(clang_path()))
    return Path(found[1]) if found else None


def service_environment() -> dict[str, str]:
    """Returns the environment variables that make a service use the same LLVM."""
    folder = companion_folder()
    if folder is None or PREFIX_VARIABLE in os.environ:
        return {}
    return {PREFIX_VARIABLE: str(folder)}


def command_environment() -> dict[str, str]:
    """Returns the environment variables for commands of the user, which may name LLVM's tools.

    The folder of clang is the last one of the ``PATH``, so ``clang`` is found on systems on which
    it has another name or is part of ``compiler_gym_clang``.
    """
    try:
        folder = str(clang_path().parent)
    except EnvironmentNotSupported:
        return dict(os.environ)
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{path}{os.pathsep}{folder}"}


def clang_path() -> Path:
    """Returns the path of the C and C++ compiler."""
    return tool_path("clang")


def clang_prefix() -> Path:
    """Returns the folder that has the compiler with its libraries and headers."""
    return clang_path().resolve().parents[1]


def opt_path() -> Path:
    """Returns the path of ``opt``, which runs passes on bitcode."""
    return tool_path("opt")


def llvm_link_path() -> Path:
    """Returns the path of ``llvm-link``, which makes one module of several."""
    return tool_path("llvm-link")


def llvm_as_path() -> Path:
    """Returns the path of ``llvm-as``, which makes bitcode of textual IR."""
    return tool_path("llvm-as")


def llvm_dis_path() -> Path:
    """Returns the path of ``llvm-dis``, which makes textual IR of bitcode."""
    return tool_path("llvm-dis")


def llvm_diff_path() -> Path:
    """Returns the path of ``llvm-diff``, which compares two modules."""
    return tool_path("llvm-diff")


def llvm_extract_path() -> Path:
    """Returns the path of ``llvm-extract``, which cuts functions out of a module."""
    return tool_path("llvm-extract")


def llvm_size_path() -> Path:
    """Returns the path of ``llvm-size``, which prints the section sizes of object files."""
    return tool_path("llvm-size")


def llvm_stress_path() -> Path:
    """Returns the path of ``llvm-stress``, which generates random textual IR."""
    return tool_path("llvm-stress")


def llc_path() -> Path:
    """Returns the path of ``llc``, the code generator."""
    return tool_path("llc")


def lli_path() -> Path:
    """Returns the path of ``lli``, which executes bitcode."""
    return tool_path("lli")


def own_passes_path() -> Path | None:
    """Returns the plugin with the project's own passes, for ``opt`` and clang of the same LLVM.

    None in a source tree in which it has not been built.
    """
    return find_service_file(OWN_PASSES_FILE)


def one_run_path() -> Path | None:
    """Returns the plugin that makes one run of ``clang -Oz`` smaller, for clang of the same LLVM.

    None in a source tree in which it has not been built.
    """
    return find_service_file(ONE_RUN_FILE)


def tool_path(name: str) -> Path:
    """Finds an LLVM tool.

    Args:
        name: The name without a version, e.g. ``"clang"``.

    Returns:
        The absolute path of an executable of the version of the service or, failing that, of the
        lowest newer version.

    Raises:
        EnvironmentNotSupported: If it is not installed. The text says what to install.
        ValueError: If the version of LLVM that is asked for is not one.
    """
    variables = [os.environ.get(variable, "") for variable in (PREFIX_VARIABLE, "PATH")]
    return _tool_path(name, asked_version(), *variables)


def tool_version(path: Path) -> str:
    """Returns the version text of a tool, which differs between builds of LLVM.

    Raises:
        EnvironmentNotSupported: If the tool cannot be run.
    """
    status = path.stat()
    return _tool_version(path, status.st_mtime_ns, status.st_size)


# Looked up once for each setting of the variables: benchmarks are made in tight loops.
@cache
def _tool_path(name: str, asked: int | None, llvm_prefix: str, search_path: str) -> Path:
    own_prefix, version = _llvm_of_service(asked)
    if llvm_prefix:
        path = Path(llvm_prefix).expanduser().absolute() / "bin" / name
        if not _is_executable(path):
            raise EnvironmentNotSupported(
                f"{PREFIX_VARIABLE} is {llvm_prefix}, but there is no executable {path}. Set it to "
                f"the installation folder of LLVM {version}, or unset it"
            )
        return path
    for path in _candidates(name, search_path, own_prefix, version):
        if _is_executable(path):
            return path
    package = f"{_PACKAGES.get(name, 'llvm')}-{version}"
    extra = "clang" if find_other_llvm() is None else f"llvm{version}"
    raise EnvironmentNotSupported(
        f"'{name}' of LLVM {version} is not installed. Install it on any system with "
        f"\"pip install 'compiler_gym[{extra}]'\", or on Debian and Ubuntu with "
        f"'apt-get install {package}'; or set {PREFIX_VARIABLE} to the folder that has bin/{name}"
    )


def _candidates(
    name: str, search_path: str, own_prefix: Path | None, version: int
) -> Iterator[Path]:
    if (companion := companion_folder()) is not None:
        yield companion / "bin" / name
    if own_prefix is not None:
        yield own_prefix / "bin" / name
    versions = []
    for folder in _DEBIAN_ROOT.glob("llvm-*"):
        number = folder.name.removeprefix("llvm-")
        if number.isdecimal() and int(number) >= version:
            versions.append(int(number))
    for each in sorted(versions):
        yield _DEBIAN_ROOT / f"llvm-{each}" / "bin" / name
    versioned = shutil.which(f"{name}-{version}", path=search_path)
    if versioned:
        yield Path(versioned).absolute()
    plain = shutil.which(name, path=search_path)
    if plain and _major_version(Path(plain)) >= version:
        yield Path(plain).absolute()


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _major_version(path: Path) -> int:
    match = re.search(r"version (\d+)\.", tool_version(path))
    return int(match.group(1)) if match else 0


@cache
def _tool_version(path: Path, mtime_ns: int, size: int) -> str:
    del mtime_ns, size  # They are there to notice that another version has been installed.
    try:
        reply = run_command([path, "--version"], timeout=_VERSION_TIMEOUT_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentNotSupported(f"Cannot run '{path} --version': {error}") from error
    return reply.stdout.strip()
