"""The address and process of a service, before and while a connection to it is open."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from compiler_gym.service.process.managed_service import ManagedService
from compiler_gym.service.process.service_cache import ServiceCache


def checked_endpoint(endpoint: str | Path) -> str | Path:
    """Returns the path of a service to start, or the address of a running one.

    Raises:
        TypeError: If it is neither.
    """
    if isinstance(endpoint, Path):
        return endpoint
    if not isinstance(endpoint, str) or not endpoint:
        raise TypeError(
            "A service is given by the pathlib.Path of its executable or by an address "
            f'"host:port", not by {endpoint!r}'
        )
    host, colon, port = endpoint.rpartition(":")
    if not (host and colon and port.isdigit()):
        raise TypeError(
            f"{endpoint!r} is not an address host:port. To start an executable, give its path as "
            "a pathlib.Path"
        )
    return endpoint


@dataclass(frozen=True)
class Connection:
    """An open connection; :attr:`CompilerGymServiceConnection.connection` is one.

    Attributes:
        url: The address of the service, ``"host:port"``.
        channel: The channel of gRPC.
        stub: The RPC methods.
    """

    url: str
    channel: grpc.Channel
    stub: Any

    def loglines(self) -> Iterator[str]:
        """Yields the lines of the service's logs; nothing if it runs elsewhere."""
        return iter(())


class UnmanagedConnection(Connection):
    """A connection to a service that was running before."""


@dataclass(frozen=True)
class ManagedConnection(Connection):
    """A connection to a service that was started for it.

    Attributes:
        service: The service.
    """

    service: ManagedService

    @property
    def process(self) -> "ServiceProcess":
        """The process of the service."""
        return ServiceProcess(self.service)

    @property
    def port(self) -> int:
        """The port on the loopback interface where the service listens."""
        return self.service.port

    @property
    def cache(self) -> ServiceCache:
        """The working directory of the service: ``connection.cache / "logs"``."""
        return self.service.cache

    def loglines(self) -> Iterator[str]:
        """Yields the lines of the service's logs."""
        return self.service.loglines()


class ServiceProcess:
    """The process of a service, with the methods of ``subprocess.Popen`` that apply to it.

    Args:
        service: The service.
    """

    def __init__(self, service: ManagedService):
        self._service = service

    @property
    def pid(self) -> int:
        """The process id."""
        return self._service.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, minus the number of the signal that ended it, or None."""
        return self.poll()

    def poll(self) -> int | None:
        """Returns the exit code of the process, or None while it is running."""
        return self._service.exit_code()

    def wait(self, timeout: float) -> int | None:
        """Waits for the end of the process.

        Args:
            timeout: The time limit in seconds.

        Returns:
            The exit code, or None if the process is still running.
        """
        return self._service.exit_code(wait_seconds=timeout)

    def terminate(self) -> None:
        """Asks the process to end. Does nothing if it has ended."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kills the process. Does nothing if it has ended."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Sends a signal to the process. Does nothing if it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
