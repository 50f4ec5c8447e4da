"""Compiles a source file to unoptimised bitcode."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from compiler_gym.envs.llvm import tools


class ClangInvocation:
    """The arguments of clang that turn one source into a bitcode file.

    Attributes:
        DEFAULT_COPT: Makes the IR that clang hands to LLVM's ``-O2`` pipeline, before any pass
            has run. (``-O0`` would not do: it forbids to inline and to optimise every function.)
        args: The arguments: options and the source.
        system_includes: Whether the headers of the system's libraries are searched.
        timeout: Seconds that the compilation may take.
        driver: The clang to use, by default the installed one.
    """

    DEFAULT_COPT: ClassVar[list[str]] = ["-O2", "-Xclang", "-disable-llvm-passes"]

    def __init__(
        self,
        args: Sequence[str | Path],
        system_includes: bool = True,
        timeout: float = 600,
        driver: str | None = None,
    ):
        self.args = [str(arg) for arg in args]
        self.system_includes = system_includes
        self.timeout = timeout
        self.driver = driver

    def command(self, outpath: Path) -> list[str]:
        """Returns the command that writes the bitcode.

        Args:
            outpath: The bitcode file to be written.

        Raises:
            EnvironmentNotSupported: If clang is not installed.
        """
        command = [self.driver or str(tools.clang_path()), *self.args]
        if not self.system_includes:
            command.append("-nostdlibinc")
        return [*command, "-c", "-emit-llvm", "-o", str(outpath)]

    @classmethod
    def from_c_file(
        cls,
        path: Path,
        copt: Sequence[str] | None = None,
        system_includes: bool = True,
        timeout: float = 600,
    ) -> "ClangInvocation":
        """Makes the invocation that compiles a C or C++ file with the default options.

        Args:
            path: The source; its suffix tells the language.
            copt: Options after the default ones, e.g. ``["-DNDEBUG"]``.
            system_includes: Whether the headers of the system's libraries are searched.
            timeout: Seconds that the compilation may take.
        """
        args = [*cls.DEFAULT_COPT, *(copt or ()), str(path)]
        return cls(args, system_includes=system_includes, timeout=timeout)
