"""The header search list of the host compiler, as options for another compiler.

Not needed with the clang that this package finds, which knows where the headers of the system are;
of use with a clang that was built elsewhere.
"""

import os
import shlex
import subprocess
from functools import cache

from compiler_gym.util.commands import CommandError, run_command

_TIMEOUT_SECONDS = 30


class HostCompilerFailure(OSError):  # noqa: N818
    """The host compiler cannot be run, or failed."""


class UnableToParseHostCompilerOutput(HostCompilerFailure):
    """The host compiler does not print its header search list as expected."""


def get_system_library_flags(compiler: str | None = None) -> list[str]:
    """Asks the host compiler where it searches for headers.

    Args:
        compiler: The command of a C++ compiler; by default ``$CXX``, else ``c++``.

    Returns:
        ``["-isystem", folder, "-isystem", folder, ...]`` in the order of the search. Asked once
        for each compiler.

    Raises:
        HostCompilerFailure: If the compiler cannot be run, fails, or is not done in 30 seconds.
        UnableToParseHostCompilerOutput: If it does not print a search list.
    """
    return list(_system_library_flags(compiler or os.environ.get("CXX") or "c++"))


@cache
def _system_library_flags(compiler: str) -> tuple[str, ...]:
    command = [*shlex.split(compiler), "-xc++", "-E", "-v", "-"]
    try:
        # The messages that are searched for are translated otherwise.
        reply = run_command(command, _TIMEOUT_SECONDS, env={**os.environ, "LC_ALL": "C"})
    except CommandError as error:
        raise HostCompilerFailure(str(error)) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostCompilerFailure(
            f"Cannot run the host compiler '{compiler}': {error}. Set CXX to a C++ compiler"
        ) from error
    flags = []
    for folder in _search_list(reply.stderr, compiler):
        flags += ["-isystem", folder]
    return tuple(flags)


def _search_list(text: str, compiler: str) -> list[str]:
    lines = text.splitlines()
    try:
        start = lines.index("#include <...> search starts here:")
        end = lines.index("End of search list.", start)
    except ValueError:
        raise UnableToParseHostCompilerOutput(
            f"The host compiler '{compiler}' prints no header search list. Set CXX to gcc or clang"
        ) from None
    folders = [
        line.strip().removesuffix(" (framework directory)") for line in lines[start + 1 : end]
    ]
    if not folders:
        raise UnableToParseHostCompilerOutput(
            f"The header search list of the host compiler '{compiler}' is empty"
        )
    return folders
