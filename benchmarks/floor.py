"""Runs passes in a process for each episode, and nothing else: the client of Floor.cc."""

import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

_NUMBER = struct.Struct("=H")
_DURATION = struct.Struct("=q")
_POLLING_NS = 50_000


@dataclass(frozen=True)
class FloorStep:
    """The duration of a step, in microseconds.

    Attributes:
        total_us: With both messages.
        pass_us: The pass alone, measured in the other process.
    """

    total_us: float
    pass_us: float


class Floor:
    """Runs passes on a program, each episode in a forked process.

    Args:
        binary: The executable of Floor.cc.
        program: A bitcode file.
        pipelines: The pass of each action.

    Raises:
        RuntimeError: If the program cannot be loaded. The text says why.
    """

    def __init__(self, binary: Path, program: Path, pipelines: Sequence[str]):
        self._folder = tempfile.TemporaryDirectory(prefix="compiler_gym-")
        self._path = str(Path(self._folder.name, "socket"))
        self._session = socket.socket()
        self._process = subprocess.Popen(
            [str(binary), str(program), self._path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin and self._process.stdout  # For mypy.
        with suppress(BrokenPipeError):  # It has failed; the answer that is missing tells.
            self._process.stdin.write("".join(f"{pipeline}\n" for pipeline in pipelines))
            self._process.stdin.close()
        self._process.stdin = None  # communicate() would flush it.
        if self._process.stdout.readline() != "ready\n":
            self._fail()

    def reset(self) -> None:
        """Begins an episode in a new process."""
        self._session.close()
        self._session = socket.socket(socket.AF_UNIX)
        self._session.connect(self._path)

    def step(self, action: int) -> FloorStep:
        """Runs the pass of an action.

        Raises:
            RuntimeError: If the pass fails. The text says why.
        """
        begin = time.perf_counter_ns()
        self._session.send(_NUMBER.pack(action))
        answer = self._receive(begin + _POLLING_NS)
        end = time.perf_counter_ns()
        if len(answer) != _DURATION.size:
            self._fail()
        return FloorStep((end - begin) / 1e3, _DURATION.unpack(answer)[0] / 1e3)

    def _receive(self, polling_end: int) -> bytes:
        """Polls at first, as waking this process takes longer than many passes."""
        while time.perf_counter_ns() < polling_end:
            with suppress(BlockingIOError):
                return self._session.recv(_DURATION.size, socket.MSG_DONTWAIT)
        return self._session.recv(_DURATION.size)

    def _fail(self) -> NoReturn:
        self._process.kill()
        raise RuntimeError(self._process.communicate()[1].strip())

    def close(self) -> None:
        """Ends all processes. May be called repeatedly."""
        self._session.close()
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()
