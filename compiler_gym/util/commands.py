"""Running of other programs, and ending them with all their child processes."""

import os
import re
import select
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from compiler_gym.util.launcher import kill_process_group, launch
from compiler_gym.util.shell_format import indent, join_cmd, signal_name

_MAX_ERROR_LINES = 25

HEADERS_FIX = (
    "pip install 'compiler_gym[clang]' (any Linux), apt-get install gcc libc6-dev (Debian, "
    "Ubuntu), dnf install gcc (Fedora)"
)
"""The commands that install the headers and startup files of the C library, which clang needs."""

_CXX_FIX = "apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora)"
_C_HEADER = re.compile(
    r"fatal error: '(assert|ctype|errno|inttypes|limits|locale|math|setjmp|signal|stdio|stdlib|"
    r"string|time|unistd|wchar|(bits|gnu|sys)/[\w-]+)\.h' file not found"
    r"|cannot (open|find) \S*crt(1|i|begin)S?\.o"
)
# The headers of the C++ library are the only ones whose names have no dot.
_CXX_LIBRARY = re.compile(
    r"fatal error: '\w+' file not found|(unable to find library|cannot find) -lstdc\+\+"
)

# By a token for each running program: how to kill it, and its owners.
_running: dict[object, tuple[Callable[[], None], tuple[object, ...]]] = {}
_running_lock = threading.Lock()
_owners: ContextVar[tuple[object, ...]] = ContextVar("_owners", default=())


class CommandError(subprocess.CalledProcessError):
    """A program exited with an error; the message holds the end of its error output."""

    def __str__(self) -> str:
        return self._text(f": {join_cmd(self.cmd)}")

    @property
    def said(self) -> str:
        """The message without the command, which may name temporary files."""
        return self._text("")

    def _text(self, command: str) -> str:
        if self.returncode < 0:
            message = f"Command was killed by {signal_name(-self.returncode)}{command}"
        else:
            message = f"Command failed with exit code {self.returncode}{command}"
        text = self.stderr or b""
        text = text.decode(errors="replace") if isinstance(text, bytes) else text
        lines = text.rstrip().splitlines()[-_MAX_ERROR_LINES:]
        return "\n".join([message, *(indent(line) for line in lines), *self._hints(text)])

    def _hints(self, text: str) -> list[str]:
        """Returns what to install or to name for the headers that a compiler did not find."""
        fixes = {_C_HEADER: ("C library", HEADERS_FIX), _CXX_LIBRARY: ("C++ library", _CXX_FIX)}
        for pattern, (library, fix) in fixes.items():
            if pattern.search(text):
                if any(str(each).startswith(("-target", "--target")) for each in self.cmd):
                    fix = "--sysroot=FOLDER or -isystem FOLDER, with that of the other target"
                return [f"The {library} or its headers are missing; try: {fix}"]
        return []


@contextmanager
def Popen(cmd: Sequence[str | Path], **kwargs: Any) -> Iterator[subprocess.Popen[Any]]:  # noqa: N802
    """Runs a program until the end of the ``with`` block at the latest.

    The program runs in a process group of its own. However the block ends (an exception, a
    timeout, Ctrl-C), the whole group is killed, so that nothing the program has started stays.

    Args:
        cmd: The program and its arguments; there is no shell between.
        **kwargs: Arguments of ``subprocess.Popen``.
    """
    process = launch([str(word) for word in cmd], **kwargs)
    try:
        with killable(lambda: kill_process_group(process)):
            yield process
    finally:
        kill_process_group(process)
        with process:
            pass  # Closes its streams, and waits for it.


@contextmanager
def killable(kill: Callable[[], None]) -> Iterator[None]:
    """Has :func:`kill_running_commands` kill a program during the ``with`` block.

    Args:
        kill: Kills the program. Any thread may call it, several times.
    """
    token = object()
    with _running_lock:
        _running[token] = kill, _owners.get()
    try:
        yield
    finally:
        with _running_lock:
            del _running[token]


@contextmanager
def commands_of(owner: object) -> Iterator[None]:
    """Assigns the programs that are started in the ``with`` block to one more owner.

    Args:
        owner: Any object, for :func:`kill_running_commands`.
    """
    token = _owners.set((*_owners.get(), owner))
    try:
        yield
    finally:
        _owners.reset(token)


def kill_running_commands(owner: object = None) -> None:
    """Kills all programs of :func:`Popen` in all threads, with their child processes.

    Args:
        owner: One of the owners of the programs, see :func:`commands_of`; None for all.

    Programs with threads need this at their end, because Ctrl-C only reaches the main thread.
    Another thread sees the end of its command, and may start the next one: call this until all
    threads have ended.
    """
    with _running_lock:
        for kill, owners in _running.values():
            if owner is None or any(each is owner for each in owners):
                kill()


