"""The target of LLVM's intermediate representation, for which clang has to be told to compile."""

import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import Popen, run_command

_TRIPLE = re.compile(r'target triple = "(.*)"')
# The triple is above all of these.
_BODY = ("define ", "declare ", "@", "attributes ", "!")
_VENDORS = ("unknown", "pc")
_SECONDS = 60


def target_options(clang: Path, source: Path) -> tuple[str, ...]:
    """Returns the option of clang for the target of textual IR or bitcode.

    clang would compile for this machine otherwise, whatever the module says.

    Args:
        clang: The compiler.
        source: The module.

    Returns:
        ``("--target=TRIPLE",)``; nothing if that is the target of clang, or is not known.
    """
    try:
        status = source.stat()
        triple = _triple(source, status.st_mtime_ns, status.st_size)
        if not triple or _without_vendor(triple) == _without_vendor(_default_triple(clang)):
            return ()
    except (OSError, subprocess.SubprocessError, EnvironmentNotSupported):
        return ()  # clang reports what is wrong.
    return (f"--target={triple}",)


@cache
def _triple(source: Path, mtime_ns: int, size: int) -> str:
    del mtime_ns, size  # They are there to notice that the file has changed.
    if source.suffix == ".ll":
        with source.open(encoding="utf-8", errors="replace") as text:
            return _found(text)
    command: list[str | Path] = [llvm_tools.llvm_dis_path(), source, "-o", "-"]
    with Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        return _found(process.stdout)  # It is killed then: the rest of the module may be long.


def _found(lines: Iterable[str]) -> str:
    for line in lines:
        if match := _TRIPLE.match(line):
            return match[1]
        if line.startswith(_BODY):
            break
    return ""


@cache
def _default_triple(clang: Path) -> str:
    return run_command([clang, "-print-target-triple"], _SECONDS).stdout.strip()


def _without_vendor(triple: str) -> list[str]:
    return [part for part in triple.split("-") if part not in _VENDORS]
