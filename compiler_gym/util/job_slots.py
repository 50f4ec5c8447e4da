"""Job slots shared by programs: those of GNU make's jobserver, if there is one.

Pools of the standard library and of joblib do not support a jobserver.
"""

import os
import re
import select
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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
