"""A fake service with isolated sessions and a direct channel, which misbehaves as it is told to."""

import contextlib
import os
import socket
import threading
import time

import grpc

from compiler_gym.service import proto
from compiler_gym.service.transport.frames import (
    ISOLATION_KEY,
    REPLY_HEADER,
    REQUEST_HEADER,
    SOCKET_NAME_KEY,
)
from tests.service.fake_service import FakeService

_METHODS = (
    "GetVersion",
    "GetSpaces",
    "StartSession",
    "ForkSession",
    "EndSession",
    "Step",
    "AddBenchmark",
    "SendSessionParameter",
)

# Between two pieces of a reply, so that they arrive as such.
_PIECE_SECONDS = 0.001


class _Abort(Exception):  # noqa: N818
    def __init__(self, code: grpc.StatusCode, details: str):
        super().__init__(details)
        self.code, self.details = code, details


class _DirectContext:
    """The part of ``grpc.ServicerContext`` that the methods of a service use."""

    def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise _Abort(code, details)

    def set_trailing_metadata(self, metadata) -> None:
        pass


class FakeDirectService(FakeService):
    """A fake service in which each session has a "process" that dies from the fatal actions.

    Attributes:
        direct_calls: The methods that were called on sockets, as ``(kind of socket, method)``.
        fatal: The status that a session has after each action by which it dies.
        is_listening: Whether there is a socket of the announced name.
        hangs_up: Whether connections are closed at once, as those of other users.
        piece_bytes: The size of the pieces that replies are sent in.
        announced_bytes: What the headers of replies say about their size, if it is not true.
        mute: Methods that are carried out without a reply.
        broken: Methods in which the connection breaks before they are carried out.

    """

    def __init__(self, is_listening: bool = True, hangs_up: bool = False):
        self.direct_calls: list[tuple[str, str]] = []
        self.fatal: dict[int, tuple[grpc.StatusCode, str]] = {}
        self.dead: dict[int, tuple[grpc.StatusCode, str]] = {}
        self.hangs_up = hangs_up
        self.piece_bytes: int | None = None
        self.announced_bytes: int | None = None
        self.mute: set[str] = set()
        self.broken: set[str] = set()

        self._connections: list[socket.socket] = []
        self._session_ends: dict[int, socket.socket] = {}
        self._name = f"compiler_gym-test-{os.urandom(8).hex()}"
        self._listener = socket.socket(socket.AF_UNIX)
        if is_listening:
            self._listener.bind("\0" + self._name)
            self._listener.listen()
            self._start(self._accept)
        super().__init__()

    def __exit__(self, *_) -> None:
        for sock in [self._listener, *self._connections, *self._session_ends.values()]:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        super().__exit__()

    @staticmethod
    def _start(target, *args) -> None:
        threading.Thread(target=target, args=args, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = self._listener.accept()[0]
                if self.hangs_up:
                    connection.close()
                    continue
                self._connections.append(connection)
                self._start(self._serve, connection, "service")

    def break_connections(self) -> None:
        """Breaks those that are open to the socket of the service."""
        for connection in self._connections:
            connection.shutdown(socket.SHUT_RDWR)

    def break_session(self, session_id: int) -> None:
        """Breaks the socket of a session, which lives on."""
        self._session_ends[session_id].shutdown(socket.SHUT_RDWR)

    # ------------------------------------------------------------------------------------------
    # Frames.

    def _serve(self, connection: socket.socket, kind: str) -> None:
        with contextlib.suppress(OSError), connection:
            while header := connection.recv(REQUEST_HEADER.size, socket.MSG_WAITALL):
                size, number, _, _ = REQUEST_HEADER.unpack(header)
                payload = connection.recv(size, socket.MSG_WAITALL)
                if number > len(_METHODS):
                    self._send(connection, grpc.StatusCode.UNIMPLEMENTED.value[0], b"unknown")
                    continue
                method = _METHODS[number - 1]
                self.direct_calls.append((kind, method))
                if method in self.broken or not self._answer(connection, kind, method, payload):
                    connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, connection: socket.socket, kind: str, method: str, payload: bytes) -> bool:
        """Returns whether the connection is to stay open."""
        request = getattr(proto, f"{method}Request").FromString(payload)
        try:
            reply = getattr(self, method)(request, _DirectContext())
        except _Abort as abort:
            if kind == "session" and request.session_id in self.dead:
                return False  # A dead process says nothing.
            self._send(connection, abort.code.value[0], abort.details.encode())
            return True
        if method in self.mute:
            return True
        ends = []
        if method in ("StartSession", "ForkSession"):
            ours, theirs = socket.socketpair()
            self._session_ends[reply.session_id] = ours
            self._start(self._serve, ours, "session")
            ends.append(theirs)
        self._send(connection, 0, reply.SerializeToString(), ends)
        for end in ends:
            end.close()
        return True

    def _send(self, connection, code: int, payload: bytes, ends=()) -> None:
        size = len(payload) if self.announced_bytes is None else self.announced_bytes
        data = REPLY_HEADER.pack(size, code, 0, 0) + payload
        if self.piece_bytes is None:
            first, rest = data, []
        else:
            pieces = [data[i : i + self.piece_bytes] for i in range(0, len(data), self.piece_bytes)]
            first, *rest = pieces
        if ends:
            socket.send_fds(connection, [first], [end.fileno() for end in ends])
        else:
            connection.sendall(first)
        for piece in rest:
            time.sleep(_PIECE_SECONDS)
            connection.sendall(piece)

    # ------------------------------------------------------------------------------------------
    # Methods.

    def _session(self, request, context):
        session = super()._session(request, context)
        if request.session_id in self.dead:
            context.abort(*self.dead[request.session_id])
        return session

    def GetSpaces(self, request, context):  # noqa: N802
        context.set_trailing_metadata(((SOCKET_NAME_KEY, self._name), (ISOLATION_KEY, "process")))
        return super().GetSpaces(request, context)

    def Step(self, request, context):  # noqa: N802
        for action in request.action:
            if action.int64_value in self.fatal:
                self.dead.setdefault(request.session_id, self.fatal[action.int64_value])
        return super().Step(request, context)

    def EndSession(self, request, context):  # noqa: N802
        self.dead.pop(request.session_id, None)
        reply = super().EndSession(request, context)
        if end := self._session_ends.pop(request.session_id, None):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return reply
