"""Checks of a compiled program: its results are right, and ``opt`` makes the same."""

import filecmp
import hashlib
import os
import resource
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from compiler_gym.datasets import Benchmark
from compiler_gym.datasets.benchmark import looks_only
from compiler_gym.envs.llvm.benchmarks.bitcode import ClangInvocation
from compiler_gym.errors import ValidationError
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import Popen, communicate, run_command
from compiler_gym.util.confinement import (
    ConfinedRun,
    Limits,
    default_environment,
    empty_folder,
    paths_named_by,
    read_left_file,
    run_confined,
)

# The part of an environment's interface that benchmarks use.


class ProgramEnv(Protocol):
    """An environment whose program can be built and validated; ``LlvmEnv`` is one."""

    @property
    def benchmark(self) -> Benchmark | None:
        """The benchmark of the episode."""

    def write_input(self, path: Path) -> Path:
        """Writes the program that ``commandline()`` starts from to a file, and returns its path."""

    def commandline(self) -> str:
        """Returns the command line of ``opt`` that is equivalent to the actions of the episode."""

    def write_bitcode(self, path: Path) -> Path:
        """Writes the current program to a file, and returns its path."""


OPT_TIMEOUT_SECONDS = 300
COMPILE_TIMEOUT_SECONDS = 300
RUN_TIMEOUT_SECONDS = 60

LIBRARIES = ("-lm", "-lstdc++")
"""Options of the linker for programs in C and C++."""

_TRIES = 5
# Where what it makes differs from the environment: some passes of LLVM depend on addresses.
_RUNS_OF_OPT = 5
# Of what takes as long as it may.
_TRIES_IN_VAIN = 2

# A miscompiled program may print for ever. In units of 512 bytes, as POSIX counts them.
_OUTPUT_LIMIT_MIB = 64
_OUTPUT_LIMIT_BLOCKS = _OUTPUT_LIMIT_MIB * 2048
# More than programs need that do not run wild.
_MEMORY_MIB = 4096
_PROCESSES = 512
_DISK_MIB = 1024
_FILES = 1024

_LIBRARIES_VARIABLE = "LD_LIBRARY_PATH"
_MAX_QUOTED_CHARACTERS = 1000


@looks_only
def validate_against_opt(env: ProgramEnv) -> Iterator[ValidationError]:
    """Checks that ``opt``, run with ``env.commandline()``, makes the program of an environment.

    The bitcode must be the same byte for byte. This is a validation callback for any benchmark.

    Args:
        env: An environment in an episode. It is reset to get at the unoptimised program.

    Yields:
        ``Bitcode differs from opt``, ``opt failed`` or ``opt timeout``; ``opt is not
        deterministic`` if it differs, and not each time in the same way.

    Raises:
        EnvironmentNotSupported: If opt is not installed.
        ServiceError: If the program cannot be written.
    """
    commandline = env.commandline()
    if not commandline.startswith("opt "):  # Actions that are no passes.
        return
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
        folder = Path(name)
        expected = _sha1(env.write_bitcode(folder / "environment.bc"))
        env.write_input(folder / "input.bc")
        made: list[str] = []
        while len(made) < _RUNS_OF_OPT:
            try:
                reply = run_opt(commandline, folder, check=False)
            except subprocess.TimeoutExpired:
                yield ValidationError(
                    "opt timeout", {"commandline": commandline, "seconds": OPT_TIMEOUT_SECONDS}
                )
                return
            if reply.returncode:
                messages = _quote(reply.stderr)
                yield ValidationError(
                    "opt failed", {"commandline": commandline, "stderr": messages}
                )
                return
            made.append(_sha1(folder / "output.bc"))
            if made == [expected]:
                return
    yield ValidationError(
        "Bitcode differs from opt" if len({*made}) == 1 else "opt is not deterministic",
        {"commandline": commandline, "environment_sha1": expected, "opt_sha1": made[0]},
    )


