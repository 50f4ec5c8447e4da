"""Confined runs of programs that are not ours: they may compute, and write to one folder.

:func:`run_confined` runs a program with limits, an empty folder, no network and no access to other
programs and files. The program ``compiler_gym-confine`` does the work; its sources are in
``llvm_service/confine/``. It uses the means that the system has, which :func:`protections` returns.
"""

import contextlib
import errno
import functools
import os
import re
import select
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from compiler_gym.util.commands import Popen, run_command
from compiler_gym.util.runfiles_path import find_service_binary

_PROGRAM = "compiler_gym-confine"
_PATH = "/usr/local/bin:/usr/bin:/bin"

# The program ends at its own limit of time. This is for its start on a busy machine.
_GRACE_SECONDS = 60
_PROBE_SECONDS = 60

_MIB = 1 << 20
_MOST_COPIED_BYTES = 1 << 30

# A file or folder that a command names. Quotes end a name.
_ABSOLUTE_PATH = re.compile(r"(?<![\w$}])/[^\s'\"<>|&;()]+")

MODE_VARIABLE = "COMPILER_GYM_CONFINEMENT"
"""Names the means to do without, for tests: ``no-namespaces``, ``no-landlock`` or both."""


class ConfinementError(OSError):
    """A program that could not be started in confinement."""


@dataclass(frozen=True)
class Limits:
    """The limits of a confined program, with all processes that it starts.

    Attributes:
        seconds: The elapsed time.
        cpu_seconds: The processor time of each process; 0 for no limit.
        memory_mib: The memory of all processes together, in MiB.
        processes: The number of processes and threads.
        file_mib: The size of each file, standard output included, in MiB.
        disk_mib: The size of all files together, in MiB.
        files: The number of files that each process may open at once.
    """

    seconds: float = 10
    cpu_seconds: int = 0
    memory_mib: int = 1024
    processes: int = 64
    file_mib: int = 64
    disk_mib: int = 256
    files: int = 256

    def arguments(self) -> list[str]:
        """Returns the arguments of ``compiler_gym-confine``."""
        return [
            f"--seconds={self.seconds:.9f}",
            f"--cpu={self.cpu_seconds}",
            f"--memory={self.memory_mib * _MIB}",
            f"--processes={self.processes}",
            f"--file_bytes={self.file_mib * _MIB}",
            f"--disk_bytes={self.disk_mib * _MIB}",
            f"--files={self.files}",
        ]

    def describe(self, limit: str) -> str:
        """Returns a sentence about a limit that was exceeded; see :attr:`ConfinedRun.limit`."""
        return {
            "time": f"it took longer than {self.seconds:g} s",
            "cpu": f"a process took more than {self.cpu_seconds} s of processor time",
            "memory": f"it needed more than {self.memory_mib} MiB of memory",
            "processes": f"it started more than {self.processes} processes",
            "file": f"it wrote more than {self.file_mib} MiB to a file",
            "disk": f"it wrote more than {self.disk_mib} MiB",
        }.get(limit, "it was killed")


@dataclass(frozen=True)
class ConfinedRun:
    """The end of a confined program.

    Attributes:
        args: The command.
        returncode: The exit code, or the negative number of the signal that ended it.
        stdout: The standard output; empty if it went to a file of the caller.
        stderr: The error output.
        limit: The limit that ended it: ``time``, ``cpu``, ``memory``, ``processes``, ``file`` or
            ``disk``; empty if none did.
        reason: The same as a sentence.
        seconds: The elapsed time from the start to the end of the program, without the time to set
            up the confinement.
        cpu_seconds: The processor time of the program and the processes that it waited for.
    """

    args: Sequence[str]
    returncode: int
    stdout: bytes
    stderr: bytes
    limit: str
    reason: str
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Protections:
    """The means of the system that confine programs.

    Attributes:
        namespaces: The program sees only its own processes, network and files.
        landlock: The version of Landlock that restricts the files; 0 for none. With namespaces,
            none is needed.
        seccomp: Whether system calls are filtered.
        own_user: Whether the program runs as a user that no other process has. Needs root.
        refused: The reason why there are no namespaces.
    """

    namespaces: bool
    landlock: int
    seccomp: bool
    own_user: bool
    refused: str = ""

    def in_force(self) -> list[str]:
        """Returns the means in words."""
        words = {
            "namespaces": self.namespaces,
            f"Landlock {self.landlock}": self.landlock > 0,
            "seccomp": self.seccomp,
            "a user of its own": self.own_user,
            "limits": True,
        }
        return [word for word, is_used in words.items() if is_used]

    def missing(self) -> list[str]:
        """Returns what a confined program can do on this system, but should not."""
        found = []
        if not self.namespaces:
            if not self.landlock:
                whose = "that all users can read" if self.own_user else "of the user"
                found.append(f"read files {whose}")
            if not self.landlock and not self.own_user:
                found.append("write files of the user")
            if not self.own_user and self.landlock < _SCOPED_LANDLOCK:
                found.append("send signals to other programs of the user")
            if not self.seccomp:
                found.append("use the network")
            if not self.own_user and not self.seccomp:
                found.append("debug other programs of the user")
        elif not self.seccomp:
            found.append("call any function of the kernel")
        return found

    def __str__(self) -> str:
        text = ", ".join(self.in_force())
        missing = self.missing()
        if self.refused:
            text += f"; no namespaces: {self.refused}"
        return f"{text}; programs can {', '.join(missing)}" if missing else text


