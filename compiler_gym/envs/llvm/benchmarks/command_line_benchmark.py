"""Puts the environment in the place of the compiler in a build."""

import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote_plus

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.bitcode import make_bitcode, run_tool
from compiler_gym.envs.llvm.benchmarks.clang_invocation import ClangInvocation
from compiler_gym.envs.llvm.benchmarks.compiler_command import (
    CompilerCommand,
    parse_compiler_command,
)
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_command
from compiler_gym.envs.llvm.benchmarks.program_env import ProgramEnv
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File

_KEEP_THE_PASSES_OF_THE_ENVIRONMENT = ("-Xclang", "-disable-llvm-passes", "-Qunused-arguments")


class BenchmarkFromCommandLine(Benchmark):
    """A program that is defined by the command line of a compiler.

    Attributes:
        command: The parts of the command line.
        folder: The folder that the relative names of the command line refer to.
        driver: The compiler that finishes the build, None for the installed clang.
    """

    __slots__ = ("command", "driver", "folder")

    def __init__(
        self, uri: str, bitcode: bytes, command: CompilerCommand, driver: str | None, folder: Path
    ):
        proto = BenchmarkProto(uri=uri, program=File(contents=bitcode))
        super().__init__(proto)
        self.command = command
        self.driver = driver
        self.folder = folder
        proto.dynamic_config.build_cmd.CopyFrom(
            make_command(self._build_text(), outfiles=[_SCRATCH_OUTPUT])
        )

    def compile(self, env: ProgramEnv, timeout: float = 60) -> None:
        """Finishes the build: runs the command line with the program of an environment.

        Code is generated at the optimisation level of the command line, ``-O2`` if it has none, but
        no other passes than those of the environment are run. The file that the command line
        names is written.

        Args:
            env: An environment in an episode on this benchmark.
            timeout: Seconds that it may take.

        Raises:
            BenchmarkInitError: If the compiler or the linker fails. The text says why.
            subprocess.TimeoutExpired: If it takes too long.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            bitcode = env.write_bitcode(Path(folder) / "program.bc")
            arguments = self.command.finish_arguments(str(bitcode))
            command = [*self._driver_words(), *_passed_on(arguments), "-o", self.command.output]
            run_tool(command, timeout=timeout, cwd=self.folder)

    def _driver_words(self) -> list[str]:
        if self.driver:
            return [self.driver]
        return [str(tools.clang_path()), *_driver_mode(self.command)]

    def _build_text(self) -> str:
        # The command line may hold names relative to its folder, and the service wants the output
        # in its own scratch folder, where the command is started.
        driver = shlex.quote(self.driver) if self.driver else "$CC"
        mode = [] if self.driver else _driver_mode(self.command)
        arguments = _passed_on([*mode, *self.command.finish_arguments(_PROGRAM)])
        words = ['"$IN"' if word == _PROGRAM else shlex.quote(word) for word in arguments]
        return (
            f"cd {shlex.quote(str(self.folder))} && {driver} {' '.join(words)} "
            f'-o "$OLDPWD"/{_SCRATCH_OUTPUT}'
        )


_PROGRAM = "\0program"  # Cannot be a word of a command line.
_SCRATCH_OUTPUT = "a.out"


def make_benchmark_from_command_line(
    cmd: str | Sequence[str],
    replace_driver: bool = True,
    system_includes: bool = True,
    timeout: float = 600,
) -> BenchmarkFromCommandLine:
    """Makes a benchmark of the program that a compiler's command line builds.

    Every source is compiled to unoptimised bitcode with the options of the command line, in the
    current folder; the modules are linked. Nothing that the command line would write is written;
    that is left to :meth:`BenchmarkFromCommandLine.compile`.

    Args:
        cmd: The command line of gcc or clang, with the compiler as its first word, e.g.
            ``"gcc -DNDEBUG a.c b.c -o prog -lm"``.
        replace_driver: Whether to use the installed clang in place of the first word, which must be
            a clang otherwise.
        system_includes: Whether the headers of the system's libraries are searched.
        timeout: Seconds for each of the tools that are run.

    Returns:
        A benchmark ``benchmark://clang-v0/...``, which is buildable.

    Raises:
        ValueError: If the command line is empty, has no source, reads its source from the standard
            input, or produces no code.
        BenchmarkInitError: If a source does not compile or the modules do not link.
        EnvironmentNotSupported: If an LLVM tool is not installed.
        subprocess.TimeoutExpired: If a tool takes too long.
    """
    command = parse_compiler_command(cmd)
    driver = None if replace_driver else command.driver
    mode = _driver_mode(command) if replace_driver else []
    compilations = [
        ClangInvocation(
            _passed_on([*mode, *command.compile_arguments(source)]),
            system_includes=system_includes,
            timeout=timeout,
            driver=driver,
        )
        for source in command.sources
    ]
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        bitcode = make_bitcode(compilations, Path(folder), timeout).read_bytes()
    text = cmd if isinstance(cmd, str) else shlex.join(cmd)
    uri = f"benchmark://clang-v0/{quote_plus(text)}"
    return BenchmarkFromCommandLine(uri, bitcode, command, driver, Path(os.getcwd()))


def _driver_mode(command: CompilerCommand) -> list[str]:
    return ["--driver-mode=g++"] if command.is_cxx else []


def _passed_on(arguments: Sequence[str]) -> list[str]:
    """Adds what leaves optimising to the environment; the input stays behind its ``-x``."""
    level = next((word for word in reversed(arguments) if word.startswith("-O")), "-O0")
    # -O0 would mark every function as not to be optimised.
    levels = ["-O2"] if level == "-O0" else []
    return [*arguments, *levels, *_KEEP_THE_PASSES_OF_THE_ENVIRONMENT]
