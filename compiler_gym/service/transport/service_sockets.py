"""Sockets on which a service takes any request, and gRPC where there are none.

The sockets of sessions, for steps alone, are in ``direct_channel.py``.
"""

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from compiler_gym.service import proto
from compiler_gym.service.transport.frame_socket import FrameSocket
from compiler_gym.service.transport.frames import (
    END_SESSION,
    HOLD_LEASE,
    ChannelBroken,
    DirectRpcError,
    Method,
)

logger = logging.getLogger(__name__)

# This many threads can use a connection without reopening sockets.
_MAX_IDLE_SOCKETS = 8

# Connecting to a Unix socket is immediate, unless many others are waiting.
_CONNECT_SECONDS = 3

_T = TypeVar("_T")


class DirectLease:
    """A lease that lasts as long as a socket. Has the methods of ``grpc.Call`` that leases need.

    Args:
        lease_id: Its number.
        sock: The socket.
    """

    def __init__(self, lease_id: int, sock: FrameSocket):
        self.lease_id = lease_id
        self._sock = sock

    def is_active(self) -> bool:
        """Returns true if there is no known failure."""
        return self._sock.is_quiet

    def cancel(self) -> None:
        """Ends the lease and its sessions."""
        self._sock.close()

    def close_in_child(self) -> None:
        """Leaves the lease to the parent process."""
        self._sock.close_in_child()


class ServiceSockets:
    """Makes requests on sockets of a service, or by gRPC if there are none or they break.

    May be used from several threads.

    Args:
        name: The name of the service's socket.
        fallback: The stub for gRPC.

    Attributes:
        fallback: The stub for gRPC.
    """

    def __init__(self, name: str, fallback: proto.CompilerGymServiceStub):
        self.fallback = fallback
        # None if the direct channel does not work.
        self._name: str | None = name
        self._idle: list[FrameSocket] = []
        # Requests to send with the next one.
        self._ending: list[proto.EndSessionRequest] = []
        self._lock = threading.RLock()

    @property
    def is_open(self) -> bool:
        """True if sockets are in use and have no known failure."""
        return self._name is not None

    def end_soon(self, request: proto.EndSessionRequest) -> None:
        """Ends a session together with the next request."""
        self._ending.append(request)

    @property
    def has_unsent(self) -> bool:
        """True if sessions wait for the next request, and a socket is open."""
        return bool(self._ending and self._idle)

    def ask(
        self,
        method: Method,
        request: Message,
        timeout: float | None,
        fds: list[int] | None = None,
        is_repeatable: bool = False,
        meanwhile: Callable[[], object] | None = None,
    ) -> Any:
        """Makes a request.

        Args:
            method: The method.
            request: Its request.
            timeout: The time limit in seconds, None for that of the service.
            fds: Same as in :meth:`FrameSocket.call`.
            is_repeatable: True if repeating the request cannot apply actions twice.
            meanwhile: Same as in :meth:`FrameSocket.call`.

        Raises:
            grpc.RpcError: If the request fails.
        """
        ending = drain(self._ending)
        sock = self._take()
        if sock is not None:
            try:
                return sock.exchange(method, request, timeout, fds, meanwhile, _requests(ending))
            except ChannelBroken as broken:
                self._note_breakage(sock, broken)
                if broken.was_sent and not is_repeatable and getattr(request, "action", None):
                    raise DirectRpcError(
                        grpc.StatusCode.UNAVAILABLE,
                        f"The connection broke while the service made a step. {broken}",
                    ) from broken
            finally:
                self.put_back(sock)
        for ended in ending:
            with contextlib.suppress(grpc.RpcError):
                self.fallback.EndSession(ended, timeout=timeout)
        return getattr(self.fallback, method.name)(request, timeout=timeout)

    def begin(self, method: Method, request: Message, timeout: float) -> FrameSocket | None:
        """Sends a request without waiting for the reply.

        Returns:
            The socket, to be given to :meth:`put_back` after its ``finish()``. None if there is
            none, or it breaks.
        """
        sock = self._take()
        if sock is None:
            return None
        try:
            before = _requests(drain(self._ending))
            sock.begin(method.number, request.SerializeToString(), timeout, before)
        except (ChannelBroken, grpc.RpcError) as error:
            # All requests will be repeated.
            logger.debug("Cannot begin a request: %s", error)
            return None
        return sock

    def hold_lease(self, timeout: float) -> DirectLease | None:
        """Opens a lease on a socket of its own.

        Args:
            timeout: The time limit in seconds.

        Returns:
            The lease. None if there is no socket, or the service has no leases.
        """
        sock = self._take()
        if sock is None:
            return None
        try:
            reply = sock.exchange(HOLD_LEASE, proto.HoldLeaseRequest(), timeout)
        except (grpc.RpcError, ChannelBroken) as error:
            logger.debug("The service gives no lease: %s", error)
            self.put_back(sock)
            return None
        return DirectLease(reply.lease_id, sock)

    def _take(self) -> FrameSocket | None:
        """Returns a socket for this thread alone, or None if gRPC is to be used."""
        try:
            return self._idle.pop()
        except IndexError:
            name = self._name
        if name is None:
            return None
        try:
            return FrameSocket.connect(name, _CONNECT_SECONDS)
        except OSError as error:
            self.switch_off(str(error))
            return None

    def put_back(self, sock: FrameSocket) -> None:
        """Takes back a socket, for the next request."""
        with self._lock:
            is_wanted = self.is_open and len(self._idle) < _MAX_IDLE_SOCKETS
            if is_wanted and not (sock.closed or sock.is_busy):
                self._idle.append(sock)
                return
        sock.close()

    def _note_breakage(self, sock: FrameSocket, broken: ChannelBroken) -> None:
        if sock.has_worked:
            logger.debug("A socket of the service broke: %s", broken)
        else:
            # The service has refused this user, and would do so again.
            self.switch_off(str(broken))

    def switch_off(self, reason: str) -> None:
        """Closes the sockets. Requests are made by gRPC from now on."""
        with self._lock:
            idle, self._idle = self._idle, []
            if self.is_open:
                self._name = None
                logger.debug("No direct channel from now on: %s", reason)
        for sock in idle:
            sock.close()

    def close_in_child(self) -> None:
        """Leaves the sockets to the parent process, from which this one was forked."""
        self._name = None
        for sock in self._idle:
            sock.close_in_child()
        self._idle, self._ending = [], []


def _requests(ending: list[proto.EndSessionRequest]) -> list[tuple[int, bytes]]:
    return [(END_SESSION.number, ended.SerializeToString()) for ended in ending]


def drain(items: list[_T], all_but: int = 0) -> list[_T]:
    """Removes and returns all but the last few elements of a list. It is thread-safe."""
    drained = []
    while len(items) > all_but:
        try:
            drained.append(items.pop(0))
        except IndexError:
            break
    return drained
