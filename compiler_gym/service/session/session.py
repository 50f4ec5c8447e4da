"""One session of a service, on the side of the client."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import grpc

from compiler_gym.errors import ServiceError
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.proto import (
    EndSessionRequest,
    Event,
    ForkSessionRequest,
    SendSessionParameterRequest,
    SessionParameter,
    StartSessionReply,
    StartSessionRequest,
    StepReply,
    StepRequest,
)
from compiler_gym.service.transport.direct_channel import DirectStub
from compiler_gym.service.transport.frame_socket import FrameSocket
from compiler_gym.service.transport.frames import (
    STEP,
    ChannelBroken,
    error_from_reply,
    parsed,
    serialised,
)
from compiler_gym.service.transport.grpc_channels import GrpcReply, exception_from_rpc_error
from compiler_gym.util.deadline import TIMEOUT

#: Ending a session does not wait for its work, so a service that takes longer is stuck.
END_SECONDS = 5

_ATTRIBUTE = "_compiler_gym_reply"


def checked(reply: StepReply) -> StepReply:
    """Returns the reply to a step whose observations were computed.

    Raises:
        Exception: If an observation failed: the exception for its status, see
            :func:`exception_from_rpc_error`. :func:`reply_behind` returns its reply.
    """
    if not reply.HasField("observation_error"):
        return reply
    failure = reply.observation_error
    error = exception_from_rpc_error(error_from_reply(failure.code, failure.message.encode()))
    setattr(error, _ATTRIBUTE, reply)
    raise error


def reply_behind(error: BaseException) -> StepReply | None:
    """Returns the reply to a step of which all actions were applied and an observation failed.

    Args:
        error: The error of the step.

    Returns:
        None if the step failed in another way.
    """
    return getattr(error, _ATTRIBUTE, None)


class Session:
    """A session from its start to its end. To be used by one thread at a time.

    Methods raise what :class:`CompilerGymServiceConnection` raises; ``SessionNotFound`` if the
    service does not know the session (any more).

    Args:
        connection: The connection to the service.
        session_id: The service's number for the session.

    Attributes:
        session_id: The service's number for the session.
    """

    def __init__(self, connection: CompilerGymServiceConnection, session_id: int):
        self.session_id = session_id
        self._connection = connection
        self._stub = stub = connection.stub
        # Steps use the session's own socket directly, because every layer in between takes time.
        self._is_direct = isinstance(stub, DirectStub)
        # Reused for each step, because creating messages is a large part of the cost of a short
        # step.
        self._request = StepRequest(session_id=session_id, has_observation_errors=True)
        self._indices: Sequence[int] = ()

    @classmethod
    def start(
        cls,
        connection: CompilerGymServiceConnection,
        request: StartSessionRequest,
        timeout: float,
    ) -> tuple["Session", StartSessionReply]:
        """Starts a session. Returns it, and the reply of the service."""
        reply = connection(connection.stub.StartSession, request, timeout=timeout)
        return cls(connection, reply.session_id), reply

    def step(self, actions: Iterable[Event], indices: Sequence[int], timeout: float) -> StepReply:
        """Applies actions, then computes observations.

        Args:
            actions: The actions, in order. May be empty.
            indices: The numbers of the observation spaces to compute. Give the same (unmodified)
                object again where the numbers are the same; it saves time.
            timeout: Time limit in seconds.

        Raises:
            Exception: If an observation fails, or the service refuses the step.
                :func:`reply_behind` tells the two apart.
        """
        request = self._filled_request(actions, indices)
        sock = self.own_socket
        connection = self._connection
        if sock is None:
            return checked(connection(self._stub.Step, request, timeout=timeout))
        timeout = connection.usable_timeout(timeout)
        begin = time.monotonic()
        try:
            return checked(sock.exchange(STEP, request, timeout))
        except (ChannelBroken, grpc.RpcError) as error:
            return checked(self._explain_or_repeat(error, begin, timeout))
        finally:
            if sock.closed:
                self._stub.forget_socket_of(self.session_id)

    @property
    def own_socket(self) -> FrameSocket | None:
        """The socket of the session, for steps; None if there is none."""
        return self._stub.socket_of(self.session_id) if self._is_direct else None

    @property
    def limits_time(self) -> bool:
        """True if the connection limits the time of each request."""
        return self._connection.opts.rpc_call_max_seconds is not None

    def begin_step(
        self, actions: Iterable[Event], indices: Sequence[int], timeout: float
    ) -> "DirectReply | GrpcReply":
        """Starts a step without waiting for it. No other request may be made until it has ended.

        Args:
            actions: The actions, in order. May be empty.
            indices: The numbers of the observation spaces to compute.
            timeout: Time limit in seconds.

        Returns:
            The step, for :meth:`finish_step`. Several can be waited for together.
        """
        request = self._filled_request(actions, indices)
        sock = self.own_socket
        connection = self._connection
        if sock is None:
            return connection.begin_step(request, timeout)
        return DirectReply(sock, request, connection.usable_timeout(timeout))

    def finish_step(
        self, begun: "DirectReply | ReadReply | GrpcReply", timeout: float
    ) -> StepReply:
        """Waits for the reply to a step.

        Args:
            begun: The result of :meth:`begin_step`. It can be used once.
            timeout: The time limit that :meth:`begin_step` was given, in seconds.
        """
        if isinstance(begun, GrpcReply):
            return checked(self._connection.finish_step(begun, self._request, timeout))
        try:
            return checked(begun.result())
        except (ChannelBroken, grpc.RpcError) as error:
            timeout = self._connection.usable_timeout(timeout)
            return checked(self._explain_or_repeat(error, begun.begin, timeout))
        finally:
            if begun.is_broken:
                self._stub.forget_socket_of(self.session_id)

    def finish_other_step(
        self,
        begun: "ReadReply",
        actions: Iterable[Event],
        indices: Sequence[int],
        timeout: float,
    ) -> StepReply:
        """Finishes a step whose request was sent on :attr:`own_socket`.

        Args:
            begun: The reply.
            actions: The actions of the request.
            indices: The numbers of its observation spaces.
            timeout: Its time limit in seconds.
        """
        self._filled_request(actions, indices)
        return self.finish_step(begun, timeout)

    def _explain_or_repeat(
        self, error: ChannelBroken | grpc.RpcError, begin: float, timeout: float
    ) -> StepReply:
        """Repeats a failed step if its socket broke, to learn how the session ended."""
        if isinstance(error, grpc.RpcError):
            return self._connection.repeat_step(error, self._request, timeout)
        ask = partial(self._stub.ask_how_it_ended, begin=begin, broken=error)
        return self._connection(ask, self._request, timeout=timeout)

    def _filled_request(self, actions: Iterable[Event], indices: Sequence[int]) -> StepRequest:
        request = self._request
        del request.action[:]
        request.action.extend(actions)
        if indices is not self._indices:
            del request.observation_space[:]
            request.observation_space.extend(indices)
            self._indices = indices
        return request

    def fork(
        self, timeout: float = TIMEOUT, meanwhile: Callable[[], object] | None = None
    ) -> "Session":
        """Starts another session in exactly the state of this one.

        Args:
            timeout: Time limit in seconds.
            meanwhile: Called while the service works on the request, if it has begun.

        Raises:
            NotImplementedError: If the service cannot fork sessions.
        """
        request = ForkSessionRequest(session_id=self.session_id)
        stub = self._connection.stub
        ask: Callable[..., Any] = stub.ForkSession
        if meanwhile and isinstance(stub, DirectStub):
            ask = partial(ask, meanwhile=meanwhile)
        reply = self._connection(ask, request, timeout=timeout)
        return Session(self._connection, reply.session_id)

    def send_params(self, params: Iterable[tuple[str, str]], timeout: float = TIMEOUT) -> list[str]:
        """Sends parameters, and returns the reply to each.

        Raises:
            ValueError: If a key is unknown or a value malformed; those before it are set.
        """
        request = SendSessionParameterRequest(
            session_id=self.session_id,
            parameter=[SessionParameter(key=key, value=value) for key, value in params],
        )
        stub_method = self._connection.stub.SendSessionParameter
        return list(self._connection(stub_method, request, timeout=timeout).reply)

    def end(self, timeout: float, wait: bool = True) -> None:
        """Ends the session. Makes one attempt only.

        Args:
            timeout: Time limit in seconds.
            wait: Wait for the end, and raise errors. Otherwise the session may end only with the
                next request to the service.
        """
        request = EndSessionRequest(session_id=self.session_id)
        stub = self._connection.stub
        if not wait and isinstance(stub, DirectStub) and stub.end_soon(request):
            return
        self._connection(stub.EndSession, request, timeout=timeout, max_retries=0)

    def abandon(self, wait: bool = False) -> None:
        """Ends the session, and ignores errors.

        Args:
            wait: Wait for the end.
        """
        with suppress(ServiceError, OSError):
            self.end(END_SECONDS, wait)


class DirectReply:
    """The pending reply to a step on the socket of a session.

    Args:
        sock: The socket of the session.
        request: The step.
        timeout: Its time limit in seconds.

    Attributes:
        begin: When the step began, by :func:`time.monotonic`.
        deadline: The time at which :meth:`result` gives up, by the same clock; None for never.
        fd: A descriptor that is readable as soon as there is something of the reply; -1 if there is
            nothing to wait for.
    """

    __slots__ = ("_failure", "_sock", "begin", "deadline", "fd")

    def __init__(self, sock: FrameSocket, request: StepRequest, timeout: float):
        self._sock = sock
        self._failure: ChannelBroken | grpc.RpcError | None = None
        self.begin = time.monotonic()
        try:
            self.deadline = sock.begin(STEP.number, serialised(STEP, request), timeout)
            self.fd = sock.fd
        except (ChannelBroken, grpc.RpcError) as error:
            self._failure = error
            self.deadline, self.fd = self.begin, -1

    @property
    def is_broken(self) -> bool:
        """True if the socket was closed."""
        return self._sock.closed

    def result(self) -> StepReply:
        """Waits for the reply. Call it once.

        Raises:
            ChannelBroken: If the other side has closed the socket.
            grpc.RpcError: If the service replies with an error.
        """
        if self._failure is not None:
            raise self._failure
        return parsed(STEP, *self._sock.finish())

    def cancel(self) -> None:
        """Cancels the step. This ends the session."""
        self._sock.close()


class ReadReply:
    """The reply to a step that was read from the socket of a session.

    Args:
        sock: The socket.
        begin: When the step began, by :func:`time.monotonic`.
        failure: The error of sending the request, or of reading the reply.
        reply: The status code and the payload of the reply. Not used if there is a failure.

    Attributes:
        begin: When the step began.
    """

    def __init__(
        self,
        sock: FrameSocket,
        begin: float,
        failure: Exception | None,
        reply: tuple[int, bytes | memoryview] | None,
    ):
        self.begin = begin
        self._sock = sock
        self._failure = failure
        self._reply = reply

    @property
    def is_broken(self) -> bool:
        """True if the socket was closed."""
        return self._sock.closed

    def result(self) -> StepReply:
        """Returns the reply.

        Raises:
            grpc.RpcError: If the service has replied with an error.
            Exception: The failure.
        """
        if self._failure is not None:
            raise self._failure
        assert self._reply is not None, "there is a failure or a reply"
        return parsed(STEP, *self._reply)
