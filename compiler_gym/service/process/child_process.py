"""Child processes that never outlive the Python process that started them.

Linux can send a process a signal when its parent ends, however the parent ends. The process has to
request it, so children begin as the program ``setpriv`` of util-linux, which does so and then
executes the real program. (A request between fork and exec would make Python use ``fork()`` instead
of ``vfork()``, and gRPC's fork handlers hang and crash if other threads use gRPC at the time.)

The parent, for Linux, is the *thread* that started the child. A child of a short-lived thread would
receive the signal when that thread ends. So the thread of :mod:`compiler_gym.util.launcher` starts
all children.
"""

import contextlib
import errno
import functools
import logging
import os
import shutil
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from compiler_gym.util.launcher import launch

logger = logging.getLogger(__name__)

# Arguments of setpriv that ask for SIGTERM at the end of the parent.
_TIE_TO_PARENT = ("--pdeathsig", "TERM", "--")

# Ends at once if the parent, whose id is $0, ended before the request above.
_CHECK_PARENT = ("/bin/sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"')

_FIRST_POLL_SECONDS = 0.001
_MAX_POLL_SECONDS = 0.05
_POLL_GROWTH = 1.5

# A process that is killed ends at once, except while it waits for a device.
_KILL_MAX_SECONDS = 10


def growing_waits(max_seconds: float) -> Iterator[None]:
    """Sleeps between polls: 1 ms at first, then growing to 50 ms, for ``max_seconds`` in total.

    Yields:
        None, before each sleep and once more when the time is over.
    """
    end = time.monotonic() + max_seconds
    wait = _FIRST_POLL_SECONDS
    while True:
        yield
        left = end - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(wait, left))
        wait = min(wait * _POLL_GROWTH, _MAX_POLL_SECONDS)


@functools.cache
def _find_setpriv() -> str | None:
    """Returns the path of a setpriv that can ask for the signal; those of Busybox cannot."""
    path = shutil.which("setpriv")
    if path is not None:
        probe = subprocess.run([path, *_TIE_TO_PARENT, "true"], capture_output=True)
        if probe.returncode == 0:
            return path
    logger.info("There is no setpriv of util-linux; services will survive if Python is killed")
    return None


def _tied_to_parent(command: list[str]) -> list[str]:
    """Extends a command so that it ends with this process."""
    setpriv = _find_setpriv()
    if setpriv is None:
        return command
    return [setpriv, *_TIE_TO_PARENT, *_CHECK_PARENT, str(os.getpid()), *command]


class ChildProcess:
    """A child in a session and process group of its own.

    It does not receive the Ctrl-C that the terminal sends to this process, and everything that it
    starts can be killed together with it. When this process ends it receives SIGTERM, if
    ``setpriv`` is installed.

    Args:
        command: The path of an executable, and its arguments.
        cwd: The directory to start it in.
        env: All of its environment variables.
        output: File descriptor for its standard output and error, or None for those of this
            process.

    Raises:
        FileNotFoundError: If there is no such file.
        PermissionError: If the file is not executable.
    """

    def __init__(self, command: list[str], cwd: str, env: dict[str, str], output: int | None):
        _check_executable(command[0])
        self._exit_code: int | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] = launch(
            _tied_to_parent(command),
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )

    @property
    def pid(self) -> int:
        """The process id of the child, which is also the id of its process group."""
        return self._process.pid

    def poll(self) -> int | None:
        """Returns the exit code, minus the number of the signal that ended it, or None."""
        with self._lock:
            if self._exit_code is None:
                self._collect()
            return self._exit_code

    def wait(self, max_seconds: float) -> int | None:
        """Waits for the end of the child. Returns what :meth:`poll` returns."""
        for _ in growing_waits(max_seconds):
            if self.poll() is not None:
                break
        return self._exit_code

    def terminate(self, max_seconds: float) -> int | None:
        """Ends the child: sends SIGTERM, and kills its whole group ``max_seconds`` later.

        Returns:
            The exit code of :meth:`poll`; None if the killed child does not end within ten seconds.
        """
        if self.poll() is None:
            self._send(os.kill, signal.SIGTERM)
            if self.wait(max_seconds) is None:
                self._send(os.killpg, signal.SIGKILL)
                self.wait(_KILL_MAX_SECONDS)
        return self._exit_code

    def _collect(self) -> None:
        """Sets the exit code if the child has ended, and kills the rest of its group."""
        try:
            # WNOWAIT leaves the child a zombie, so that its id cannot be given to another process.
            if not os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return
            _ignoring_absence(os.killpg, self.pid, signal.SIGKILL)
        except ChildProcessError:
            pass  # Other code in this process collected it, e.g. by os.wait().
        self._exit_code = self._process.wait()

    def _send(self, kill: Callable[[int, int], None], signal_number: int) -> None:
        with self._lock:
            if self._exit_code is None:
                _ignoring_absence(kill, self.pid, signal_number)


def _check_executable(path: str) -> None:
    """Raises the error of executing a file, which otherwise occurs in another process."""
    if not os.path.isfile(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if not os.access(path, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def _ignoring_absence(kill: Callable[[int, int], None], pid: int, signal_number: int) -> None:
    # Some systems raise PermissionError if the group has only zombies.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        kill(pid, signal_number)


def describe_exit(code: int) -> str:
    """Describes how a process ended, e.g. ``"was killed by SIGSEGV (signal 11)"``."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"was killed by signal {-code}"
    return f"was killed by {name} (signal {-code})"


def _children_of_all() -> dict[int, list[int]]:
    """Returns the children of each process.

    The file ``children`` of a process in ``/proc`` is no help: the kernel leaves out some of them
    if another ends while it is read, see proc(5).
    """
    found: dict[int, list[int]] = defaultdict(list)
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # The fields after the name of the program, which may have any character.
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2]
            found[int(fields.split()[1])].append(int(pid))
    return found


def children(pid: int) -> list[int]:
    """Returns the processes that a process has started, without those that have been waited for.

    Processes and threads may end in the meantime.
    """
    return _children_of_all().get(pid, [])


def descendants(pid: int) -> list[int]:
    """Returns the processes that a process has started, those that they have started, and so on."""
    known = _children_of_all()
    found = [pid]
    for each in found:
        found += known.get(each, [])
    return found[1:]
