"""``compiler-gym doctor``."""

import os
import platform
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

import compiler_gym
from compiler_gym.cli.console import print_json, print_line
from compiler_gym.errors import EnvironmentNotSupported, ServiceError
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import HEADERS_FIX, CommandError
from compiler_gym.util.confinement import Limits, protections, run_confined
from compiler_gym.util.optional_packages import EXTRAS
from compiler_gym.util.processors import processors
from compiler_gym.util.runfiles_path import (
    cache_path,
    find_service_binary,
    site_data_path,
    transient_cache_path,
)
from compiler_gym.util.truncate import shortened

# The checks of ``compiler-gym doctor``.

CLANG_FIX = "pip install 'compiler_gym[clang]'"
_SHARED_SERVICE = "compiler_gym-llvm-service-shared"

_ENVIRONMENTS = {
    "llvm-autophase-ic-v0": "pip install --force-reinstall compiler_gym",
    "llvm-inline-v0": "pip install --force-reinstall compiler_gym",
    "mlir-v0": "pip install 'compiler_gym[mlir]'",
    "gcc-v0": "apt-get install gcc (Debian, Ubuntu), dnf install gcc (Fedora)",
}
_TOOLS = ("clang", "opt", "ld.lld")

_HELLO = b'#include <stdio.h>\nint main(void) { puts("works"); return 0; }\n'
_SECONDS = 60
_MIN_FREE_BYTES = 1 << 30
_MIN_PROCESSES = 256
_MIN_FILES = 256


class Status(Enum):
    """The status of a component."""

    OK = "ok"
    MISSING = "missing"
    """It is not installed, which is no error."""

    FAILED = "failed"


@dataclass(frozen=True)
class Check:
    """The result of checking one component.

    Attributes:
        name: The part.
        status: Whether it works.
        detail: Its version and place, or what is wrong.
        fix: A command that installs or mends it, empty if there is none.
    """

    name: str
    status: Status
    detail: str
    fix: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        return asdict(self) | {"status": self.status.value}


def all_checks() -> Iterator[Check]:
    """Makes the checks one after the other, in the order in which they are read."""
    yield Check("compiler_gym", Status.OK, f"{compiler_gym.__version__}, {_PACKAGE_FOLDER}")
    libc = " ".join(platform.libc_ver()) or "unknown C library"
    system = f"Python {platform.python_version()}, {platform.machine()}, {libc}"
    yield Check("system", Status.OK, system)
    for name, fix in _ENVIRONMENTS.items():
        yield _check(name, lambda name=name: _step(name), fix)
    for name in _TOOLS:
        yield _check(name, lambda name=name: _tool(name), CLANG_FIX)
    c_programs = _check("C programs", _compile, HEADERS_FIX)
    # Without clang, headers do not help.
    is_missing = c_programs.status is Status.MISSING
    yield replace(c_programs, fix=CLANG_FIX) if is_missing else c_programs
    yield _check("pass plugins", _plugins, CLANG_FIX)
    for extra, modules in EXTRAS.items():
        yield _extra(extra, *modules)
    for name, folder in (
        ("datasets", site_data_path),
        ("cache", cache_path),
        ("sessions", transient_cache_path),
    ):
        yield _check(f"{name} folder", lambda folder=folder: _folder(folder()), "df -h")
    yield _check("processes", _processes, f"ulimit -u {_MIN_PROCESSES}")
    yield _check("open files", _files, f"ulimit -n {_MIN_FILES}")
    yield _check("memory", _memory, "ulimit -v unlimited")
    yield _check("confinement", _confinement, "the section Confinement of docs/security.md")


_PACKAGE_FOLDER = Path(compiler_gym.__file__).parent


def _check(name: str, examine: Callable[[], str], fix: str) -> Check:
    """Runs a check. ``examine`` returns the detail, or raises what is wrong."""
    try:
        return Check(name, Status.OK, examine())
    except EnvironmentNotSupported as error:
        # The message may end with the fix, which has a line of its own.
        return Check(name, Status.MISSING, str(error).removesuffix(f'; try "{fix}"'), fix)
    except (OSError, ValueError, RuntimeError, ServiceError, subprocess.SubprocessError) as error:
        return Check(name, Status.FAILED, str(error) or type(error).__name__, fix)


def _step(name: str) -> str:
    """Makes one step in an environment."""
    with compiler_gym.make(name) as env:
        env.reset()
        env.action_space.seed(0)
        _, _, done, info = env.step(env.action_space.sample())
        if done and "error_details" in info:
            raise RuntimeError(info["error_details"])
        return f"makes a step: {env.compiler_version.splitlines()[0]}"