def communicate(
    process: subprocess.Popen[Any], input: Any = None, timeout: float | None = None
) -> tuple[Any, Any]:
    """Waits for the end of a program, like ``process.communicate()``, and kills it on a timeout.

    Args:
        process: The program, of :func:`Popen` or of ``subprocess.Popen``.
        input: The standard input.
        timeout: The greatest number of seconds to wait; None for any.

    Returns:
        The standard output and error output, if these are pipes.

    Raises:
        subprocess.TimeoutExpired: The program did not end in time. It has been killed then, with
            all that it started if it leads a process group, as those of :func:`Popen` do.
    """
    try:
        return process.communicate(input, timeout=timeout)
    except BaseException:
        kill_process_group(process)
        process.kill()  # In another process's group, it has not been killed yet.
        process.wait()
        raise


def run_command(
    cmd: Sequence[str | Path],
    timeout: float | None = None,
    *,
    cwd: str | Path | None = None,
    env: dict[str, str] | None = None,
    stdin: str | bytes | None = None,
    text: bool = True,
    check: bool = True,
) -> subprocess.CompletedProcess[Any]:
    """Runs a program to its end, and kills its remaining child processes.

    Args:
        cmd: The program and its arguments; there is no shell between.
        timeout: The greatest number of seconds to wait; None for any.
        cwd: The working directory.
        env: The environment variables, instead of those of this process.
        stdin: The standard input, a ``str`` if ``text``, else ``bytes``; empty by default.
        text: Input and output are text (UTF-8) instead of bytes.
        check: Raise an error for an exit code other than 0.

    Returns:
        The exit code, the standard output and the error output.

    Raises:
        FileNotFoundError: There is no such program or working directory.
        subprocess.TimeoutExpired: The program did not end in time.
        CommandError: The program failed; a ``subprocess.CalledProcessError``.
    """
    encoding = {"encoding": "utf-8", "errors": "replace"} if text else {}
    with Popen(
        cmd,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **encoding,
    ) as process:
        stdout, stderr = communicate(process, stdin, timeout)
    if check and process.returncode:
        raise CommandError(process.returncode, process.args, stdout, stderr)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


# Job slots shared by programs: those of GNU make's jobserver, if there is one.
#
# Pools of the standard library and of joblib do not support a jobserver.

_AUTHORITY = re.compile(r"--jobserver-(?:auth|fds)=(?:fifo:(\S+)|(\d+),(\d+))")
_POLL_MILLISECONDS = 20


class JobSlots:
    """The slots of a jobserver. A program that make runs has one from the start.

    Args:
        read: A descriptor to read tokens from, which does not block.
        write: A descriptor to write them back to.
    """

    def __init__(self, read: int, write: int):
        self._read = read
        self._write = write
        self._own = threading.Semaphore(1)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "JobSlots | None":
        """Returns the slots of the jobserver that ``MAKEFLAGS`` names; None if there is none.

        With make 4.3 and older, only commands that make recognises as make get the descriptors.
        """
        found = _AUTHORITY.findall(environment.get("MAKEFLAGS", ""))
        if not found:
            return None
        fifo, *numbers = found[-1]
        read, write = [Path(fifo)] * 2 if fifo else [Path(f"/proc/self/fd/{n}") for n in numbers]
        try:
            if not all(stat.S_ISFIFO(path.stat().st_mode) for path in (read, write)):
                return None
            # Opened again, because make shares the old description, and non-blocking mode belongs
            # to it. Reading comes first, because a named pipe cannot be opened for writing without
            # a reader.
            return cls(
                os.open(read, os.O_RDONLY | os.O_NONBLOCK),
                os.open(write, os.O_WRONLY | os.O_NONBLOCK),
            )
        except OSError:
            return None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Holds a slot for the duration of the context. Waits for a free one."""
        token = self._take()
        try:
            yield
        finally:
            if token:
                os.write(self._write, token)
            else:
                self._own.release()

    def _take(self) -> bytes:
        """Returns a token of the jobserver, or nothing for the slot of the program itself."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        while not self._own.acquire(blocking=False):
            if poll.poll(_POLL_MILLISECONDS):
                try:
                    return os.read(self._read, 1)
                except BlockingIOError:
                    pass  # Another program was quicker.
        return b""


class ServedSlots:
    """Slots for programs that are started with them. Each program has one more of its own.

    Args:
        path: The named pipe of the slots.
        pipe: Its descriptor.

    Attributes:
        makeflags: The value of ``MAKEFLAGS`` for the programs.
    """

    def __init__(self, path: Path, pipe: int):
        self.makeflags = f" -j --jobserver-auth=fifo:{path}"
        self._pipe = pipe

    def add(self, count: int) -> None:
        """Adds slots."""
        os.write(self._pipe, b"+" * count)


@contextmanager
def served_slots(count: int, folder: Path) -> Iterator[ServedSlots]:
    """Serves slots for the duration of the context.

    Args:
        count: Their number at the beginning.
        folder: A folder for the named pipe.
    """
    path = folder / "jobserver"
    os.mkfifo(path, 0o600)
    pipe = os.open(path, os.O_RDWR)
    try:
        served = ServedSlots(path, pipe)
        served.add(count)
        yield served
    finally:
        os.close(pipe)
