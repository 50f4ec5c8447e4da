"""The frames of the direct channel: what a request and a reply look like on a Unix socket.

Each frame is a header of 16 bytes, little endian, and as many bytes of payload as it says. The
payload of a request is the serialised request message; that of a reply the serialised reply
message, or the text of the error if the status code is not that of OK. Descriptors may come with a
reply.
"""

import array
import math
import os
import socket
import struct
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import DecodeError, Message

from compiler_gym.service import proto

#: The key of the trailing metadata by which a service names its socket: an abstract Unix socket,
#: whose name is a zero byte followed by the value.
SOCKET_NAME_KEY = "compiler-gym-direct-socket"

#: The key of the trailing metadata by which a service tells whether each session is a process of
#: its own: "process" or "none".
ISOLATION_KEY = "compiler-gym-isolation"

#: Size of the payload, number of the method, zero, time limit in microseconds (0: that of the
#: service).
REQUEST_HEADER = struct.Struct("<IHHQ")

#: Size of the payload, status code, zero, zero.
REPLY_HEADER = struct.Struct("<IHHQ")

#: The maximum size of a protobuf message.
MAX_PAYLOAD_BYTES = 2**31 - 1

# The header has no room for longer time limits.
_MAX_TIMEOUT_SECONDS = 1e9


class Method(NamedTuple):
    """A method of the protocol, and its number on the direct channel."""

    name: str
    number: int
    request: type[Message]
    reply: type[Message]


def _method(number: int, name: str) -> Method:
    return Method(name, number, getattr(proto, f"{name}Request"), getattr(proto, f"{name}Reply"))


GET_VERSION = _method(1, "GetVersion")
GET_SPACES = _method(2, "GetSpaces")
START_SESSION = _method(3, "StartSession")
FORK_SESSION = _method(4, "ForkSession")
END_SESSION = _method(5, "EndSession")
STEP = _method(6, "Step")
ADD_BENCHMARK = _method(7, "AddBenchmark")
SEND_SESSION_PARAMETER = _method(8, "SendSessionParameter")
HOLD_LEASE = _method(9, "HoldLease")

_STATUS_CODES = {code.value[0]: code for code in grpc.StatusCode}


class DirectRpcError(grpc.RpcError):
    """The failure of a request, with the interface of gRPC's errors.

    Args:
        code: The status.
        details: The error text.
    """

    def __init__(self, code: grpc.StatusCode, details: str):
        super().__init__(f"{code.name}: {details}")
        self._code = code
        self._details = details

    def code(self) -> grpc.StatusCode:
        """Returns the status, as gRPC's errors do."""
        return self._code

    def details(self) -> str:
        """Returns the error text, as gRPC's errors do."""
        return self._details


class ChannelBroken(Exception):  # noqa: N818 - not an error as long as there are other ways.
    """The other side has closed the socket, or never opened it.

    Args:
        reason: The evidence.
        was_sent: True if a part of the request may have arrived.
    """

    def __init__(self, reason: str, was_sent: bool):
        super().__init__(reason)
        self.was_sent = was_sent


def error_from_reply(code: int, payload: bytes | memoryview) -> DirectRpcError:
    """Returns the error of a reply.

    Args:
        code: The status code, other than OK.
        payload: The text.
    """
    status = _STATUS_CODES.get(code, grpc.StatusCode.UNKNOWN)
    return DirectRpcError(status, bytes(payload).decode(errors="replace"))


def request_frame(method: int, payload: bytes, timeout: float | None) -> bytes:
    """Returns the frame of a request.

    Args:
        method: The number of the method.
        payload: The serialised request message.
        timeout: The time limit in seconds, more than 0; or None for that of the service.
    """
    limit = 0
    if timeout is not None:
        limit = int(min(timeout, _MAX_TIMEOUT_SECONDS) * 1e6) or 1
    return REQUEST_HEADER.pack(len(payload), method, 0, limit) + payload