def _tool(name: str) -> str:
    path = llvm_tools.tool_path(name)
    lines = llvm_tools.tool_version(path).splitlines()
    numbered = [line for line in lines if any(letter.isdigit() for letter in line)]
    return f"{(numbered or lines)[0].strip()}, {path}"


def _compile() -> str:
    """Builds and runs a program as the observation ``Runtime`` does: confined."""
    command = ["/bin/sh", "-c", '"$0" -x c - -o a.out && ./a.out', str(llvm_tools.clang_path())]
    done = run_confined(
        command,
        Limits(seconds=_SECONDS),
        readable=[llvm_tools.clang_prefix()],
        stdin=_HELLO,
        any_addresses=True,
    )
    if done.limit:
        raise OSError(f"clang or its program was stopped: {done.reason}")
    if done.returncode:
        raise CommandError(done.returncode, command, done.stdout, done.stderr)
    works = done.stdout.decode().strip()
    library = llvm_tools.companion_c_library()
    end = "" if library is None else f", with the C library of {library}"
    return f"clang builds one, and it {works}{end}"


def _plugins() -> str:
    companion = llvm_tools.companion_folder()
    if companion is not None and (companion / "bin" / _SHARED_SERVICE).is_file():
        return f"can be loaded by {companion / 'bin' / _SHARED_SERVICE}"
    return f"can be loaded by {find_service_binary(_SHARED_SERVICE)}"


def _extra(extra: str, module: str, *others: str) -> Check:
    if any(find_spec(name) is None for name in (module, *others)):
        return Check(extra, Status.MISSING, "", f"pip install 'compiler_gym[{extra}]'")
    try:
        return Check(extra, Status.OK, f"{module} {version(module)}")
    except PackageNotFoundError:
        return Check(extra, Status.OK, module)


def _folder(path: Path) -> str:
    path.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=path):
        pass  # It can be written to.
    free = shutil.disk_usage(path).free
    text = f"{path}, {free / (1 << 30):.1f} GiB free"
    if free < _MIN_FREE_BYTES:
        raise OSError(f"expected 1 GiB of free disk, got {text}")
    return text


def _limit(kind: int, at_least: int, unit: str) -> str:
    limit, _ = resource.getrlimit(kind)
    if limit == resource.RLIM_INFINITY:
        return f"no limit of {unit}"
    if limit < at_least:
        raise OSError(f"expected a limit of at least {at_least} {unit}, got {limit}")
    return f"at most {limit} {unit}"


def _processes() -> str:
    return f"{_limit(resource.RLIMIT_NPROC, _MIN_PROCESSES, 'processes')}, {processors()} CPUs"


def _files() -> str:
    return _limit(resource.RLIMIT_NOFILE, _MIN_FILES, "files")


def _memory() -> str:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = _limit(resource.RLIMIT_AS, 4 << 30, "bytes of address space")
    return f"{pages / (1 << 30):.1f} GiB, {limit}"


def _confinement() -> str:
    """Returns the means that confine the programs of others."""
    found = protections()
    if found.missing():
        raise EnvironmentNotSupported(str(found))
    return str(found)


_NAME_WIDTH = 21


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check the installation.

    Shows the parts that are installed and work, and for each other part the command to fix it.

    Makes a step in each environment whose compiler is installed. The exit code is 1 if an installed
    part does not work.

    \b
    Examples:
      compiler-gym doctor           the first lines of a report about a problem
      compiler-gym doctor --json    the same for programs
    """  # noqa: D301
    checks = []
    for check in all_checks():
        checks.append(check)
        if not json:
            _print(check)
    failed = [check.name for check in checks if check.status is Status.FAILED]
    if json:
        print_json({"works": not failed, "checks": [check.as_dict() for check in checks]})
    else:
        verdict = (
            f"Does not work: {', '.join(failed)}." if failed else "All that is installed works."
        )
        print_line(f"\n{verdict}")
    raise typer.Exit(bool(failed))


def _print(check: Check) -> None:
    # Where there is no terminal, lines may be long.
    columns = shutil.get_terminal_size(fallback=(200, 0)).columns
    width = max(columns - _NAME_WIDTH - 8, 40)
    if not check.detail and check.fix:
        print_line(f"{check.status.value:<7} {check.name:<{_NAME_WIDTH - 1}} try: {check.fix}")
        return
    first, *others = check.detail.splitlines() or [""]
    first = shortened(first, width)
    print_line(f"{check.status.value:<7} {check.name:<{_NAME_WIDTH - 1}} {first}")
    for line in others if check.status is Status.FAILED else []:
        print_line(f"{'':<{_NAME_WIDTH + 7}} {line}")
    if check.fix and check.status is not Status.OK:
        print_line(f"{'':<{_NAME_WIDTH + 7}} try: {check.fix}")
