"""The direct channel: requests over Unix sockets, without gRPC, to a service on the same machine.

A round trip by gRPC takes longer than most steps. A service announces its direct channel in its
reply to GetSpaces (see ``frames.py``). It then takes all requests on a socket, and for each session
opens a further socket straight to that session's process, for its steps.
"""

import atexit
import contextlib
import logging
import os
import socket
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import Message

from compiler_gym.errors import ServiceTransportError
from compiler_gym.service import proto
from compiler_gym.service.transport.frame_socket import FrameSocket
from compiler_gym.service.transport.frames import (
    ADD_BENCHMARK,
    END_SESSION,
    FORK_SESSION,
    GET_SPACES,
    GET_VERSION,
    LOST_FD,
    SEND_SESSION_PARAMETER,
    START_SESSION,
    STEP,
    ChannelBroken,
    DirectRpcError,
    Method,
    close_fds,
    parsed,
)
from compiler_gym.service.transport.service_sockets import DirectLease, ServiceSockets, drain

logger = logging.getLogger(__name__)

#: Set this environment variable to 0 to use gRPC alone. See also ConnectionOpts.direct_channel.
SWITCH_VARIABLE = "COMPILER_GYM_DIRECT_CHANNEL"

# The time for the service to tell how a session has ended, after the time limit of the request.
_EPITAPH_SECONDS = 0.1


def is_switched_off() -> bool:
    """Returns true if the environment variable disables the direct channel."""
    return os.environ.get(SWITCH_VARIABLE) == "0"


class BegunSession(NamedTuple):
    """A pending request for a session."""

    sock: FrameSocket
    request: proto.StartSessionRequest


