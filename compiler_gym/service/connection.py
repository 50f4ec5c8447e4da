"""The connection of a client to a compiler service."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message

from compiler_gym.errors import (
    EnvironmentNotSupported,
    ServiceError,
    ServiceInitError,
    ServiceIsClosed,
    ServiceOSError,
    ServiceTransportError,
    SessionDied,
    SessionNotFound,
)
from compiler_gym.service.process.managed_service import (
    ManagedConnection,
    ManagedService,
    ServiceExitedAtStart,
)
from compiler_gym.service.proto import (
    ActionSpace,
    CompilerGymServiceStub,
    GetSpacesRequest,
    ObservationSpace,
    StepReply,
    StepRequest,
)
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.service.transport.direct_channel import DirectStub, is_switched_off
from compiler_gym.service.transport.frames import ISOLATION_KEY, SOCKET_NAME_KEY
from compiler_gym.service.transport.grpc_channels import (
    Connection,
    GrpcReply,
    UnmanagedConnection,
    checked_endpoint,
    exception_from_rpc_error,
    is_transport_failure,
    open_channel,
    was_never_sent,
)
from compiler_gym.service.transport.lease import Lease
from compiler_gym.util.deadline import TIMEOUT

# Programs written for former releases import all of these from here.
__all__ = [
    "CompilerGymServiceConnection",
    "Connection",
    "ConnectionOpts",
    "EnvironmentNotSupported",
    "ManagedConnection",
    "ServiceError",
    "ServiceInitError",
    "ServiceIsClosed",
    "ServiceOSError",
    "ServiceTransportError",
    "SessionDied",
    "SessionNotFound",
    "UnmanagedConnection",
]

logger = logging.getLogger(__name__)

# A connection breaks a moment before the operating system says that the service's process ended.
_DEATH_NOTICE_SECONDS = 0.2


class CompilerGymServiceConnection:
    """A connection to a compiler service. It owns the service if it has started it.

    Call it with a method of :attr:`stub` to make an RPC::

        connection = CompilerGymServiceConnection(Path("path/of/service"))
        reply = connection(connection.stub.GetVersion, GetVersionRequest())

    May be used from several threads. Cannot be used in a process forked from the one that made it.

    Args:
        endpoint: The path of a service executable, which is started for this connection (a
            *managed* service), or the address ``"host:port"`` of a running (*unmanaged*) one.
        opts: Time limits, TLS, tokens and more.

    Attributes:
        stub: The RPC methods. They use the direct channel if it is available, see
            :class:`compiler_gym.service.transport.direct_channel.DirectStub`.
        isolates_sessions: True if each session has its own process, whose crash leaves the service
            running.
        action_spaces: The action spaces of the service; ``StartSessionRequest.action_space`` is an
            index into this list.
        observation_spaces: The observation spaces of the service, in the same way.
        service: The managed service, or None.
        sent_benchmarks: The programs that users of the connection have sent to this service: a hash
            of each by URI.
        transitions: The cache of transitions that users of the connection share: a
            :class:`compiler_gym.service.session.transition_cache.TransitionCache`, or None.

    Raises:
        FileNotFoundError: If there is no such executable.
        ServiceInitError: If the service could not be started.
        ServiceTransportError: If an unmanaged service cannot be reached. A service that requires a
            token from this user closes the connection.
        PermissionError: If the service requires a token, and the options have none or another one.
        ValueError: If the options for TLS or the token contradict each other.
        TypeError: If the endpoint is neither a path nor an address.
    """

    def __init__(self, endpoint: str | Path, opts: ConnectionOpts | None = None):
        self.endpoint = checked_endpoint(endpoint)
        self.opts = opts or ConnectionOpts()
        self.service: ManagedService | None = None
        # A CompilerGymServiceStub, or the DirectStub that has the same methods. None when closed.
        self.stub: Any = None
        self.isolates_sessions = False
        self.action_spaces: list[ActionSpace] = []
        self.observation_spaces: list[ObservationSpace] = []
        self.sent_benchmarks: dict[str, bytes] = {}
        self.transitions: Any = None
        self._lease: Lease | None = None
        self._channel: grpc.Channel | None = None
        self._owner_pid = os.getpid()
        self._death_is_known = False
        self._users = 0
        # Garbage collection may end another user in the middle of retain() or release().
        self._users_lock = threading.RLock()
        self._open()

    def __call__(
        self,
        stub_method: Callable[..., Message],
        request: Message,
        timeout: float = TIMEOUT,
        max_retries: int | None = None,
        retry_wait_seconds: float | None = None,
        retry_wait_backoff_exponent: float | None = None,
    ) -> Any:
        """Makes an RPC.

        If the service cannot be reached, retries with growing waits. Gives up at once if the
        service is managed and its process has ended. A request with actions must not be carried out
        twice, so it is repeated only if it cannot have arrived.

        Args:
            stub_method: A method of :attr:`stub`.
            request: Its request.
            timeout: Time limit in seconds, for each attempt; at most ``rpc_call_max_seconds`` of
                the connection's options.
            max_retries: Number of repetitions.
            retry_wait_seconds: Wait before the first repetition.
            retry_wait_backoff_exponent: How many times longer each further wait is. The last
                three default to the connection's options.

        Returns:
            The reply.

        Raises:
            ServiceIsClosed: If the connection is closed, or the managed service has ended.
            Exception: The result of :func:`exception_from_rpc_error` for all other failures.
        """
        timeout = self.usable_timeout(timeout)
        attempt = 0
        while True:
            try:
                return stub_method(request, timeout=timeout)
            except grpc.RpcError as error:
                retries = self.opts.rpc_max_retries if max_retries is None else max_retries
                self._check_may_repeat(request, error, retries - attempt)
                logger.debug("Will repeat an RPC that failed: %s", error.details())
            except ValueError as error:
                raise self._explain(error) from error
            wait = (
                self.opts.retry_wait_seconds if retry_wait_seconds is None else retry_wait_seconds
            )
            growth = retry_wait_backoff_exponent or self.opts.retry_wait_backoff_exponent
            time.sleep(wait * growth**attempt)
            attempt += 1

    def begin_step(self, request: StepRequest, timeout: float) -> GrpcReply:
        """Begins a step by gRPC: sends the request and does not wait for the reply.

        Args:
            request: The request. Do not change it until the step is finished.
            timeout: Time limit in seconds for the step and the call that finishes it.

        Returns:
            The step, for :meth:`finish_step`. Several can be waited for together.

        Raises:
            ServiceIsClosed: If the connection is closed.
        """
        timeout = self.usable_timeout(timeout)
        try:
            return GrpcReply(self._grpc_stub.Step.future(request, timeout=timeout), timeout)
        except ValueError as error:
            raise self._explain(error) from error

    def finish_step(self, begun: GrpcReply, request: StepRequest, timeout: float) -> StepReply:
        """Waits for the reply to a step.

        Args:
            begun: The result of :meth:`begin_step`. It can be used once.
            request: The request.
            timeout: The time limit of :meth:`begin_step`.

        Raises:
            Exception: What :meth:`__call__` raises.
        """
        try:
            return begun.result()
        except grpc.RpcError as error:
            return self.repeat_step(error, request, timeout)
        except ValueError as error:
            raise self._explain(error) from error

    def repeat_step(self, error: grpc.RpcError, request: StepRequest, timeout: float) -> StepReply:
        """Repeats a failed step if the service cannot have received it.

        Args:
            error: Why it failed.
            request: The request.
            timeout: Time limit in seconds.

        Raises:
            Exception: The error for the user, if the step must not be repeated.
        """
        self._check_may_repeat(request, error, self.opts.rpc_max_retries)
        logger.debug("Will repeat a step that failed: %s", error.details())
        return self(self.stub.Step, request, timeout=timeout)

    def usable_timeout(self, timeout: float) -> float:
        """Returns the time limit of a request in seconds.

        Raises:
            ServiceIsClosed: If the connection was made by the parent of this process.
        """
        if self._owner_pid != os.getpid():
            raise ServiceIsClosed(
                "This connection was made by another process, from which this one was forked. "
                "Make an environment of its own in each process"
            )
        limit = self.opts.rpc_call_max_seconds
        return timeout if limit is None else min(limit, timeout)

    def _check_may_repeat(self, request: Message, error: grpc.RpcError, retries_left: int) -> None:
        """Raises the error for the user, unless the request may be repeated."""
        self._check_service_is_alive(error)
        is_safe = was_never_sent(error) or not getattr(request, "action", None)
        if not (is_transport_failure(error) and is_safe and retries_left > 0):
            raise exception_from_rpc_error(error) from error

    def _check_service_is_alive(self, failure: grpc.RpcError) -> None:
        """Raises ServiceIsClosed if the service has ended."""
        if self.service is None or not is_transport_failure(failure):
            return
        if self.service.exit_code(wait_seconds=_DEATH_NOTICE_SECONDS) is not None:
            self._death_is_known = True
            raise ServiceIsClosed(self.service.describe_exit()) from failure

    def _explain(self, error: ValueError) -> Exception:
        """A ValueError of gRPC has several reasons, one of them a channel closed on this side."""
        return ServiceIsClosed(f"{self!r} cannot be used: {error}") if self.closed else error

    # ------------------------------------------------------------------------------------------
    # Opening and closing.

    def _open(self) -> None:
        """Makes up to ``init_max_attempts`` attempts within ``init_max_seconds``."""
        end = time.monotonic() + self.opts.init_max_seconds
        for attempt in range(1, self.opts.init_max_attempts + 1):
            try:
                return self._try_to_open()
            except (ServiceError, TimeoutError) as error:
                last = attempt == self.opts.init_max_attempts or time.monotonic() > end
                if last or isinstance(error, ServiceExitedAtStart):
                    raise _init_error(self.endpoint, error)  # noqa: B904 - see _init_error
                logger.warning("Attempt %d to connect to a service failed: %s", attempt, error)

    def _try_to_open(self) -> None:
        self._death_is_known = False
        self.sent_benchmarks = {}
        self.transitions = None
        try:
            if isinstance(self.endpoint, Path):
                self.service = ManagedService(self.endpoint, self.opts)
                address = self.service.address
            else:
                address = self.endpoint
            self._channel = open_channel(address, self.opts)
            self.stub = self._grpc_stub = CompilerGymServiceStub(self._channel)
            self._read_spaces()
            self._lease = Lease(self.stub, self._grpc_stub, self.opts.rpc_init_max_seconds)
        except BaseException:
            self._release()
            raise

    def _read_spaces(self) -> None:
        """The first RPC, which also establishes the connection."""
        limit = self.opts.rpc_init_max_seconds
        spaces, call = self(self.stub.GetSpaces.with_call, GetSpacesRequest(), timeout=limit)
        if not spaces.action_space_list:
            raise ServiceInitError(f"The service {self.endpoint} has no action space")
        self.action_spaces = list(spaces.action_space_list)
        self.observation_spaces = list(spaces.observation_space_list)
        facts = dict(call.trailing_metadata() or ())
        self.isolates_sessions = facts.get(ISOLATION_KEY) == "process"
        socket_name = facts.get(SOCKET_NAME_KEY)
        if socket_name and self.opts.direct_channel and not is_switched_off():
            self.stub = DirectStub.connect(socket_name, self.stub, limit) or self.stub

    @property
    def lease_id(self) -> int:
        """The number of the lease. Its sessions end with this process, however it ends.

        For ``StartSessionRequest.lease_id``. 0 if the service has no leases.
        """
        return self._lease.number if self._lease is not None else 0

    def _release(self, exit_max_seconds: float | None = None) -> int | None:
        """Closes what is open, and returns the exit code of a managed service."""
        channel, self._channel = self._channel, None
        try:
            if channel and self._owner_pid == os.getpid():
                if isinstance(self.stub, DirectStub):
                    self.stub.close()
                lease, self._lease = self._lease, None
                if lease is not None:
                    lease.cancel()
                channel.close()
        finally:
            service, self.service = self.service, None
            code = service.close(exit_max_seconds) if service else None
        return code

    @property
    def closed(self) -> bool:
        """True if the connection was closed, by :meth:`close` or the last :meth:`release`."""
        return self._channel is None

    @property
    def connection(self) -> Connection:
        """The service's address and process while the connection is open.

        Valid until the connection is closed or restarted.

        Raises:
            ServiceIsClosed: If it is closed.
        """
        if self._channel is None:
            raise ServiceIsClosed(f"{self!r} has no service any more")
        if self.service is None:
            return UnmanagedConnection(str(self.endpoint), self._channel, self.stub)
        url = f"127.0.0.1:{self.service.port}"
        return ManagedConnection(url, self._channel, self.stub, self.service)

    @property
    def is_direct(self) -> bool:
        """True if the direct channel is used, rather than gRPC alone."""
        return isinstance(self.stub, DirectStub) and self.stub.is_direct

    @property
    def is_alive(self) -> bool:
        """True if the connection is open and its managed service, if any, is still running."""
        if self.closed or self.service is None:
            return not self.closed
        # A service that keeps a lease is running, and the lease is cheaper to check than the
        # process.
        if self._lease is not None and self._lease.is_known_active:
            return True
        return self.service.exit_code() is None

    def close(self, exit_max_seconds: float | None = None) -> None:
        """Closes the connection and ends the service if it is managed. May be called repeatedly.

        Args:
            exit_max_seconds: The time for the service to end by itself, before it is killed. By
                default that of the options.

        Raises:
            ServiceError: If a managed service did not exit with code 0, and no ``ServiceIsClosed``
                has reported it before.
        """
        service = self.service
        if self.transitions is not None and self.is_alive and self._owner_pid == os.getpid():
            self.transitions.close()  # Open sessions would give the service an error code.
        code = self._release(exit_max_seconds)
        if service and code and not self._death_is_known:
            raise ServiceError(service.describe_exit())

    def restart(self) -> None:
        """Closes the connection and opens it again, with a new service if it is managed.

        All sessions end.
        """
        try:
            self.close()
        except ServiceError as error:
            logger.warning("%s", error)
        self._open()

    def retain(self) -> "CompilerGymServiceConnection":
        """Adds a user of this connection. Each call needs a matching :meth:`release`."""
        with self._users_lock:
            self._users += 1
        return self

    def release(self, exit_max_seconds: float | None = None) -> None:
        """Closes the connection, as :meth:`close` does, if the caller was its last user."""
        with self._users_lock:
            self._users -= 1
            if self._users > 0:
                return
        self.close(exit_max_seconds)

    @property
    def is_shared(self) -> bool:
        """True if the connection has more than one user."""
        return self._users > 1

    def loglines(self) -> Iterator[str]:
        """Yields the lines of a managed service's logs; nothing for an unmanaged one.

        They include the output of passes: up to 64 KiB for each request, and 64 MiB in total.
        """
        return self.service.loglines() if self.service else iter(())

    def __enter__(self) -> "CompilerGymServiceConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed " if self.closed else ""
        return f"<{state}connection to {self.endpoint}>"


def _init_error(endpoint: str | Path, error: Exception) -> Exception:
    """Returns the exception for the user when the last attempt to connect has failed."""
    if isinstance(error, ServiceInitError | ServiceTransportError):
        return error
    kind = ServiceInitError if isinstance(endpoint, Path) else ServiceTransportError
    return kind(f"Cannot connect to the service {endpoint}: {error}")
