"""Puts the environment in the place of the compiler in a build."""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote_plus

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.benchmarks.bitcode import ClangInvocation, make_bitcode, run_tool
from compiler_gym.envs.llvm.benchmarks.build_command import BuildCommand, parse_build_command
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_command
from compiler_gym.envs.llvm.benchmarks.validation import ProgramEnv
from compiler_gym.errors import BenchmarkInitError, EnvironmentNotSupported
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.util import llvm_tools
from compiler_gym.util.shell_format import join_cmd


class BenchmarkFromCommandLine(Benchmark):
    """A program that is defined by the command line of a compiler.

    Attributes:
        command: The jobs of the command line.
    """

    __slots__ = ("command",)

    def __init__(self, uri: str, bitcode: bytes, command: BuildCommand):
        proto = BenchmarkProto(uri=uri, program=File(contents=bitcode))
        super().__init__(proto)
        self.command = command
        proto.dynamic_config.build_cmd.CopyFrom(
            make_command(self._build_text(), outfiles=[_SCRATCH_OUTPUT])
        )

    def compile(self, env: ProgramEnv, timeout: float = 60) -> None:
        """Finishes the build: compiles and links the program of an environment.

        Code is generated at the optimisation level of the command line, ``-O2`` if it has none, but
        no other passes than those of the environment are run. The file that the command line
        names is written, and no other: neither dependencies nor a map of the linker.

        Args:
            env: An environment in an episode on this benchmark.
            timeout: Seconds that each job may take.

        Raises:
            BenchmarkInitError: If the compiler or the linker fails. The text says why.
            subprocess.TimeoutExpired: If it takes too long.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
            bitcode = str(env.write_bitcode(Path(folder) / "program.bc"))
            scratch = os.path.join(folder, "")
            for words in self.command.finish_commands(bitcode, self.command.output, scratch):
                run_tool(words, timeout, cwd=self.command.folder)

    def _build_text(self) -> str:
        # The command line may hold names relative to its folder, and the service expects the output
        # in its own scratch folder, where the command is started.
        output, scratch = f"{_SCRATCH}{_SCRATCH_OUTPUT}", f"{_SCRATCH}{_SCRATCH_OUTPUT}."
        commands = self.command.finish_commands(_PROGRAM, output, scratch)
        lines = [" ".join(map(_quoted, words)) for words in commands]
        return " && ".join([f"cd {shlex.quote(str(self.command.folder))}", *lines])


# These cannot be part of a word of a command line.
_PROGRAM = "\0program"
_SCRATCH = "\0scratch/"
_SCRATCH_OUTPUT = "a.out"


def _quoted(word: str) -> str:
    if word == _PROGRAM:
        return '"$IN"'
    name = word.removeprefix(_SCRATCH)
    return shlex.quote(word) if name == word else f'"$OLDPWD"/{name}'


class _Job(ClangInvocation):
    """The compilation of a source by the compiler proper, as clang has listed it."""

    def __init__(self, command: BuildCommand, index: int, timeout: float):
        super().__init__([], timeout=timeout)
        self._command = command
        self._index = index

    def command(self, outpath: Path) -> list[str]:
        return self._command.bitcode_command(self._index, outpath)


def make_benchmark_from_command_line(
    cmd: str | Sequence[str],
    replace_driver: bool = True,
    system_includes: bool = True,
    timeout: float = 600,
) -> BenchmarkFromCommandLine:
    """Makes a benchmark of the program that a compiler's command line builds.

    Every source is compiled to unoptimised bitcode with the options of the command line, in the
    current folder; the modules are linked. clang lists the jobs of the command line, and only
    jobs that are understood run, with outputs elsewhere. Nothing that the command line would
    write is written; that is left to :meth:`BenchmarkFromCommandLine.compile`.

    Args:
        cmd: The command line of gcc or clang, with the compiler as its first word, e.g.
            ``"gcc -DNDEBUG a.c b.c -o prog -lm"``.
        replace_driver: Whether to use the installed clang in place of the first word, which must be
            a clang otherwise. Options that only gcc has are refused.
        system_includes: Whether the headers of the system's libraries are searched.
        timeout: Seconds for each of the tools that are run.

    Returns:
        A benchmark ``benchmark://clang-v0/...``, which is buildable.

    Raises:
        ValueError: If the command line is empty, has no source, reads its source from the standard
            input, produces no code, or has an option whose effect is not known.
        BenchmarkInitError: If clang refuses the command line, a source does not compile, or the
            modules do not link.
        EnvironmentNotSupported: If an LLVM tool is not installed.
        subprocess.TimeoutExpired: If a tool takes too long.
    """
    words = shlex.split(cmd) if isinstance(cmd, str) else [str(word) for word in cmd]
    is_cxx = replace_driver and "++" in Path(words[0] if words else "").name
    options = [*(["--driver-mode=g++"] if is_cxx else []), *_search_options(system_includes)]
    command = parse_build_command(
        words, llvm_tools.clang_path() if replace_driver else None, options
    )
    compilations = [_Job(command, index, timeout) for index in range(len(command.sources))]
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        bitcode = make_bitcode(compilations, Path(folder), timeout, command.folder).read_bytes()
    text = cmd if isinstance(cmd, str) else shlex.join(cmd)
    uri = f"benchmark://clang-v0/{quote_plus(text)}"
    return BenchmarkFromCommandLine(uri, bitcode, command)


def _search_options(system_includes: bool) -> list[str]:
    return [] if system_includes else ["-nostdlibinc"]


# Makes one module of a program that has a build of its own: Make, CMake, or anything else.

_TOOLS_OF_WLLVM = ("file", "objcopy", "objdump")


def collect_bitcode(
    command: str,
    program: str | Path,
    output: str | Path,
    folder: str | Path = ".",
    timeout: float = 3600,
) -> Path:
    """Builds a program as its authors do, and collects the bitcode of all that is linked into it.

    ::

        collect_bitcode("make -j2", "src/lua", "lua.bc", folder="lua-5.4")
        program = compiler_gym.benchmark("lua.bc", run="./a.out test.lua", link=["-ldl"])

    The build is done with wllvm in place of the compilers, and leaves hidden ``.*.o.bc`` files
    beside the object files. The bitcode is unoptimised, and made for the
    ``-O`` level of the build; for ``-O2`` where that has none, or ``-O0``, which would forbid all
    optimisation.

    Args:
        command: The build, for a shell. It must heed the environment variables ``CC`` and ``CXX``
            and compile everything again: ``make clean; make CC="$CC"`` if need be.
        program: The executable or shared library that it makes, relative to the folder.
        output: The bitcode file to be written.
        folder: Where to run the command.
        timeout: Seconds that it may take.

    Returns:
        The path of the bitcode file.

    Raises:
        BenchmarkInitError: The build failed, made no such program, or did not compile it with
            ``$CC``. The text says which.
        EnvironmentNotSupported: wllvm or an LLVM tool is not installed.
        NotADirectoryError: There is no such folder.
        subprocess.TimeoutExpired: The build took too long.
    """
    folder, output = Path(folder).absolute(), Path(output).absolute()
    if not folder.is_dir():
        raise NotADirectoryError(f"There is no folder '{folder}' to build in")
    environment = _environment()
    for tool in _TOOLS_OF_WLLVM:
        if shutil.which(tool) is None:
            raise EnvironmentNotSupported(
                f"wllvm, which collects the bitcode of a build, needs the program '{tool}': on "
                "Debian and Ubuntu 'apt-get install binutils file'"
            )
    run_tool(["sh", "-c", command], timeout, cwd=folder, env=environment)
    binary = folder / program
    if not binary.is_file():
        raise BenchmarkInitError(f"'{command}' made no file '{binary}'")
    extraction: list[str | Path] = [_wllvm("extract-bc"), "-o", output, binary]
    before = output.stat().st_mtime_ns if output.exists() else None
    try:
        run_tool(extraction, timeout, cwd=folder, env=environment)
    except BenchmarkInitError as error:
        raise BenchmarkInitError(f"{_advice(binary)}\n{error}") from error
    # It says that it found nothing by making nothing.
    if not output.exists() or output.stat().st_mtime_ns == before:
        raise BenchmarkInitError(_advice(binary))
    return output


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "CC": _wllvm("wllvm"),
        "CXX": _wllvm("wllvm++"),
        "LLVM_COMPILER": "clang",
        "LLVM_COMPILER_PATH": str(llvm_tools.clang_path().parent),
        "LLVM_CC_NAME": llvm_tools.clang_path().name,
        "LLVM_CXX_NAME": llvm_tools.tool_path("clang++").name,
        "LLVM_LINK_NAME": llvm_tools.llvm_link_path().name,
        "LLVM_BITCODE_GENERATION_FLAGS": join_cmd(ClangInvocation.DEFAULT_COPT),
        # The flags of the build come last, and win.
        "CCC_OVERRIDE_OPTIONS": "# s/^-O0$/-O2/",
    }


def _wllvm(name: str) -> str:
    """Returns the path of one of wllvm's programs."""
    beside = Path(sys.executable).parent / name
    path = str(beside) if os.access(beside, os.X_OK) else shutil.which(name)
    if path is None:
        raise EnvironmentNotSupported(
            f"Collecting the bitcode of a build needs wllvm, whose '{name}' is not installed: "
            "pip install 'compiler_gym[build]'"
        )
    return path


def _advice(binary: Path) -> str:
    return (
        f"There is no bitcode of '{binary}': the build did not compile it with $CC or $CXX just "
        "now. Compile everything again with these compilers: 'make clean; make "
        'CC="$CC" CXX="$CXX"\', or a new folder for CMake'
    )
