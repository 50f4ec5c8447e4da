"""A service executable that this process starts, watches and ends, and the connection to it."""

import contextlib
import logging
import os
import shlex
import signal
import sys
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from compiler_gym.errors import ServiceInitError
from compiler_gym.service.process.child_process import ChildProcess, describe_exit, growing_waits
from compiler_gym.service.process.service_cache import ServiceCache
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.service.transport.frames import UnixSocket
from compiler_gym.service.transport.grpc_channels import Connection
from compiler_gym.util.debug_util import get_debug_level
from compiler_gym.util.runfiles_path import cache_path, runfiles_path, site_data_path

logger = logging.getLogger(__name__)

_PORT_FILE = "port.txt"
_OUTPUT_FILE = "output.txt"
_LOG_LINES_IN_ERRORS = 25


class ServiceExitedAtStart(ServiceInitError):  # noqa: N818
    """The service ended by itself, with an exit code, before it announced its port.

    Another attempt would fail in the same way.
    """


class ManagedService:
    """A running service executable with its working directory.

    Starts it and waits until it listens. Whatever happens afterwards (:meth:`close`, the object
    becomes garbage, the interpreter exits, or is killed) the service process ends and its working
    directory is removed.

    Args:
        binary: The executable, or a ``.py`` file, which this Python then runs.
        opts: Time limits, and further arguments and environment variables of the executable.

    Attributes:
        port: The port on the loopback interface where the service listens.
        address: The address of the service for gRPC: its Unix socket if it has one, else the port.

    Raises:
        FileNotFoundError: If there is no such executable.
        ServiceInitError: If it ended, or did not announce its port in time. The text has the exit
            code or signal, and the last output of the service.
    """

    def __init__(self, binary: Path, opts: ConnectionOpts):
        self._binary = Path(binary).absolute()
        if not self._binary.is_file():
            raise FileNotFoundError(
                f"There is no service executable {self._binary}. Build it, or give the address "
                "host:port of a running service"
            )
        self._exit_max_seconds = opts.local_service_exit_max_seconds
        self._owner_pid = os.getpid()
        self._end_report: str | None = None
        self._cache = ServiceCache()
        try:
            self._child = self._start(opts)
        except BaseException:
            self._cache.close()
            raise
        # A reference to self would keep self alive.
        self._finalizer = weakref.finalize(
            self, _shut_down, self._child, self._cache, self._exit_max_seconds, self._owner_pid
        )
        try:
            self.port = self._wait_for_port(opts.local_service_port_init_max_seconds)
            self.address = self._find_address()
        except BaseException:
            self.close(exit_max_seconds=0)  # It has no sessions, so it can be killed at once.
            raise

    def _start(self, opts: ConnectionOpts) -> ChildProcess:
        level = get_debug_level()
        # A service in Python then needs no execute permission, and finds this package.
        interpreter = [sys.executable] if self._binary.suffix == ".py" else []
        command = [*interpreter, str(self._binary), f"--working_dir={self._cache.path}"]
        command += _verbosity_flags(level)
        if extra := os.environ.get("COMPILER_GYM_SERVICE_ARGS"):
            command += shlex.split(extra)
        command += opts.script_args
        env = _environment(level) | opts.script_env
        logger.debug("Starting %s", " ".join(command))
        cwd = str(self._binary.parent)
        if level > 0 or opts.show_output:
            return ChildProcess(command, cwd, env, output=None)
        with open(self._cache.logs / _OUTPUT_FILE, "wb") as output:
            return ChildProcess(command, cwd, env, output=output.fileno())

    def _wait_for_port(self, max_seconds: float) -> int:
        path = self._cache.path / _PORT_FILE
        for _ in growing_waits(max_seconds):
            # Checks for the exit first, so that everything written before it is complete.
            code = self._child.poll()
            # A service may have created the file and not written to it yet.
            if path.is_file() and (text := path.read_text()):
                return self._parse_port(text)
            if code is not None:
                kind = ServiceExitedAtStart if code >= 0 else ServiceInitError
                raise kind(
                    f"The service {self._binary} {describe_exit(code)} before it announced its "
                    f"port.{self.log_tail()}"
                )
        raise ServiceInitError(
            f"The service {self._binary} did not announce its port within {max_seconds:g} seconds "
            f"(ConnectionOpts.local_service_port_init_max_seconds).{self.log_tail()}"
        )

    def _find_address(self) -> str:
        try:
            self._socket = UnixSocket(self._cache.path)
        except OSError as error:
            logger.debug("%s has no Unix socket that can be used: %s", self._binary, error)
            return f"127.0.0.1:{self.port}"
        return self._socket.address

    def _parse_port(self, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise ServiceInitError(
                f"The service {self._binary} announced {text!r} where its port was expected"
            ) from None

    @property
    def pid(self) -> int:
        """The process id of the service."""
        return self._child.pid

    @property
    def cache(self) -> ServiceCache:
        """The working directory of the service, and what belongs to it."""
        return self._cache

    @property
    def working_dir(self) -> Path:
        """The working directory of the service. It does not exist any more after close."""
        return self._cache.path

    @property
    def closed(self) -> bool:
        """True if :meth:`close` has been called."""
        return not self._finalizer.alive

    def exit_code(self, wait_seconds: float = 0) -> int | None:
        """Returns the exit code, minus the number of the signal that ended it, or None.

        Args:
            wait_seconds: How long to wait if the service still runs.
        """
        return self._child.wait(wait_seconds)

    def describe_exit(self) -> str:
        """Describes how the service ended, with its last output. Call it only after the end."""
        if self._end_report is None:
            how = describe_exit(self._child.poll())  # type: ignore[arg-type]  # Not None, it ended.
            self._end_report = f"The service {self._binary} {how}.{self.log_tail()}"
        return self._end_report

    def loglines(self) -> Iterator[str]:
        """Yields the lines of the service's log files, without line ends, file by file.

        They include the output of its compiler. There are none after :meth:`close`. If the debug
        level is above 0, or ``show_output`` is set, stdout and stderr go to those of this process
        and are not included.
        """
        for path in sorted(self._cache.logs.glob("*"), key=_modification_time):
            # The log library makes a link to each file, and repeats warnings and errors in files
            # of their own.
            if path.is_symlink() or ".log.WARNING." in path.name or ".log.ERROR." in path.name:
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                yield from (line.rstrip("\n") for line in file)

    def log_tail(self) -> str:
        """Returns the last lines of :meth:`loglines` as the end of an error text."""
        lines = deque(self.loglines(), maxlen=_LOG_LINES_IN_ERRORS)
        if not lines:
            return " It wrote no log."
        return " The last lines of its log:\n" + "\n".join(f"  {line}" for line in lines)

    def close(self, exit_max_seconds: float | None = None) -> int | None:
        """Ends the service and removes its working directory. May be called repeatedly.

        Reproducers of crashes, of which the user has been told, are moved to
        ``<site data>/reproducers/`` before; a warning in the log tells where they are then.

        Args:
            exit_max_seconds: The time for the service to end by itself, before it is killed. By
                default that of the options.

        Returns:
            The exit code, minus the number of the signal that ended it, or None.
        """
        if self._finalizer.alive and self._owner_pid == os.getpid():
            if exit_max_seconds is None:
                exit_max_seconds = self._exit_max_seconds
            try:
                if self._child.terminate(exit_max_seconds):
                    self.describe_exit()  # Reads the log while it is there.
            except BaseException:
                self._child.terminate(0)  # Ctrl-C: do not wait.
                raise
            finally:
                self._cache.close()
        self._finalizer.detach()
        return self._child.poll()


def _shut_down(
    child: ChildProcess, cache: ServiceCache, max_seconds: float, owner_pid: int
) -> None:
    """Shuts down the service. Called by close(), the garbage collector and at exit."""
    # A process forked from the owner must not end the service.
    if os.getpid() == owner_pid:
        try:
            child.terminate(max_seconds)
        finally:
            cache.close()


def _verbosity_flags(level: int) -> list[str]:
    return ["--alsologtostderr", f"-v={level - 1}", "--logbuflevel=-1"] if level > 0 else []


def _environment(level: int) -> dict[str, str]:
    env = dict(os.environ)
    env["COMPILER_GYM_RUNFILES"] = str(runfiles_path("."))
    env["COMPILER_GYM_SITE_DATA"] = str(site_data_path("."))
    # A service without a disk cache keeps less for the next one.
    with contextlib.suppress(OSError):
        env["COMPILER_GYM_CACHE"] = str(cache_path().absolute())
    # For services that are Python programs and import this package.
    package_root = str(Path(__file__).parents[3])
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [package_root, env.get("PYTHONPATH")]))
    if level == 0:
        env.setdefault("GRPC_VERBOSITY", "NONE")
    return env


def _modification_time(path: Path) -> float:
    return path.lstat().st_mtime


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
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
