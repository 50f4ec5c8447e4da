"""Programs that are started once and run many times.

Loading clang takes longer than compiling a small file. :func:`run_started` loads a program once,
with a library that keeps it waiting before its ``main``, and runs each command in a forked copy.
The copy is the same program in the same state, and so are its results. The library is
``llvm_service/starter/ProgramStarter.cc``.
"""

import contextlib
import os
import resource
import socket
import struct
import subprocess
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compiler_gym.util.commands import CommandError, killable, run_command
from compiler_gym.util.launcher import kill_process_group
from compiler_gym.util.runfiles_path import find_service_file

_LIBRARY = "compiler_gym-program-starter.so"
_SOCKET_VARIABLE = "COMPILER_GYM_STARTER"
_PRELOAD_VARIABLE = "LD_PRELOAD"

_START_SECONDS = 60
_LEAST_SECONDS = 1e-3
_ELF = b"\x7fELF"

# The exit code of a copy that could not begin.
_NOT_STARTED = 127

_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


class _CannotStartError(Exception):
    """The command has to be started in the ordinary way."""


class _Starter:
    """A program that waits before its ``main``. It ends with the last reference to this object.

    Args:
        program: The path of the program.
        library: The library to preload.

    Raises:
        _CannotStartError: If the program does not load the library, such as a static one.
    """

    def __init__(self, program: str, library: Path):
        self._requests, requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        others = os.environ.get(_PRELOAD_VARIABLE)
        preload = str(library) if others is None else f"{library}:{others}"
        variables = {_PRELOAD_VARIABLE: preload, _SOCKET_VARIABLE: str(requests.fileno())}
        with requests:
            process = subprocess.Popen(
                [program],
                env={**os.environ, **variables},
                pass_fds=[requests.fileno()],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._end = weakref.finalize(self, _end, self._requests, process)
        self._requests.settimeout(_START_SECONDS)
        is_ready = False
        with contextlib.suppress(OSError):
            is_ready = bool(self._requests.recv(1))
        if not is_ready:
            kill_process_group(process)
            self._end()
            raise _CannotStartError
        self._requests.settimeout(None)

    def run(self, words: Sequence[str], timeout: float | None) -> subprocess.CompletedProcess[str]:
        """Runs the program, as :func:`run_started` does.

        Raises:
            _CannotStartError: If no copy has run to its end.
            subprocess.TimeoutExpired: If the program did not end in time.
        """
        body = b"".join(os.fsencode(word) + b"\0" for word in (os.getcwd(), *words))
        with _Streams() as streams:
            reply, request = socket.socketpair()
            with reply:
                with request:
                    files = [*streams.files, request.fileno()]
                    socket.send_fds(self._requests, [b"\1"], files)
                with killable(lambda: _kill(reply)):
                    reply.sendall(struct.pack("=I", len(body)) + body)
                    status = _status(reply, timeout)
            said = streams.read()
        if status is None:
            raise subprocess.TimeoutExpired(words, timeout or 0, *said)
        code = os.waitstatus_to_exitcode(status)
        if code == _NOT_STARTED:
            raise _CannotStartError
        return subprocess.CompletedProcess([*words], code, *map(_decoded, said))


class _Streams:
    """The standard streams of a copy: an empty input, and files in memory."""

    def __init__(self) -> None:
        self.files: list[int] = []

    def __enter__(self) -> "_Streams":
        self.files.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        self.files += [os.memfd_create("output"), os.memfd_create("errors")]
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files:
            os.close(file)

    def read(self) -> list[bytes]:
        """Returns what was written to standard output and error."""
        return [os.pread(file, os.fstat(file).st_size, 0) for file in self.files[1:]]


def _status(reply: socket.socket, timeout: float | None) -> int | None:
    """Waits for the end of a copy. Returns its status; None if it was killed as time was up."""
    reply.settimeout(None if timeout is None else max(timeout, _LEAST_SECONDS))
    is_over = False
    try:
        data = reply.recv(4)
    except TimeoutError:
        is_over = True
        data = _ended(reply)
    except BaseException:
        _ended(reply)
        raise
    if is_over:
        return None
    if len(data) != 4:
        raise _CannotStartError
    status: int = struct.unpack("=i", data)[0]
    return status


def _ended(reply: socket.socket) -> bytes:
    """Kills a copy, and waits until it is gone."""
    _kill(reply)
    reply.settimeout(None)
    return reply.recv(4)


def _kill(reply: socket.socket) -> None:
    with contextlib.suppress(OSError):  # The starter is gone, and all copies with it.
        reply.shutdown(socket.SHUT_WR)


def _decoded(data: bytes) -> str:
    text = data.decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _end(requests: socket.socket, process: subprocess.Popen[Any]) -> None:
    requests.close()
    process.wait()


# For each program the state of the machine in which it has been started, and the starter; None if
# there can be none.
_starters: dict[str, tuple[object, _Starter | None]] = {}
_lock = threading.Lock()


def _forget() -> None:
    global _lock
    _lock = threading.Lock()
    _starters.clear()


# Another process has starters of its own.
os.register_at_fork(after_in_child=_forget)


def run_started(
    cmd: Sequence[str | Path], timeout: float | None = None, *, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, as :func:`run_command` does, but without loading it each time.

    The program is loaded by the first call. A program that cannot be kept, such as a static one or
    a script, is started anew each time.

    Args:
        cmd: The program and its arguments; there is no shell between.
        timeout: The greatest number of seconds to wait; None for any.
        check: Whether an exit code other than 0 is an error.

    Returns:
        The exit code and what was written to the standard output and error streams.

    Raises:
        FileNotFoundError: There is no such program.
        subprocess.TimeoutExpired: The program did not end in time.
        CommandError: The program failed; a ``subprocess.CalledProcessError``.
    """
    words = [str(word) for word in cmd]
    try:
        done = _starter(words).run(words, timeout)
    except (_CannotStartError, OSError):
        return run_command(cmd, timeout, check=check)
    if check and done.returncode:
        raise CommandError(done.returncode, done.args, done.stdout, done.stderr)
    return done


def _starter(words: Sequence[str]) -> _Starter:
    """Returns the starter of a command.

    Raises:
        _CannotStartError: If the command has to be started in the ordinary way.
        OSError: If there is no such program.
    """
    program = words[0]
    library = find_service_file(_LIBRARY)
    if library is None or not os.path.isabs(program) or any("\0" in word for word in words):
        raise _CannotStartError
    state = _state(program)
    with _lock:
        known, starter = _starters.get(program, (None, None))
        if known != state:
            # Others may still use the former one, which ends after that.
            starter = _started(program, library)
            _starters[program] = state, starter
    if starter is None:
        raise _CannotStartError
    return starter


def _started(program: str, library: Path) -> _Starter | None:
    with open(program, "rb") as file:
        if file.read(len(_ELF)) != _ELF:
            return None  # An interpreter would load the library.
    try:
        return _Starter(program, library)
    except _CannotStartError:
        return None


def _state(program: str) -> object:
    """Returns all that a program inherits at its start, and which program it is."""
    status = os.stat(program)
    file = status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size
    return file, dict(os.environ), [resource.getrlimit(limit) for limit in _LIMITS]
