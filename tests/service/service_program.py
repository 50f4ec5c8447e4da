"""A service that was started by hand, rather than by the client that uses it."""

import signal
import subprocess
from pathlib import Path

from tests.processes import wait_until
from tests.service.toy_service import toy_service


class ServiceProgram:
    """Runs until :meth:`stop`.

    Args:
        directory: Its working directory.
        args: Its flags.
        binary: The program; the toy service by default.

    Attributes:
        pid: Its process.
        port: Where it listens on the loopback interface.
        address: The same as ``"host:port"``.
        socket: Its Unix socket.

    Raises:
        RuntimeError: If it ends at once, with what it wrote.
    """

    def __init__(self, directory: Path, *args: str, binary: Path | None = None):
        self.socket = directory / "service.sock"
        command = [str(binary or toy_service()), f"--working_dir={directory}", *args]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        started = directory / "pid.txt"
        wait_until(lambda: started.is_file() or self._process.poll() is not None)
        if self._process.poll() is not None:
            raise RuntimeError(self._process.communicate()[1])
        self.port = int((directory / "port.txt").read_text())
        self.address = f"127.0.0.1:{self.port}"

    def peak_memory(self) -> int:
        """Returns the largest resident memory so far, in bytes."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        (peak,) = (line for line in lines if line.startswith("VmHWM:"))
        return int(peak.split()[1]) << 10

    def kill(self) -> None:
        """Ends it at once although it has sessions, if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate(timeout=100)

    def stop(self) -> None:
        """Ends it in order."""
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=100)
        assert self._process.returncode == 0