class DirectStub:
    """Calls the methods of a service, by the direct channel if it works, else by gRPC.

    Has the eight methods of ``CompilerGymServiceStub``, which take a request and ``timeout``, and
    raise ``grpc.RpcError`` with ``code()`` and ``details()``. They differ in two ways. If a step is
    interrupted (Ctrl-C), its session ends. The service, not the client, enforces the time limit.

    May be used from several threads; steps of a session by one thread at a time. Sockets are
    closed in processes forked from this one.

    Args:
        name: The name of the service's socket.
        fallback: The stub for gRPC.
    """

    def __init__(self, name: str, fallback: proto.CompilerGymServiceStub):
        self._service = ServiceSockets(name, fallback)
        self._sockets_of_sessions: dict[int, FrameSocket] = {}
        self._lease: DirectLease | None = None
        # Sockets of sessions that have ended.
        self._retired: list[FrameSocket] = []
        _stubs.add(self)

    @classmethod
    def connect(
        cls, name: str, fallback: proto.CompilerGymServiceStub, timeout: float
    ) -> "DirectStub | None":
        """Returns a stub after a first request, or None if that failed.

        It fails from another machine or network namespace, and for other users.
        """
        stub = cls(name, fallback)
        try:
            stub.GetVersion(proto.GetVersionRequest(), timeout=timeout)
        except (grpc.RpcError, ServiceTransportError) as error:
            stub._service.switch_off(str(error))
        return stub if stub.is_direct else None

    @property
    def is_direct(self) -> bool:
        """True if the direct channel is in use and has no known failure."""
        return self._service.is_open

    # The names of the methods are those of the protocol.
    # ruff: noqa: N802

    def GetVersion(
        self, request: proto.GetVersionRequest, timeout: float | None = None
    ) -> proto.GetVersionReply:
        """Returns versions."""
        return self._service.ask(GET_VERSION, request, timeout)

    def GetSpaces(
        self, request: proto.GetSpacesRequest, timeout: float | None = None
    ) -> proto.GetSpacesReply:
        """Returns the spaces of the service."""
        return self._service.ask(GET_SPACES, request, timeout)

    def StartSession(
        self, request: proto.StartSessionRequest, timeout: float | None = None
    ) -> proto.StartSessionReply:
        """Starts a session, and keeps its socket."""
        return self._ask_for_session(START_SESSION, request, timeout, self._close_retired)

    def begin_session(
        self, request: proto.StartSessionRequest, timeout: float
    ) -> BegunSession | None:
        """Sends what :meth:`StartSession` sends, to be finished by :meth:`finish_session`.

        Returns:
            The pending request. None if there is no direct channel.
        """
        sock = self._service.begin(START_SESSION, request, timeout)
        return None if sock is None else BegunSession(sock, request)

    def finish_session(self, begun: BegunSession) -> proto.StartSessionReply:
        """Waits for the session of :meth:`begin_session`, and keeps its socket.

        Raises:
            grpc.RpcError: If there is none.
        """
        fds: list[int] = []
        try:
            reply = parsed(START_SESSION, *begun.sock.finish(fds))
            if LOST_FD in fds:
                self._service.end_soon(proto.EndSessionRequest(session_id=reply.session_id))
                raise DirectRpcError(grpc.StatusCode.UNAVAILABLE, "Too many open files")
            self._keep_socket(reply.session_id, fds)
        except ChannelBroken as broken:
            raise DirectRpcError(grpc.StatusCode.UNAVAILABLE, str(broken)) from broken
        finally:
            close_fds(fds)
            self._service.put_back(begun.sock)
        self._close_retired()
        return reply

    def ForkSession(
        self,
        request: proto.ForkSessionRequest,
        timeout: float | None = None,
        meanwhile: Callable[[], object] | None = None,
    ) -> proto.ForkSessionReply:
        """Forks a session, and keeps the socket of the new one.

        Args:
            request: The request.
            timeout: The time limit.
            meanwhile: A function to call while the service forks. Called at most once, and never
                with gRPC.
        """
        return self._ask_for_session(FORK_SESSION, request, timeout, meanwhile)

    def EndSession(
        self, request: proto.EndSessionRequest, timeout: float | None = None
    ) -> proto.EndSessionReply:
        """Ends a session."""
        try:
            return self._service.ask(END_SESSION, request, timeout)
        finally:
            self._retire_socket_of(request.session_id)
            self._close_retired()

    def end_soon(self, request: proto.EndSessionRequest) -> bool:
        """Ends a session together with the next request to the service.

        Returns:
            False if there is no direct channel: :meth:`EndSession` is needed.
        """
        if not self.is_direct:
            return False
        self._service.end_soon(request)
        self._retire_socket_of(request.session_id)
        return True

    def Step(self, request: proto.StepRequest, timeout: float | None = None) -> proto.StepReply:
        """Makes a step, on the session's own socket if it has one."""
        sock = self.socket_of(request.session_id)
        if sock is None:
            return self._service.ask(STEP, request, timeout)
        begin = time.monotonic()
        try:
            return sock.exchange(STEP, request, timeout)
        except ChannelBroken as broken:
            return self.ask_how_it_ended(request, timeout, begin, broken)
        finally:
            if sock.closed:
                self.forget_socket_of(request.session_id)

    def socket_of(self, session_id: int) -> FrameSocket | None:
        """Returns the session's own socket, for steps without a detour by this stub.

        If the socket breaks, :meth:`ask_how_it_ended` finds out why.
        """
        return self._sockets_of_sessions.get(session_id)

    def forget_socket_of(self, session_id: int) -> None:
        """Forgets the socket of a session that was closed."""
        self._sockets_of_sessions.pop(session_id, None)

    def ask_how_it_ended(
        self,
        request: proto.StepRequest,
        timeout: float | None,
        begin: float,
        broken: ChannelBroken,
    ) -> proto.StepReply:
        """Repeats a step of a session whose socket broke, to learn how it ended."""
        logger.debug("The socket of session %d broke: %s", request.session_id, broken)
        # The process of the session has ended, so no action is applied twice.
        if timeout is not None:
            timeout = max(timeout - (time.monotonic() - begin), _EPITAPH_SECONDS)
        return self._service.ask(STEP, request, timeout, is_repeatable=True)

    def AddBenchmark(
        self, request: proto.AddBenchmarkRequest, timeout: float | None = None
    ) -> proto.AddBenchmarkReply:
        """Sends programs."""
        return self._service.ask(ADD_BENCHMARK, request, timeout)

    def SendSessionParameter(
        self, request: proto.SendSessionParameterRequest, timeout: float | None = None
    ) -> proto.SendSessionParameterReply:
        """Sends parameters of a session."""
        return self._service.ask(SEND_SESSION_PARAMETER, request, timeout)

    def hold_lease(self, timeout: float) -> DirectLease | None:
        """Opens a lease that lasts no longer than this stub, or this process.

        Args:
            timeout: The time limit.

        Returns:
            The lease. None if the service has no leases.
        """
        lease = self._service.hold_lease(timeout)
        if lease is not None:
            self._lease = lease
        return lease

    def close(self) -> None:
        """Closes all sockets, which ends all sessions. Requests are then made by gRPC."""
        if self._service.has_unsent:
            with contextlib.suppress(grpc.RpcError, ServiceTransportError):
                self.GetVersion(proto.GetVersionRequest(), timeout=_EPITAPH_SECONDS)
        self._service.switch_off("it was closed")
        while self._sockets_of_sessions:
            with contextlib.suppress(KeyError):
                self._sockets_of_sessions.popitem()[1].close()
        self._close_retired(all_but=0)
        if self._lease is not None:
            self._lease.cancel()

    # ------------------------------------------------------------------------------------------

    def _retire_socket_of(self, session_id: int) -> None:
        if sock := self._sockets_of_sessions.pop(session_id, None):
            self._retired.append(sock)

    def _close_retired(self, all_but: int = 1) -> None:
        # Closing a socket ends the process of its session at once. That takes processor time which
        # the start of the next session needs. The service ends it later.
        for sock in drain(self._retired, all_but):
            sock.close()

    def _ask_for_session(
        self,
        method: Method,
        request: Message,
        timeout: float | None,
        meanwhile: Callable[[], object] | None = None,
    ) -> Any:
        fds: list[int] = []
        try:
            reply = self._service.ask(method, request, timeout, fds, meanwhile=meanwhile)
            if LOST_FD in fds:
                # That has ended the session. There will be one that does not need a socket.
                self.EndSession(proto.EndSessionRequest(session_id=reply.session_id), timeout)
                return getattr(self._service.fallback, method.name)(request, timeout=timeout)
            self._keep_socket(reply.session_id, fds)
        finally:
            close_fds(fds)
        return reply

    def _keep_socket(self, session_id: int, fds: list[int]) -> None:
        if fds:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fds[0])
            del fds[0]
            self._sockets_of_sessions[session_id] = FrameSocket(sock)

    def _close_in_child(self) -> None:
        """Keeps the sessions of the parent process alive when this process ends."""
        self._service.close_in_child()
        leases = [self._lease] if self._lease is not None else []
        sock: Any
        for sock in [*self._sockets_of_sessions.values(), *self._retired, *leases]:
            sock.close_in_child()
        self._sockets_of_sessions, self._retired = {}, []


_stubs: "weakref.WeakSet[DirectStub]" = weakref.WeakSet()


def _close_all_in_child() -> None:
    for stub in list(_stubs):
        stub._close_in_child()


@atexit.register
def _close_all_at_exit() -> None:
    # Sockets of environments that were never closed. Python warns of unclosed sockets.
    for stub in list(_stubs):
        stub.close()


os.register_at_fork(after_in_child=_close_all_in_child)