def _sha1(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()


def run_opt(commandline: str, folder: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs ``opt`` as the command line of an environment says.

    Args:
        commandline: The command line. It reads ``input.bc`` and writes ``output.bc``.
        folder: Where these are.
        check: Same as in :func:`run_command`.

    Raises:
        EnvironmentNotSupported: If opt is not installed.
        Exception: Any error of :func:`run_command`.
    """
    command: list[str | Path] = [llvm_tools.opt_path(), *shlex.split(commandline)[1:]]
    return run_command(command, OPT_TIMEOUT_SECONDS, cwd=folder, check=check)


@dataclass(frozen=True)
class ProgramRun:
    """A run of a program with a known result.

    Attributes:
        stdin: The file that the program reads. By default there is no input.
        expected_stdout: The file that holds what must be printed, byte for byte.
        command: What runs in a shell, in a folder that has the program as ``a.out`` and nothing
            else. By default the program without arguments.
        expected_files: The files that it writes there, by name, each with the file that holds what
            must be in it.
        seconds: The time limit; None for :data:`RUN_TIMEOUT_SECONDS`.
        is_confined: Whether the program may use nothing but its folder, the system's programs and
            libraries, and the files and folders that the command names by absolute paths. It has
            no network then. See ``docs/security.md``.
    """

    stdin: Path = Path(os.devnull)
    expected_stdout: Path = Path(os.devnull)
    command: str = "exec ./a.out"
    expected_files: Sequence[tuple[str, Path]] = ()
    seconds: float | None = None
    is_confined: bool = True

    @property
    def named_paths(self) -> list[Path]:
        """The files and folders that the command names by absolute paths."""
        return paths_named_by(self.command)

    @property
    def name(self) -> str:
        """The name in messages: that of the input, or of the command if it has one."""
        return self.stdin.name if self.stdin != Path(os.devnull) else self.command


@dataclass(frozen=True)
class ProgramValidator:
    """A validation callback that builds the program and compares its output.

    Attributes:
        runs: The runs to make, one after the other.
        linker_options: Options for the linker, e.g. ``("-lm",)``.
    """

    runs: Sequence[ProgramRun]
    linker_options: Sequence[str] = ("-lm",)

    def __call__(self, env: ProgramEnv) -> Iterator[ValidationError]:
        """Validates the program of an environment.

        Yields:
            ``Compilation failed``, ``Compilation timeout``, and for each run at most one of
            ``Execution timeout``, ``Segmentation fault``, ``Illegal Instruction``,
            ``Runtime error (status)``, ``Output not generated``, ``Wrong output``,
            ``Wrong output (file)``; see :func:`settled` for those that do not come each time.

        Raises:
            EnvironmentNotSupported: If clang is not installed.
            ServiceError: If the program cannot be written.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            yield from self.errors_of(env.write_bitcode(Path(name) / "program.bc"))

    def errors_of(self, program: Path) -> Iterator[ValidationError]:
        """Validates a program that is a bitcode file or an object file; as for environments."""
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            executable = Path(name) / "a.out"
            error = _build(program, executable, self.linker_options)
            if error:
                yield error
                return
            yield from self.errors_of_executable(executable)

    def errors_of_executable(self, executable: Path) -> Iterator[ValidationError]:
        """Validates a program that is linked; files are written beside it. As for environments."""
        for run in self.runs:
            error = _check_run(executable, run)
            if error:
                yield error


@dataclass(frozen=True)
class ReferenceValidator:
    """A validation callback for programs without a known output.

    What the program prints, and the files that it writes, are compared with those of the program
    without optimisations, which must be the same each time. It gets no input.

    Attributes:
        linker_options: Options for the linker.
        reference_seconds: How long each run of the unoptimised program may take.
        commands: The runs to make, each as the command of :class:`ProgramRun`.
        files: The names of the files that each run writes.
        run_seconds: The time limit of each run of the optimised program; None for
            :data:`RUN_TIMEOUT_SECONDS`.
        is_confined: Same as in :class:`ProgramRun`.
    """

    linker_options: Sequence[str] = ("-lm",)
    reference_seconds: float = 10
    commands: Sequence[str] = (ProgramRun.command,)
    files: Sequence[str] = ()
    run_seconds: float | None = None
    is_confined: bool = True

    @property
    def runs(self) -> Sequence[ProgramRun]:
        """The runs to make. What must come of them is not known."""
        return [
            ProgramRun(command=command, is_confined=self.is_confined) for command in self.commands
        ]

    def __call__(self, env: ProgramEnv) -> Iterator[ValidationError]:
        """Validates the program of an environment, which is reset.

        Yields:
            As :class:`ProgramValidator`. If it is the unoptimised program that fails, nothing was
            compared, and the type ends in ``of the unoptimised program``.

        Raises:
            EnvironmentNotSupported: If clang is not installed.
            ServiceError: If the program cannot be written.
        """
        with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name:
            folder = Path(name)
            unoptimised, bitcode = before_and_after(env, folder)
            reference, executable = folder / "reference", folder / "a.out"
            if error := _build(unoptimised, reference, self.linker_options):
                yield _of_reference(error)
            elif error := _build(bitcode, executable, self.linker_options):
                yield error
            else:
                for command in self.commands:
                    if error := self._compare(reference, executable, command):
                        yield error

    def _compare(self, reference: Path, executable: Path, command: str) -> ValidationError | None:
        folder = reference.parent
        run = ProgramRun(
            expected_stdout=folder / "expected",
            command=command,
            expected_files=[
                (name, folder / f"expected-{number}") for number, name in enumerate(self.files)
            ],
            seconds=self.run_seconds,
            is_confined=self.is_confined,
        )
        written = [path for _, path in run.expected_files]
        stdout, seconds = run.expected_stdout, self.reference_seconds
        if error := run_program(reference, run, stdout, seconds, written):
            return _of_reference(error)
        return _check_run(executable, run)


def _of_reference(error: ValidationError) -> ValidationError:
    return ValidationError(f"{error.type} of the unoptimised program", error.data)


def before_and_after(env: ProgramEnv, folder: Path) -> tuple[Path, Path]:
    """Writes the program of an environment without passes and with them. Resets it.

    Raises:
        ServiceError: If the program cannot be written.
    """
    optimised = env.write_bitcode(folder / "program.bc")
    return env.write_input(folder / "reference.bc"), optimised


def _build(
    program: Path, executable: Path, linker_options: Sequence[str]
) -> ValidationError | None:
    return build_program(program, executable, [*ClangInvocation.DEFAULT_COPT, *linker_options])


def build_program(
    program: Path, executable: Path, options: Sequence[str]
) -> ValidationError | None:
    """Builds a program from bitcode or an object file. Returns the error, if any."""
    command: list[str | Path] = [llvm_tools.clang_path(), program, "-o", executable, *options]
    try:
        reply = run_command(command, COMPILE_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return ValidationError("Compilation timeout", {"seconds": COMPILE_TIMEOUT_SECONDS})
    if reply.returncode:
        return ValidationError("Compilation failed", {"stderr": _quote(reply.stderr)})
    return None


def settled(check: Callable[[], ValidationError | None]) -> ValidationError | None:
    """Runs a check, and if it fails, again, to tell failures from those of now and then.

    Args:
        check: Runs the program once.

    Returns:
        None if it does not fail. If it fails five times (two if it runs into a time limit), what
        was wrong the first time. If it succeeds before that, the same with ``(flaky)`` added to the
        type: the program depends on something that it should not, or the machine has failed it.
        ``"runs"`` of the data is how many runs there were.
    """
    error = check()
    if error is None:
        return None
    tries = _TRIES_IN_VAIN if error.type == "Execution timeout" else _TRIES
    for runs in range(2, tries + 1):
        if check() is None:
            return ValidationError(f"{error.type} (flaky)", {**error.data, "runs": runs})
    return ValidationError(error.type, {**error.data, "runs": tries})


def _check_run(executable: Path, run: ProgramRun) -> ValidationError | None:
    """Returns the errors in runs of the program, if any."""
    return settled(lambda: _check_one_run(executable, run))


def _check_one_run(executable: Path, run: ProgramRun) -> ValidationError | None:
    stdout = executable.with_name("stdout")
    written = [executable.with_name(f"file-{number}") for number in range(len(run.expected_files))]
    seconds = RUN_TIMEOUT_SECONDS if run.seconds is None else run.seconds
    error = run_program(executable, run, stdout, seconds, written)
    if error:
        return error
    expected, actual = run.expected_stdout.read_bytes(), stdout.read_bytes()
    if actual != expected:
        details = {"input": run.name, "expected": _quote(expected), "actual": _quote(actual)}
        return ValidationError("Wrong output", details)
    for (name, right), path in zip(run.expected_files, written, strict=True):
        if not filecmp.cmp(right, path, shallow=False):
            return ValidationError("Wrong output (file)", {"input": run.name, "file": name})
    return None


def run_program(
    executable: Path,
    run: ProgramRun,
    stdout: Path,
    seconds: float,
    written: Sequence[Path] | None = None,
) -> ValidationError | None:
    """Runs a program in a folder of its own. Returns the error, if any.

    Args:
        executable: The program.
        run: What to run. What must come of it is not looked at.
        stdout: The file for what the program prints.
        seconds: How long it may take.
        written: Where to move the files that the run must write. None if they are not wanted.
    """
    error, _ = measure_program(executable, run, stdout, seconds, written)
    return error


def measure_program(
    executable: Path,
    run: ProgramRun,
    stdout: Path,
    seconds: float,
    written: Sequence[Path] | None = None,
) -> tuple[ValidationError | None, float]:
    """Runs a program as :func:`run_program` does, and returns its processor time in seconds, too.

    The time is that of the command and the processes that it waited for.
    """
    details: dict[str, Any] = {"input": run.name}
    with empty_folder() as folder:
        (folder / "a.out").symlink_to(executable)
        start = _run_confined if run.is_confined else _run_freely
        with run.stdin.open("rb") as source, stdout.open("wb") as sink:
            done = start(executable, run, folder, seconds, source, sink)
        if done.limit == "time":
            details["seconds"] = seconds
            return ValidationError("Execution timeout", details), done.cpu_seconds
        if done.returncode:
            details["stderr"] = _quote(done.stderr)
            if done.limit:
                details["limit"] = done.reason
            return ValidationError(_status_error_type(done.returncode), details), done.cpu_seconds
        for (name, _), path in zip(run.expected_files, written or (), strict=False):
            contents = read_left_file(folder, name)
            if contents is None:
                details["file"] = name
                return ValidationError("Output not generated", details), done.cpu_seconds
            path.write_bytes(contents)
    return None, done.cpu_seconds


def _run_confined(
    executable: Path,
    run: ProgramRun,
    folder: Path,
    seconds: float,
    source: BinaryIO,
    sink: BinaryIO,
) -> ConfinedRun:
    libraries = os.environ.get(_LIBRARIES_VARIABLE, "")
    folders = [Path(each) for each in libraries.split(os.pathsep) if Path(each).is_dir() and each]
    environment = default_environment(folder)
    if folders:
        environment[_LIBRARIES_VARIABLE] = libraries
    return run_confined(
        ["/bin/sh", "-c", run.command],
        Limits(seconds, 0, _MEMORY_MIB, _PROCESSES, _OUTPUT_LIMIT_MIB, _DISK_MIB, _FILES),
        folder=folder,
        readable=[executable, *run.named_paths, *folders],
        env=environment,
        stdin=source,
        stdout=sink,
        any_addresses=True,  # Sanitizers.
    )


def _run_freely(
    executable: Path,
    run: ProgramRun,
    folder: Path,
    seconds: float,
    source: BinaryIO,
    sink: BinaryIO,
) -> ConfinedRun:
    """Runs a program with the rights of the user."""
    command = ["/bin/sh", "-c", f"ulimit -f {_OUTPUT_LIMIT_BLOCKS}; {run.command}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    limit, errors = "", b""
    with Popen(command, stdin=source, stdout=sink, stderr=subprocess.PIPE, cwd=folder) as process:
        try:
            _, errors = communicate(process, timeout=seconds)
        except subprocess.TimeoutExpired:
            limit = "time"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    elapsed = time.monotonic() - begin
    return ConfinedRun(command, process.returncode, b"", errors, limit, limit, elapsed, cpu)


def _status_error_type(status: int) -> str:
    signals: dict[int, str] = {
        signal.SIGSEGV: "Segmentation fault",
        signal.SIGBUS: "Segmentation fault",
        signal.SIGILL: "Illegal Instruction",
    }
    # A shell that goes on after the program says it in its own way.
    number = -status if status < 0 else status - 128
    return signals.get(number, f"Runtime error ({status})")


def _quote(output: bytes | str) -> str:
    text = output if isinstance(output, str) else output.decode(errors="replace")
    text = text.strip()
    return text if len(text) <= _MAX_QUOTED_CHARACTERS else text[:_MAX_QUOTED_CHARACTERS] + " ..."