def serialised(method: Method, request: Message) -> bytes:
    """Returns the bytes of a request. Raises DirectRpcError if it cannot be serialised."""
    try:
        return method.request.SerializeToString(request)
    except Exception as error:
        raise DirectRpcError(
            grpc.StatusCode.INTERNAL, f"Exception serializing request: {error}"
        ) from error


def parsed(method: Method, code: int, payload: bytes | memoryview) -> Any:
    """Parses the bytes of a reply. Raises DirectRpcError if they are malformed."""
    if code:
        raise error_from_reply(code, payload)
    try:
        return method.reply.FromString(payload)  # type: ignore[arg-type]  # A memoryview will do.
    except DecodeError as error:
        raise DirectRpcError(
            grpc.StatusCode.INTERNAL, f"Exception deserializing response: {error}"
        ) from error


# Descriptors that come with a reply.

#: Stands for a descriptor that was lost because this process has too many open files.
LOST_FD = -1

# Room for several. One is the most expected.
_FDS_BYTES = socket.CMSG_SPACE(4 * array.array("i").itemsize)

# Missing on systems without a direct channel.
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)

# A number, because every reply reads it and enumeration members are slow.
_FDS_LOST = int(socket.MSG_CTRUNC)

Reader = Callable[[memoryview], int]
"""Reads into a buffer as ``socket.recv_into`` does."""


def reader_of_fds(connected: socket.socket, fds: list[int]) -> Reader:
    """Returns a function that reads from a socket and also receives descriptors.

    Args:
        connected: The socket.
        fds: The list for the descriptors, which are then the caller's to close.
    """

    def read(view: memoryview) -> int:
        count, messages, flags, _ = connected.recvmsg_into([view], _FDS_BYTES, _CLOSE_ON_EXEC)
        for level, kind, data in messages:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                received = array.array("i")
                received.frombytes(data[: len(data) - len(data) % received.itemsize])
                fds.extend(received)
        if flags & _FDS_LOST:
            fds.append(LOST_FD)
        return count

    return read


def close_fds(fds: list[int]) -> None:
    """Closes descriptors and removes them from their list."""
    while fds:
        fd = fds.pop()
        if fd != LOST_FD:
            os.close(fd)


# Unix sockets for connections to a service on this machine.
#
# Only the user who runs the service can connect to it: nobody else has access to its directory and
# socket, and the service asks the kernel for the user of the other end.

_SOCKET_FILE = "service.sock"
_CONNECT_SECONDS = 3


class UnixSocket:
    """The Unix socket in the working directory of a service.

    Args:
        directory: The directory. Its path may be longer than those of sockets can be (107 bytes),
            so it is opened, and the socket is named as seen from there.

    Attributes:
        address: Its name for gRPC, which is valid as long as this object.

    Raises:
        OSError: If nobody listens there, as with services that have no such socket.
    """

    def __init__(self, directory: Path):
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, folder).atexit = False
        path = f"/proc/self/fd/{folder}/{_SOCKET_FILE}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(_CONNECT_SECONDS)
            probe.connect(path)
        self.address = f"unix:{path}"


def connect_abstract(name: str, timeout: float) -> socket.socket:
    """Connects to an abstract socket of this user.

    Args:
        name: Its name, without the zero byte.
        timeout: Time limit in (whole) seconds.

    Raises:
        OSError: If nobody listens there, as seen from this process.
        PermissionError: If it is another user who listens.
    """
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Not settimeout(): such a socket fails at once while many others are connecting.
        limit = struct.pack("ll", math.ceil(timeout), 0)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        connected.connect("\0" + name)
        _check_owner(connected)
        return connected
    except BaseException:
        connected.close()
        raise


def _check_owner(connected: socket.socket) -> None:
    """Raises PermissionError if the other end belongs to another user.

    Any user can see the name of an abstract socket, and reuse it when its owner has ended.
    """
    credentials = struct.Struct("iII")
    raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
    _, user, _ = credentials.unpack(raw)
    if user != os.geteuid():
        raise PermissionError(f"The socket belongs to the user with id {user}")
