"""Tells the service how to build and run a program."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.errors import BenchmarkInitError, EnvironmentNotSupported
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import BenchmarkDynamicConfig, Command
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError
from compiler_gym.util.confinement import (
    Limits,
    empty_folder,
    paths_named_by,
    read_left_file,
    run_confined,
)

BUILD_COMMAND = "$CC $IN -O2 -Xclang -disable-llvm-passes -o a.out -lm"
"""Generates optimised code for the bitcode as it is, and links it with the C library.

The service sets ``CC`` to its clang and ``IN`` to the bitcode file. Without
``-disable-llvm-passes``, clang would run its own ``-O2`` passes after those of the environment.
"""

TIMEOUT_SECONDS = 60


UNCONFINED = {"COMPILER_GYM_CONFINED": "no"}
"""A variable that gives all rights of the service to a command; see ``ConfinedCommand.h``."""


def make_command(
    text: str,
    infiles: Sequence[str] = (),
    outfiles: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: int = TIMEOUT_SECONDS,
) -> Command:
    """Makes a command that the service runs in the scratch folder of the session.

    Args:
        text: What a shell understands, e.g. ``"./a.out < input.txt"``.
        infiles: Files that must exist before it runs.
        outfiles: Files that must exist after it ran.
        env: Environment variables to set.
        timeout: Seconds after which it is killed.

    Raises:
        ValueError: If the text is blank, or the timeout is not positive.
    """
    if not text.strip():
        raise ValueError("The command is blank")
    if timeout <= 0:
        raise ValueError(f"The timeout of the command '{text}' must be positive, not {timeout}")
    # The service joins the arguments by blanks, and looks among them for -o and -c.
    return Command(
        argument=text.split(" "),
        infile=infiles,
        outfile=outfiles,
        env=env or {},
        timeout_seconds=timeout,
    )


def make_dynamic_config(
    build: str | Command = BUILD_COMMAND,
    run: str | Command | None = "./a.out",
    pre_run: Sequence[str | Command] = (),
    post_run: Sequence[str | Command] = (),
    infiles: Sequence[str] = (),
    outfiles: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: int = TIMEOUT_SECONDS,
) -> BenchmarkDynamicConfig:
    """Makes the message that says how to build and run a program.

    Args and errors as of :func:`with_dynamic_config`.
    """

    def command(
        value: str | Command, needs: Sequence[str] = (), makes: Sequence[str] = ()
    ) -> Command:
        if isinstance(value, Command):
            return value
        return make_command(value, infiles=needs, outfiles=makes, env=env, timeout=timeout)

    return BenchmarkDynamicConfig(
        build_cmd=command(build, makes=["a.out"]),
        run_cmd=None if run is None else command(run, needs=infiles, makes=outfiles),
        pre_run_cmd=[command(value) for value in pre_run],
        post_run_cmd=[command(value) for value in post_run],
    )


def make_program_config(
    run: str,
    link: Sequence[str] = (),
    pre_run: Sequence[str] = (),
    timeout: int = TIMEOUT_SECONDS,
    infiles: Sequence[str] = (),
    confined: bool = True,
) -> BenchmarkDynamicConfig:
    """Makes the message for a program that is linked with the libraries of C and C++.

    Args:
        run: A command for a shell, whose output is kept in a file.
        link: Further options of the linker.
        pre_run: Same as in :func:`with_dynamic_config`, like ``timeout``.
        timeout: See there.
        infiles: See there.
        confined: Whether the program may read no other files than these, write to its folder alone,
            and use no network.
    """
    return make_dynamic_config(
        build=f"{BUILD_COMMAND} {shlex.join(['-lstdc++', *link])}",
        run=f"( {run} ) > output.txt",
        pre_run=pre_run,
        infiles=infiles,
        outfiles=["output.txt"],
        env={} if confined else UNCONFINED,
        timeout=timeout,
    )


def with_dynamic_config(
    benchmark: Benchmark,
    build: str | Command = BUILD_COMMAND,
    run: str | Command | None = "./a.out",
    pre_run: Sequence[str | Command] = (),
    post_run: Sequence[str | Command] = (),
    infiles: Sequence[str] = (),
    outfiles: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: int = TIMEOUT_SECONDS,
) -> Benchmark:
    """Makes a program runnable, so that the ``Runtime`` observation measures it.

    The commands run in a scratch folder of the session, in the order build, pre_run, run, post_run.
    Only the time of the run command is measured. All but ``post_run`` are confined: they see that
    folder, files that they name by absolute paths, and the programs and libraries of the system,
    but no variables of this process. With ``env=UNCONFINED`` they may do anything, as the commands
    after the run always may::

        program = make_benchmark("sort.c")
        program = with_dynamic_config(program, run=f"./a.out < {folder}/numbers.txt > sorted.txt")
        env.reset(benchmark=program)

    Args:
        benchmark: The program. It is not changed.
        build: Makes the executable ``a.out`` of the bitcode file ``$IN`` with the compiler ``$CC``.
        run: The command to measure; None makes a program that can be built but not run.
        pre_run: Commands before each measurement, e.g. to make the input.
        post_run: Commands after each measurement, e.g. to check the output.
        infiles: Files that the run command needs.
        outfiles: Files that the run command writes.
        env: Environment variables of all commands.
        timeout: Seconds for each command.

    Returns:
        A benchmark with the same URI, program, sources and validation callbacks. Commands given as
        messages are taken as they are, without ``infiles``, ``outfiles``, ``env`` and ``timeout``.

    Raises:
        ValueError: If a command is blank, or the timeout is not positive.
    """
    proto = BenchmarkProto()
    proto.CopyFrom(benchmark.proto)
    proto.dynamic_config.CopyFrom(
        make_dynamic_config(
            build, run, pre_run, post_run, infiles, outfiles=outfiles, env=env, timeout=timeout
        )
    )
    return Benchmark(
        proto=proto,
        validation_callbacks=benchmark.validation_callbacks(),
        sources=benchmark.sources,
    )


# Makes object files and executables of programs.

_TIMEOUT_SECONDS = 300
# Those of the service, see ConfinedCommand.cc.
_LIMITS = Limits(memory_mib=8192, processes=512, file_mib=4096, disk_mib=8192, files=1024)


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
        command: list[str | Path] = [llvm_tools.clang_path(), *options, bitcode]
        run_tool([*command, "-o", output.absolute()], timeout=_TIMEOUT_SECONDS)


def _marked_for_size(bitcode: Path, folder: Path) -> Path:
    plugin = llvm_tools.own_passes_path()
    if plugin is None:
        raise EnvironmentNotSupported(
            "The plugin with the project's own passes, which is built with the service, is missing"
        )
    # All levels of clang do what that of -O0 does.
    passes = "-passes=module(default<O0>,mark-for-size<Oz>)"
    output = folder / "marked.bc"
    options = [f"-load-pass-plugin={plugin}", passes]
    command: list[str | Path] = [llvm_tools.opt_path(), *options, bitcode]
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
    variables = {"CC": str(llvm_tools.clang_path()), "IN": str(bitcode.absolute())}
    command = ["/bin/sh", "-c", text]
    seconds = build.timeout_seconds or _TIMEOUT_SECONDS
    with empty_folder() as folder:
        if UNCONFINED.items() <= build.env.items():
            run_tool(command, seconds, cwd=folder, env={**os.environ, **build.env, **variables})
        else:
            _run_confined(command, seconds, build, variables, folder)
        name = build.outfile[0] if build.outfile else "a.out"
        made = read_left_file(folder, name)
        if made is None:
            raise BenchmarkInitError(f"The build command did not make the file {name}: {text}")
        output.write_bytes(made)
        output.chmod(0o755)


def _run_confined(
    command: Sequence[str],
    seconds: float,
    build: Command,
    variables: Mapping[str, str],
    folder: Path,
) -> None:
    """Builds a program as the service does."""
    named = [*build.infile, *build.env.values()]
    readable = [Path(each) for each in [*named, variables["IN"]] if each.startswith("/")]
    readable += [llvm_tools.clang_prefix(), *paths_named_by(command[-1])]
    # The confining program gets no variables of the benchmark: it would load a library by them.
    settings = [f"{name}={value}" for name, value in {**build.env, **variables}.items()]
    done = run_confined(
        ["/usr/bin/env", *settings, *command],
        replace(_LIMITS, seconds=seconds),
        folder=folder,
        readable=readable,
        any_addresses=True,
    )
    if done.limit == "time":
        raise subprocess.TimeoutExpired(command, seconds)
    if done.limit:
        raise BenchmarkInitError(f"The build command was stopped: {done.reason}: {command[-1]}")
    if done.returncode:
        error = CommandError(done.returncode, list(command), done.stdout, done.stderr)
        raise BenchmarkInitError(str(error))
