"""Makes one module of a program that has a build of its own: Make, CMake, or anything else."""

import os
import shutil
import sys
from pathlib import Path

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.envs.llvm.benchmarks.clang_invocation import ClangInvocation
from compiler_gym.errors import BenchmarkInitError, EnvironmentNotSupported
from compiler_gym.util.shell_format import join_cmd

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
        "LLVM_COMPILER_PATH": str(tools.clang_path().parent),
        "LLVM_CC_NAME": tools.clang_path().name,
        "LLVM_CXX_NAME": tools.tool_path("clang++").name,
        "LLVM_LINK_NAME": tools.llvm_link_path().name,
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