# Signals do not leave the confined processes from this version of Landlock on.
_SCOPED_LANDLOCK = 6


@functools.cache
def _protections(modes: tuple[str, ...]) -> Protections:
    with empty_folder() as folder, _report() as report:
        command = [confining_program(), f"--folder={folder}", f"--report={report.write}", "--probe"]
        with Popen([*map(str, command), *modes], pass_fds=[report.write], env={}) as process:
            report.read(_PROBE_SECONDS)
            process.wait()
    return report.protections()


def protections() -> Protections:
    """Returns the means that confine programs on this system.

    Raises:
        EnvironmentNotSupported: ``compiler_gym-confine`` is not installed.
        ConfinementError: Programs cannot be confined at all.
    """
    return _protections(tuple(_modes()))


def run_confined(
    cmd: Sequence[str | Path],
    limits: Limits | None = None,
    *,
    folder: Path | None = None,
    readable: Sequence[Path] = (),
    env: Mapping[str, str] | None = None,
    stdin: bytes | BinaryIO = b"",
    stdout: BinaryIO | None = None,
    network: bool = False,
    any_addresses: bool = False,
) -> ConfinedRun:
    """Runs a program that may compute and write to one folder, and nothing else.

    At its end, or at a limit, all processes that it has started are killed.

    Args:
        cmd: The program, as an absolute path, and its arguments; there is no shell between. The
            program is readable.
        limits: The limits; by default those of :class:`Limits`.
        folder: The working directory. Only there may it write. By default an empty folder that is
            removed afterwards. What the program leaves there is not to be trusted: read it with
            :func:`read_left_file`.
        readable: Files and folders that it may read, besides programs, libraries and headers of the
            system. Too wide folders are left out; see ``compiler_gym-confine --help``.
        env: The environment variables. By default ``PATH``, ``HOME``, ``TMPDIR`` and ``LANG``.
            Variables of this process are never passed.
        stdin: The standard input: bytes, or a file, which is copied.
        stdout: A file for the standard output, which is written at the end of the run. It is
            limited as all files.
        network: Whether it may use the network.
        any_addresses: Whether it may reserve any number of addresses, as sanitizers do. The limit
            of the memory holds.

    Returns:
        The end of the program. It is the caller's task to look at its exit code and limit.

    Raises:
        EnvironmentNotSupported: ``compiler_gym-confine`` is not installed.
        FileNotFoundError: There is no such program or folder.
        ConfinementError: The program could not be started, or it could not be confined.
    """
    limits = limits or Limits()
    words = [str(word) for word in cmd]
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = stack.enter_context(empty_folder())
        folder = folder.absolute()
        report = stack.enter_context(_report())
        source = stack.enter_context(_input(stdin))
        sink = stack.enter_context(_memory_file())
        errors = stack.enter_context(_memory_file())
        flags = ["--network"] * network + ["--any_addresses"] * any_addresses + _modes()
        process = stack.enter_context(
            Popen(
                [
                    confining_program(),
                    f"--folder={folder}",
                    f"--report={report.write}",
                    *limits.arguments(),
                    *flags,
                    *(f"--read={path.absolute()}" for path in [Path(words[0]), *readable]),
                    "--",
                    *words,
                ],
                stdin=source,
                stdout=sink,
                stderr=errors,
                pass_fds=[report.write],
                env=default_environment(folder) if env is None else {**env},
                cwd="/",
            )
        )
        report.read(limits.seconds + _GRACE_SECONDS)
        code = process.wait()
        printed = b"" if stdout else _content(sink)
        done = report.run(words, code, printed, _content(errors), limits)
        if stdout is not None:
            _copy(sink, stdout)
        return done


