"""Replies on the sockets of sessions that can be waited for together with others."""

import time
from typing import Protocol

import grpc

from compiler_gym.service import proto
from compiler_gym.service.transport.direct_methods import STEP, parsed, serialised
from compiler_gym.service.transport.frame_socket import ChannelBroken, FrameSocket


class SessionSockets(Protocol):
    """Whoever has the sockets of sessions."""

    def ask_how_it_ended(
        self,
        request: proto.StepRequest,
        timeout: float | None,
        begin: float,
        broken: ChannelBroken,
    ) -> proto.StepReply:
        """Makes a step of a session whose socket broke, to be told what has become of it."""

    def forget_if_closed(self, sock: FrameSocket, session_id: int) -> None:
        """To be called with the socket of a session after it was used."""


class DirectReply:
    """The reply to a step on the socket of a session, which is on its way.

    Args:
        stub: Where the session is known.
        sock: The socket of the session.
        request: The step.
        timeout: Its time limit.

    Attributes:
        deadline: When :meth:`result` gives up, by :func:`time.monotonic`; None for never.
        fd: A descriptor that is readable as soon as there is something of the reply; -1 if there is
            nothing to wait for.
    """

    __slots__ = ("_begin", "_failure", "_request", "_sock", "_stub", "_timeout", "deadline", "fd")

    def __init__(
        self,
        stub: SessionSockets,
        sock: FrameSocket,
        request: proto.StepRequest,
        timeout: float | None,
    ):
        self._stub = stub
        self._sock = sock
        self._request = request
        self._timeout = timeout
        self._begin = time.monotonic()
        self._failure: ChannelBroken | grpc.RpcError | None = None
        try:
            self.deadline = sock.begin(STEP.number, serialised(STEP, request), timeout)
            self.fd = sock.fd
        except (ChannelBroken, grpc.RpcError) as error:
            self._failure = error
            self.deadline, self.fd = self._begin, -1

    def result(self) -> proto.StepReply:
        """Waits for the reply. To be called once.

        Raises:
            grpc.RpcError: As of :meth:`DirectStub.Step`.
        """
        try:
            if self._failure is not None:
                raise self._failure
            return parsed(STEP, *self._sock.finish())
        except ChannelBroken as broken:
            return self._stub.ask_how_it_ended(self._request, self._timeout, self._begin, broken)
        finally:
            self._stub.forget_if_closed(self._sock, self._request.session_id)

    def cancel(self) -> None:
        """Gives up the reply, which ends the session."""
        self._sock.close()
        self._stub.forget_if_closed(self._sock, self._request.session_id)
