"""Tells the service how to build and run a program."""

import shlex
from collections.abc import Mapping, Sequence

from compiler_gym.datasets import Benchmark
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import BenchmarkDynamicConfig, Command

BUILD_COMMAND = "$CC $IN -O2 -Xclang -disable-llvm-passes -o a.out -lm"
"""Generates optimised code for the bitcode as it is, and links it with the C library.

The service sets ``CC`` to its clang and ``IN`` to the bitcode file. Without
``-disable-llvm-passes``, clang would run its own ``-O2`` passes after those of the environment.
"""

TIMEOUT_SECONDS = 60


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
    run: str, link: Sequence[str] = (), pre_run: Sequence[str] = (), timeout: int = TIMEOUT_SECONDS
) -> BenchmarkDynamicConfig:
    """Makes the message for a program that is linked with the libraries of C and C++.

    Args:
        run: A command for a shell, whose output is kept in a file.
        link: Further options of the linker.
        pre_run: Same as in :func:`with_dynamic_config`, like ``timeout``.
        timeout: See there.
    """
    return make_dynamic_config(
        build=f"{BUILD_COMMAND} {shlex.join(['-lstdc++', *link])}",
        run=f"( {run} ) > output.txt",
        pre_run=pre_run,
        outfiles=["output.txt"],
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
    Only the time of the run command is measured::

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