def default_environment(folder: Path) -> dict[str, str]:
    """Returns the environment variables of a program in a folder."""
    return {"PATH": _PATH, "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}


def paths_named_by(command: str) -> list[Path]:
    """Returns the files and folders that a command of a shell names by absolute paths."""
    named = _ABSOLUTE_PATH.findall(command)
    for word in _words(command):
        start = word.find("/")
        if start == 0 or (start > 0 and word.startswith("-")):
            named.append(word[start:])
    return [path for path in map(Path, dict.fromkeys(named)) if os.path.exists(path)]


def _words(command: str) -> list[str]:
    """Returns the words of a command of a shell, with blanks where they are quoted."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    try:
        return list(words)
    except ValueError:  # A quotation mark without another one, as in a comment.
        return []


def confining_program() -> Path:
    """Returns the path of ``compiler_gym-confine``.

    Raises:
        EnvironmentNotSupported: It is not installed.
    """
    return find_service_binary(_PROGRAM)


def _modes() -> list[str]:
    return [f"--{each.replace('-', '_')}" for each in os.environ.get(MODE_VARIABLE, "").split()]


@contextmanager
def empty_folder() -> Iterator[Path]:
    """Yields an empty folder for a confined program, and removes it."""
    folder = Path(tempfile.mkdtemp(prefix="compiler_gym-"))
    try:
        yield folder
    finally:
        remove_left_folder(folder)


def remove_left_folder(folder: Path) -> None:
    """Removes a folder that a confined program has written to.

    Such a folder may have folders without permissions, links to anywhere, and any depth.
    """
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        # Unlike tempfile.TemporaryDirectory, these never follow links.
        run_command(["/bin/chmod", "-R", "u+rwx", folder], check=False)
        run_command(["/bin/rm", "-rf", folder], check=False)


def read_left_file(folder: Path, name: str) -> bytes | None:
    """Reads a file that a confined program has written.

    Args:
        folder: The folder of the program.
        name: The name of the file in it.

    Returns:
        None if there is no such file, or if it is a link or no regular file.
    """
    try:
        # A link or a named pipe could lead elsewhere, or never end.
        file = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(file, "rb") as opened:
        is_in_folder = (folder / name).parent.resolve().is_relative_to(folder.resolve())
        is_regular = os.path.isfile(f"/proc/self/fd/{file}")
        return opened.read() if is_in_folder and is_regular else None


@contextmanager
def _memory_file() -> Iterator[BinaryIO]:
    with open(os.memfd_create("output", os.MFD_CLOEXEC), "r+b", buffering=0) as file:
        yield file


@contextmanager
def _input(stdin: bytes | BinaryIO) -> Iterator[BinaryIO]:
    if not isinstance(stdin, bytes):
        yield stdin
        return
    with _memory_file() as file:
        left = memoryview(stdin)
        while left:
            left = left[file.write(left) :]
        file.seek(0)
        yield file


def _content(file: BinaryIO) -> bytes:
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    """Copies a file of memory to the end of another file."""
    target.flush()
    position = 0
    while count := os.sendfile(target.fileno(), source.fileno(), position, _MOST_COPIED_BYTES):
        position += count


class _Report:
    """The facts about a run that ``compiler_gym-confine`` writes to a pipe."""

    def __init__(self) -> None:
        self._read, self.write = os.pipe2(os.O_CLOEXEC)
        self._facts: dict[str, str] = {}

    def close(self) -> None:
        """Closes the pipe."""
        os.close(self._read)
        self._close_write()

    def _close_write(self) -> None:
        if self.write >= 0:
            os.close(self.write)
            self.write = -1

    def read(self, seconds: float) -> None:
        """Reads until the end of the run.

        Raises:
            ConfinementError: The run does not end in this time.
        """
        self._close_write()
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        text = b""
        while True:
            if not poll.poll(max(0, deadline - time.monotonic()) * 1000):
                raise ConfinementError(f"{_PROGRAM} did not end within {seconds:g} s")
            data = os.read(self._read, 65536)
            if not data:
                break
            text += data
        for line in text.decode(errors="replace").splitlines():
            word, _, rest = line.partition(" ")
            self._facts[word] = rest

    def protections(self) -> Protections:
        """Returns the means that were used."""
        self._raise_error()
        namespaces, landlock, seccomp, own_user = map(int, self._facts["means"].split())
        refused = "" if namespaces else _reason(self._facts.get("refused", ""))
        return Protections(bool(namespaces), landlock, bool(seccomp), bool(own_user), refused)

    def run(
        self, words: Sequence[str], code: int, stdout: bytes, stderr: bytes, limits: Limits
    ) -> ConfinedRun:
        """Returns the end of the program."""
        self._raise_error()
        if "signal" in self._facts:
            code = -int(self._facts["signal"])
        limit = self._facts.get("limit", _LIMITS_BY_SIGNAL.get(-code, ""))
        elapsed, cpu = map(float, self._facts["seconds"].split())
        reason = limits.describe(limit) if limit else ""
        return ConfinedRun(words, code, stdout, stderr, limit, reason, elapsed, cpu)

    def _raise_error(self) -> None:
        if "error" in self._facts or "seconds" not in self._facts:
            text = self._facts.get("error", "")
            number = int(text.split()[0]) if text else errno.ECHILD
            kind = FileNotFoundError if number == errno.ENOENT else ConfinementError
            raise kind(number, _reason(text) or f"{_PROGRAM} was killed")


_LIMITS_BY_SIGNAL = {int(signal.SIGXCPU): "cpu", int(signal.SIGXFSZ): "file"}


def _reason(text: str) -> str:
    """Returns an error of the report, which has a number and a step, in words."""
    number, _, step = text.partition(" ")
    return f"{step}: {os.strerror(int(number))}" if number.isdigit() else text


@contextmanager
def _report() -> Iterator[_Report]:
    report = _Report()
    try:
        yield report
    finally:
        report.close()
