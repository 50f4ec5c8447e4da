"""The compiler's tools for programs of others: confined, with limits, and few at a time."""

import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from compiler_gym.errors import BenchmarkInitError
from compiler_gym.explorer.limits import Limits
from compiler_gym.explorer.messages import ExplorerError
from compiler_gym.util import confinement, llvm_tools
from compiler_gym.util.commands import CommandError

_AT_ONCE = 2
_FILE_MIB = 64
_DISK_MIB = 256


class Tools:
    """Runs tools of LLVM outside of sessions.

    A tool sees the files of its folder, of LLVM and of the system, and may write to its folder.

    Args:
        limits: The limits on the time and the memory of a tool.

    Attributes:
        limits: The same.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self._slots = threading.BoundedSemaphore(_AT_ONCE)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Yields a temporary folder in which tools may run. Waits until few others run.

        Raises:
            ExplorerError: If too many tools run for too long, or one of them fails.
        """
        if not self._slots.acquire(timeout=self.limits.tool_seconds):
            raise ExplorerError("limit", "The server is busy; try again later")
        folder = Path(tempfile.mkdtemp(prefix="compiler_gym-explorer-"))
        try:
            yield folder
        except subprocess.TimeoutExpired as error:
            raise ExplorerError(
                "limit", f"A tool of the compiler took longer than {error.timeout:g} s"
            ) from error
        except (BenchmarkInitError, CommandError) as error:
            first = str(getattr(error, "said", error)).partition("\n    ")
            raise ExplorerError("pass", (first[2] or first[0]).partition("\n")[0]) from error
        finally:
            confinement.remove_left_folder(folder)
            self._slots.release()

    def run(
        self,
        command: Sequence[str | Path],
        folder: Path,
        stdin: bytes = b"",
        seconds: float | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> tuple[bytes, bytes]:
        """Runs a tool in a folder of :meth:`folder`.

        Args:
            command: The tool, as an absolute path, and its arguments.
            folder: The folder.
            stdin: The standard input.
            seconds: The time limit; by default that of tools.
            variables: Environment variables besides ``TMPDIR``.

        Returns:
            The bytes of its standard output and of its error output.

        Raises:
            CommandError: If it fails.
            ExplorerError: If it exceeds the limit of memory, or writes too much.
            subprocess.TimeoutExpired: If it takes too long.
        """
        seconds = self.limits.tool_seconds if seconds is None else seconds
        done = confinement.run_confined(
            command,
            confinement.Limits(
                seconds=seconds,
                memory_mib=self.limits.tool_mib,
                file_mib=_FILE_MIB,
                disk_mib=_DISK_MIB,
            ),
            folder=folder,
            readable=_readable(),
            env={"TMPDIR": str(folder), **(variables or {})},
            stdin=stdin,
        )
        if done.limit == "time":
            raise subprocess.TimeoutExpired(done.args, seconds)
        if done.limit:
            raise ExplorerError("limit", f"A tool of the compiler was stopped: {done.reason}")
        if done.returncode:
            raise CommandError(done.returncode, done.args, done.stdout, done.stderr)
        return done.stdout, done.stderr


def _readable() -> list[Path]:
    plugin = llvm_tools.own_passes_path()
    return [llvm_tools.clang_prefix(), *([plugin] if plugin else [])]
