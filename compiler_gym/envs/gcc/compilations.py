"""Compiles a program with any options, once for each way to do so."""

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from compiler_gym.envs.gcc.gcc import Gcc
from compiler_gym.errors import ServiceError, ServiceOSError
from compiler_gym.util.commands import CommandError

# Errors that are no bugs of the service, so that no traceback goes with them.


class Refused(ServiceError, ValueError):  # noqa: N818
    """A request for something that does not exist. Clients see a ``ValueError``."""


class TookTooLong(ServiceError, TimeoutError):  # noqa: N818
    """The compiler was killed. Clients see a ``TimeoutError``."""


ASSEMBLY = "asm"
OBJECT = "obj"
RTL = "rtl"

# What the compiler is to do, and the file that then has the result.
_KINDS = {
    ASSEMBLY: (("-S",), "program.s"),
    OBJECT: (("-c",), "program.o"),
    # Addresses in memory would differ from run to run.
    RTL: (("-S", "-fdump-rtl-final=program.rtl", "-fdump-noaddr"), "program.rtl"),
}

# Warnings are not looked at.
_COMMON = ("-w",)

# How a program begins that the preprocessor has dealt with.
_LINE_MARKER = re.compile(rb'# \d+ "')

_MAX_MESSAGE = 2000
_OK, _FAILED = b"+", b"-"

# What is kept on disk for all sessions of a service. That is looked at after each 256th result, by
# their names, as sessions know nothing of each other.
_MAX_KEPT_BYTES = 256 * 2**20
_CHECKED_NAME = "00"


class Compilations:
    """The compilations of a program, cached by options.

    Each result is kept by what it is made of, for all sessions that share the folder, until they
    take 256 MiB. So is what the compiler finds wrong, but not that it crashed or took too long.

    Args:
        gcc: The compiler.
        source: The program in C, before or after the preprocessor.
        folder: Where results are kept, and temporary files are.
    """

    def __init__(self, gcc: Gcc, source: bytes, folder: Path):
        self._gcc = gcc
        self._source = source
        self._folder = folder
        self._kept = folder / "compiled"
        self._name = "program.i" if _LINE_MARKER.match(source) else "program.c"
        self._digest = hashlib.sha256(source).digest()

    def arguments(self, kind: str, options: Sequence[str]) -> list[str]:
        """Returns the arguments with which the compiler is run."""
        what, output = _KINDS[kind]
        name = "program.s" if kind == RTL else output
        return [*options, *_COMMON, *what, self._name, "-o", name]

    def check(self, timeout: float | None) -> None:
        """Checks that the program is one.

        Raises:
            Refused: If it is not valid C.
            ServiceError: If the compiler is lost.
            TookTooLong: If the time is over.
        """
        with self._folder_with_source() as name:
            try:
                self._run(["-fsyntax-only", *_COMMON, self._name], Path(name), timeout)
            except CommandError as error:
                raise Refused(f"The program is not valid C: {_text_of(error)}") from None

    def compile(self, kind: str, options: Sequence[str], timeout: float | None) -> bytes:
        """Returns the output of the compiler for the program.

        Args:
            kind: :data:`ASSEMBLY`, :data:`OBJECT` or :data:`RTL`.
            options: The options.
            timeout: Seconds after which the compiler is killed. None for no limit.

        Raises:
            ServiceError: If the compiler refuses the options, or crashes.
            TookTooLong: If the time is over.
            ServiceOSError: If there is no space on the disk.
        """
        arguments = self.arguments(kind, options)
        path = self._kept / self._key(arguments)
        with suppress(OSError):
            kept = path.read_bytes()
            if kept[:1] == _FAILED:
                raise ServiceError(kept[1:].decode())
            return kept[1:]
        try:
            with self._folder_with_source() as name:
                result = self._result(kind, arguments, Path(name), timeout)
            self._keep(path, _OK + result)
        except CommandError as error:
            text = f"GCC cannot compile the program with these options. {_text_of(error)}"
            if _is_diagnosis(error):
                self._keep(path, _FAILED + text.encode())
            raise ServiceError(text) from None
        except OSError as error:
            if isinstance(error, ServiceError):
                raise
            raise ServiceOSError(f"Cannot compile: {error}") from error
        return result

    def _result(
        self, kind: str, arguments: list[str], folder: Path, timeout: float | None
    ) -> bytes:
        self._run(arguments, folder, timeout)
        return (folder / _KINDS[kind][1]).read_bytes()

    def _run(self, arguments: list[str], folder: Path, timeout: float | None) -> None:
        try:
            self._gcc.run(arguments, folder, timeout)
        except subprocess.TimeoutExpired:
            raise TookTooLong(
                f"GCC took more than {timeout:g} s and was killed. GccEnv(timeout=...) sets the "
                f"limit. Its options: {' '.join(arguments)[:_MAX_MESSAGE]}"
            ) from None
        except FileNotFoundError as error:
            raise ServiceError(f"The compiler is lost: {error}") from error

    def _folder_with_source(self) -> "tempfile.TemporaryDirectory[str]":
        place = tempfile.TemporaryDirectory(prefix="compile-", dir=self._folder)
        Path(place.name, self._name).write_bytes(self._source)
        return place

    def _key(self, arguments: list[str]) -> str:
        return hashlib.sha256("\0".join(arguments).encode() + b"\0" + self._digest).hexdigest()

    def _keep(self, path: Path, data: bytes) -> None:
        """Keeps a result if there is space for it. Others see all of it or nothing."""
        with suppress(OSError):
            self._kept.mkdir(exist_ok=True)
            temporary = path.with_name(f".{os.getpid()}-{path.name}")
            temporary.write_bytes(data)
            temporary.replace(path)
            if path.name.startswith(_CHECKED_NAME):
                forget_oldest(self._kept, _MAX_KEPT_BYTES)


def forget_oldest(folder: Path, max_bytes: int) -> None:
    """Removes the oldest files of a folder until it has half of its maximum size.

    Does nothing if all together are within the limit. Others may do the same at that time.
    """
    files = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                status = entry.stat()
                files.append((status.st_mtime_ns, status.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    if total <= max_bytes:
        return
    for _, size, path in sorted(files):
        if total <= max_bytes // 2:
            break
        with suppress(FileNotFoundError):
            os.unlink(path)
        total -= size


def _is_diagnosis(error: CommandError) -> bool:
    """Returns true if the compiler reported an error; false if it crashed or was killed."""
    text = str(error.stderr)
    lost = "Killed" in text or "internal compiler error" in text
    return error.returncode == 1 and "error:" in text and not lost


def _text_of(error: CommandError) -> str:
    """Returns the beginning of the compiler's output, or how it ended if the output is empty."""
    text = str(error.stderr or "").strip() or str(error)
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]} [...]"
