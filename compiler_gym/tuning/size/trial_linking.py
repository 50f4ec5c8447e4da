"""Links single object files, to count all bytes of them that are loaded.

``compiler-gym-cc`` imports this module for each command, so it imports little.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError
from compiler_gym.util.started_programs import run_started

_LINK_SECONDS = 600


class LinkError(ValueError):
    """Object files that cannot be linked. The text has the reason."""


@dataclass(frozen=True)
class LinkedSize:
    """The size of a program without symbols and debugging information.

    Attributes:
        loaded: Bytes of code, constants and initialised data: text and data, as ``size`` calls it.
        file: Bytes of the file.
    """

    loaded: int
    file: int

    @property
    def counted(self) -> int:
        """The bytes that are to become fewer."""
        return self.loaded

    @property
    def guarded(self) -> int:
        """The bytes that must not grow: a larger file is no gain, whatever is in it."""
        return self.file

    @property
    def rest(self) -> int:
        """The bytes that decide between equal sizes."""
        return self.file


def stripped_size(program: Path) -> LinkedSize:
    """Returns the size of a program or a shared library, without its symbols.

    Raises:
        LinkError: If it cannot be stripped.
        ValueError: If it is not ELF.
        OSError: If it cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        stripped = Path(folder) / "stripped"
        strip = llvm_tools.tool_path("llvm-strip")
        try:
            run_started([strip, program, "-o", stripped], _LINK_SECONDS)
        except CommandError as error:
            raise LinkError(f"The program cannot be stripped: {error}") from error
        return LinkedSize(read_object(stripped).all, stripped.stat().st_size)


# The last of these decides. Code of -fPIE can only be part of a program, which calls its own
# functions without tables.
_FOR_LIBRARIES = ("-fPIC", "-fpic")
_FOR_PROGRAMS = ("-fPIE", "-fpie", "-fno-pic", "-fno-PIC", "-fno-pie", "-fno-PIE")

# What is missing is somewhere else, also what has hidden visibility, which is an error otherwise.
# Nothing begins to run here.
_MISSING = ("--unresolved-symbols=ignore-all", "--noinhibit-exec")
_OPTIONS = (*_MISSING, "--entry=0", "--eh-frame-hdr")


@dataclass(frozen=True)
class TrialLinker:
    """Links single object files with LLD.

    Code, constants and data of an object file are not all that it adds to a process: the linker
    makes tables of its calls and addresses (PLT, GOT and relocations of position-independent code),
    and an index of its stack frames.

    Attributes:
        lld: LLD for ELF, which links for all targets that it knows.
        is_shared: Whether to link a shared library, or else a static program.
    """

    lld: Path
    is_shared: bool

    def link(self, object_file: Path, linked: Path, *options: str) -> None:
        """Links an object file.

        Args:
            object_file: The object file.
            linked: The file to be written.
            *options: Further options of LLD.

        Raises:
            LinkError: If it does not link alone.
            subprocess.TimeoutExpired: If that takes longer than ten minutes.
        """
        kind = ["-shared"] if self.is_shared else []
        words = [*kind, *_OPTIONS, *options]
        try:
            run_started([self.lld, *words, object_file, "-o", linked], _LINK_SECONDS)
        except CommandError as error:
            raise LinkError(f"The object file cannot be linked alone: {error}") from error

    def size(self, object_file: Path) -> LinkedSize:
        """Links an object file, and returns how many bytes of that are loaded.

        Raises:
            LinkError: If it does not link alone.
            ValueError: If what is linked is not ELF.
            subprocess.TimeoutExpired: If that takes longer than ten minutes.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            linked = Path(folder) / "linked"
            self.link(object_file, linked, "--strip-all")
            return LinkedSize(read_object(linked).all, linked.stat().st_size)


def trial_linker(options: Sequence[str]) -> TrialLinker | None:
    """Returns what links object files that clang makes with some options; None without LLD.

    Args:
        options: The options, of which ``-fPIC`` makes object files of shared libraries.
    """
    try:
        lld = llvm_tools.tool_path("ld.lld")
    except EnvironmentNotSupported:
        return None
    kinds = [each for each in options if each in _FOR_LIBRARIES + _FOR_PROGRAMS]
    return TrialLinker(lld, bool(kinds) and kinds[-1] in _FOR_LIBRARIES)
