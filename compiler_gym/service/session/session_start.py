"""Session start, including the upload of programs that the service does not have."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import grpc

from compiler_gym.datasets import Benchmark
from compiler_gym.errors import BenchmarkInitError, ServiceError, ServiceTransportError
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.proto import (
    AddBenchmarkRequest,
    EndSessionRequest,
    Event,
    StartSessionReply,
    StartSessionRequest,
    StepReply,
)
from compiler_gym.service.session.session import Session
from compiler_gym.service.transport.direct_channel import BegunSession, DirectStub
from compiler_gym.util.deadline import Deadline

logger = logging.getLogger(__name__)

# Bounds the memory use with a million programs. A full service forgets programs too, and forgotten
# programs are sent again.
_MAX_DIGESTS = 10_000


class SessionStarter:
    """Starts sessions.

    The first request has only the URI of the benchmark, because the service has most likely
    compiled the program before. The program follows if the service does not know it, or if this
    process has sent another program with the same URI.
    """

    def __init__(self) -> None:
        self._benchmark: Benchmark | None = None
        self._digest = b""
        self._begun: tuple[DirectStub, BegunSession] | None = None

    def begin(
        self,
        connection: CompilerGymServiceConnection,
        benchmark: Benchmark,
        action_space: int,
        observation_indices: Sequence[int],
        timeout: float,
    ) -> None:
        """Requests a session for the next :meth:`start` without waiting.

        Does nothing if the service does not have the program yet, or there is no direct channel.

        Args:
            connection: The connection to the service.
            benchmark: The program.
            action_space: The number of the action space.
            observation_indices: The numbers of the observations.
            timeout: The time limit in seconds.
        """
        self.discard()
        stub, uri = connection.stub, str(benchmark.uri)
        is_sent = connection.sent_benchmarks.get(uri) == self.digest_of(benchmark)
        if not is_sent or not isinstance(stub, DirectStub):
            return
        request = _request(connection, action_space, observation_indices)
        request.benchmark.uri = uri
        begun = stub.begin_session(request, timeout)
        self._begun = None if begun is None else (stub, begun)

    def discard(self) -> None:
        """Discards the requested session, if there is one."""
        begun, self._begun = self._begun, None
        if begun is not None:
            stub, session = begun
            with suppress(grpc.RpcError, ServiceTransportError):
                reply = stub.finish_session(session)
                stub.end_soon(EndSessionRequest(session_id=reply.session_id))

    def _finish(
        self,
        connection: CompilerGymServiceConnection,
        request: StartSessionRequest,
        benchmark: Benchmark,
    ) -> tuple[Session, StartSessionReply] | None:
        """Returns the requested session if it fits this request, or None."""
        assert self._begun is not None, "the caller has looked"
        stub, begun = self._begun
        request.benchmark.uri = str(benchmark.uri)
        is_sent = connection.sent_benchmarks.get(request.benchmark.uri)
        if (
            stub is not connection.stub
            or begun.request != request
            or (is_sent != self.digest_of(benchmark))
        ):
            self.discard()
            return None
        self._begun = None
        try:
            reply = stub.finish_session(begun)
        except grpc.RpcError as error:
            logger.debug("Will ask again for a session: %s", error)
            return None
        return Session(connection, reply.session_id), reply

    def start(
        self,
        connection: CompilerGymServiceConnection,
        benchmark: Benchmark,
        action_space: int,
        observation_indices: Sequence[int],
        deadline: Deadline,
    ) -> tuple[Session, StartSessionReply]:
        """Starts a session.

        Args:
            connection: The connection to the service.
            benchmark: The program.
            action_space: The number of the action space.
            observation_indices: The numbers of the observations to compute at the start.
            deadline: The time limit.

        Raises:
            BenchmarkInitError: If the service refuses the program.
            Exception: Any error of the connection, if the service fails.
        """
        request = _request(connection, action_space, observation_indices)
        if self._begun is not None:
            started = self._finish(connection, request, benchmark)
            if started is not None:
                return started
        try:
            is_sent_along = connection.opts.always_send_benchmark_on_reset
            if is_sent_along and benchmark.proto.HasField("program"):
                request.benchmark.CopyFrom(benchmark.proto)
                return Session.start(connection, request, deadline.left())
            request.benchmark.uri = str(benchmark.uri)
            return self._start_by_uri(connection, request, benchmark, deadline)
        except (ValueError, FileNotFoundError) as error:
            raise BenchmarkInitError(f"Cannot use the benchmark {benchmark}: {error}") from error

    def _start_by_uri(
        self,
        connection: CompilerGymServiceConnection,
        request: StartSessionRequest,
        benchmark: Benchmark,
        deadline: Deadline,
    ) -> tuple[Session, StartSessionReply]:
        digest = self.digest_of(benchmark)
        if connection.sent_benchmarks.get(request.benchmark.uri, digest) == digest:
            try:
                return Session.start(connection, request, deadline.left())
            except FileNotFoundError:
                pass  # The service never had the program, or has forgotten it.
        connection(
            connection.stub.AddBenchmark,
            AddBenchmarkRequest(benchmark=[benchmark.proto]),
            timeout=deadline.left(),
        )
        if len(connection.sent_benchmarks) >= _MAX_DIGESTS:
            connection.sent_benchmarks.clear()
        connection.sent_benchmarks[request.benchmark.uri] = digest
        return Session.start(connection, request, deadline.left())

    def digest_of(self, benchmark: Benchmark) -> bytes:
        """Returns a hash of the program. Caches that of the last benchmark."""
        if benchmark is not self._benchmark:
            self._benchmark, self._digest = benchmark, benchmark.digest()
        return self._digest


def _request(
    connection: CompilerGymServiceConnection, action_space: int, observation_indices: Sequence[int]
) -> StartSessionRequest:
    """Returns a request for a session, without its program."""
    return StartSessionRequest(
        action_space=action_space,
        observation_space=observation_indices,
        lease_id=connection.lease_id,
    )


#: What a request that the service refuses raises; the session goes on.
REFUSALS = (ValueError, TypeError, NotImplementedError, FileNotFoundError)

#: How many actions to put into a request: fewer requests take less time, but each has a time limit
#: of the service.
ENOUGH_ACTIONS = 100


class Stepping(Protocol):
    """An object that makes steps."""

    def step(self, actions: Sequence[Event], indices: Sequence[int], timeout: float) -> StepReply:
        """Makes a step, as :meth:`Session.step`."""


def repeat_step(session: Stepping, actions: Sequence[Event], deadline: Deadline) -> None:
    """Applies actions that the service has not refused before.

    Raises:
        ServiceError: If it refuses them now.
        Exception: Any error of :meth:`Session.step`.
    """
    try:
        session.step(actions, (), deadline.left())
    except REFUSALS as error:
        raise ServiceError(f"An action of the episode is refused now: {error}") from error
