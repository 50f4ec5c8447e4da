"""Makes object files and executables of programs."""

import os
import shutil
import tempfile
from pathlib import Path

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.envs.llvm.benchmarks.dynamic_config import BUILD_COMMAND
from compiler_gym.errors import BenchmarkInitError, EnvironmentNotSupported
from compiler_gym.service.proto import BenchmarkDynamicConfig

_TIMEOUT_SECONDS = 300


def build_object(bitcode: Path, output: Path, for_size: bool = True) -> None:
    """Generates the code of a program without any further pass of clang.

    Args:
        bitcode: The program.
        output: The object file to be written.
        for_size: Whether all functions are compiled for size, as ``ObjectTextSizeBytes`` is
            measured, or each as its attributes say.

    Raises:
        EnvironmentNotSupported: If the LLVM tools are not installed.
        BenchmarkInitError: If LLVM cannot compile it. The text says why.
    """
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        if for_size:
            bitcode = _marked_for_size(bitcode, Path(folder))
        level = "-Oz" if for_size else "-O2"
        options = [level, "-Xclang", "-disable-llvm-passes", "-w", "-c"]
        command: list[str | Path] = [tools.clang_path(), *options, bitcode]
        run_tool([*command, "-o", output.absolute()], timeout=_TIMEOUT_SECONDS)


def _marked_for_size(bitcode: Path, folder: Path) -> Path:
    plugin = tools.own_passes_path()
    if plugin is None:
        raise EnvironmentNotSupported(
            "The plugin with the project's own passes, which is built with the service, is missing"
        )
    # All levels of clang do what that of -O0 does.
    passes = "-passes=module(default<O0>,mark-for-size<Oz>)"
    output = folder / "marked.bc"
    options = [f"-load-pass-plugin={plugin}", passes]
    command: list[str | Path] = [tools.opt_path(), *options, bitcode]
    run_tool([*command, "-o", output], timeout=_TIMEOUT_SECONDS)
    return output


def build_executable(bitcode: Path, output: Path, config: BenchmarkDynamicConfig) -> None:
    """Makes an executable as a benchmark says, by default a program of C or C++ alone.

    Args:
        bitcode: The program.
        output: The file to be written.
        config: The benchmark's ``dynamic_config``.

    Raises:
        EnvironmentNotSupported: If clang is not installed.
        BenchmarkInitError: If the program cannot be built. The text says why.
    """
    build = config.build_cmd
    text = " ".join(build.argument) or f"{BUILD_COMMAND} -lstdc++"
    variables = {"CC": str(tools.clang_path()), "IN": str(bitcode.absolute())}
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        run_tool(
            ["/bin/sh", "-c", text],
            timeout=build.timeout_seconds or _TIMEOUT_SECONDS,
            cwd=Path(folder),
            env={**os.environ, **build.env, **variables},
        )
        made = Path(folder, build.outfile[0] if build.outfile else "a.out")
        if not made.is_file():
            raise BenchmarkInitError(f"The build command did not make {made.name}: {text}")
        shutil.copy(made, output)
