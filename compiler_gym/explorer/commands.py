"""The compiler's tools, with limits on time, memory and the number that run at once."""

import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from compiler_gym.errors import BenchmarkInitError
from compiler_gym.explorer.limits import Limits
from compiler_gym.explorer.messages import ExplorerError
from compiler_gym.util.commands import CommandError, run_command

_AT_ONCE = 2

# The shell sets the limit, because a function between fork and exec is unsafe in threads.
_LIMITED = ("/bin/sh", "-c", 'ulimit -v "$0" && exec "$@"')


class Tools:
    """Runs tools of LLVM outside of sessions.

    Args:
        limits: The limits on the time and the memory of a tool.
    """

    def __init__(self, limits: Limits):
        self._limits = limits
        self._slots = threading.BoundedSemaphore(_AT_ONCE)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Yields a temporary folder in which tools may run. Waits until few others run.

        Raises:
            ExplorerError: If too many tools run for too long, or one of them fails.
        """
        if not self._slots.acquire(timeout=self._limits.tool_seconds):
            raise ExplorerError("limit", "The server is busy; try again later")
        try:
            with tempfile.TemporaryDirectory(prefix="compiler_gym-explorer-") as name:
                yield Path(name)
        except subprocess.TimeoutExpired as error:
            raise ExplorerError(
                "limit", f"A tool of the compiler took longer than {error.timeout:g} s"
            ) from error
        except (BenchmarkInitError, CommandError) as error:
            first = str(getattr(error, "said", error)).partition("\n    ")
            raise ExplorerError("pass", (first[2] or first[0]).partition("\n")[0]) from error
        finally:
            self._slots.release()

    def run(
        self, command: Sequence[str | Path], folder: Path, stdin: bytes | None = None
    ) -> tuple[bytes, bytes]:
        """Runs a tool in a folder of :meth:`folder`.

        Returns:
            The bytes of its standard output and of its error output.

        Raises:
            CommandError: If it fails.
            subprocess.TimeoutExpired: If it takes too long.
        """
        memory = str(self._limits.tool_mib << 10)
        done = run_command(
            [*_LIMITED, memory, *command],
            timeout=self._limits.tool_seconds,
            cwd=folder,
            stdin=stdin,
            text=False,
        )
        return done.stdout, done.stderr
