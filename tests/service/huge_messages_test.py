"""Many huge requests at once do not fill the memory of a service."""

import contextlib
import socket
import struct

from compiler_gym.service import CompilerGymServiceConnection
from compiler_gym.service.proto import GetVersionRequest
from tests.service.service_program import ServiceProgram

MIB = 1 << 20
# The limit of the service, and what it may hold of unfinished messages: see ServiceServer.cc.
MAX_MESSAGE = 64 * MIB
QUOTA = 2 * MAX_MESSAGE

# Types of frames, and other constants of HTTP/2 (RFC 9113).
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK = 1
END_HEADERS = 4
INITIAL_WINDOW_SIZE = 4
ENHANCE_YOUR_CALM = 11
DEFAULT_WINDOW = 65_535
LARGEST_FRAME = 16_384
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def header(name: str, value: str) -> bytes:
    """Encodes a header without compression (RFC 7541)."""
    return b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in (name, value))


REQUEST = b"".join(
    (
        b"\x83\x86",  # :method POST, :scheme http
        header(":path", "/compiler_gym.CompilerGymService/StartSession"),
        header(":authority", "localhost"),
        header("content-type", "application/grpc"),
        header("te", "trailers"),
    )
)


class UnfinishedRequest:
    """A request for a session, on a connection of its own, whose message never ends.

    gRPC's own clients cannot pause within a message.

    Attributes:
        sent: The number of bytes that the service has let this client send.
        error: The HTTP/2 error by which the service has ended the request, if it has.
    """

    def __init__(self, port: int, size: int):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=100)
        self._received = b""
        # What the service will still accept, on the connection and on the stream.
        self._windows = {0: DEFAULT_WINDOW, 1: DEFAULT_WINDOW}
        self._initial_window = DEFAULT_WINDOW
        self._prefix = struct.pack(">BI", 0, size)
        self._is_answered = False
        self.sent = 0
        self.error: int | None = None
        self._socket.sendall(PREFACE)
        self._send_frame(SETTINGS, b"")
        self._send_frame(HEADERS, REQUEST, flags=END_HEADERS, stream=1)

    def send(self, total: int) -> None:
        """Sends until the service has that much, or has ended the request."""
        while self.sent < total and self.error is None:
            room = min(*self._windows.values(), LARGEST_FRAME, total - self.sent)
            if room <= 0:
                self._read_frame()
                continue
            payload = (self._prefix + bytes(room))[:room]
            self._prefix = b""
            self._send_frame(DATA, payload, stream=1)
            self._windows = {stream: left - room for stream, left in self._windows.items()}
            self.sent += room

    def read_error(self) -> None:
        """Reads what the service has sent until now, so that :attr:`error` is current."""
        self._is_answered = False
        self._send_frame(PING, bytes(8))
        while not self._is_answered and self.error is None:
            self._read_frame()

    def close(self) -> None:
        self._socket.close()

    def _send_frame(self, kind: int, payload: bytes, *, flags: int = 0, stream: int = 0) -> None:
        length = struct.pack(">I", len(payload))[1:]
        head = length + struct.pack(">BBI", kind, flags, stream)
        # The service closes a connection without requests. Its last frame has the reason.
        with contextlib.suppress(ConnectionError):
            self._socket.sendall(head + payload)

    def _read_frame(self) -> None:
        head = self._read(9)
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        payload = self._read(int.from_bytes(head[:3], "big"))
        if kind == WINDOW_UPDATE:
            self._windows[stream] += int.from_bytes(payload, "big")
        elif kind == SETTINGS and not flags & ACK:
            self._apply_settings(payload)
            self._send_frame(SETTINGS, b"", flags=ACK)
        elif kind == PING and flags & ACK:
            self._is_answered = True
        elif kind == PING:
            self._send_frame(PING, payload, flags=ACK)
        elif kind == RST_STREAM:
            self.error = int.from_bytes(payload, "big")
        elif kind == GOAWAY:
            self.error = int.from_bytes(payload[4:8], "big")

    def _apply_settings(self, payload: bytes) -> None:
        for key, value in struct.iter_unpack(">HI", payload):
            if key == INITIAL_WINDOW_SIZE:
                self._windows[1] += value - self._initial_window
                self._initial_window = value

    def _read(self, size: int) -> bytes:
        while len(self._received) < size:
            more = self._socket.recv(1 << 16)
            assert more, "the service has closed the connection"
            self._received += more
        result, self._received = self._received[:size], self._received[size:]
        return result


def test_unfinished_messages_are_bounded(tmp_path):
    service = ServiceProgram(tmp_path, f"--max_message_bytes={MAX_MESSAGE}")
    before = service.peak_memory()
    with contextlib.ExitStack() as stack:
        requests = []
        for _ in range(12):
            requests.append(UnfinishedRequest(service.port, 60 * MIB))
            stack.callback(requests[-1].close)
            requests[-1].send(50 * MIB)
        for request in requests:
            request.read_error()
        refused = [request for request in requests if request.error is not None]
        assert {request.error for request in refused} == {ENHANCE_YOUR_CALM}
        held = sum(request.sent for request in requests if request.error is None)
        assert 50 * MIB <= held <= QUOTA
        # gRPC rounds the memory for messages up. Twelve messages would be 600 MiB.
        assert service.peak_memory() - before < 2 * QUOTA
        with CompilerGymServiceConnection(service.address) as connection:
            assert connection.stub.GetVersion(GetVersionRequest()).service_version
    service.stop()
