"""The methods that the direct channel has, and how one is called on a socket."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import DecodeError, Message

from compiler_gym.service import proto
from compiler_gym.service.transport.frame_socket import FrameSocket
from compiler_gym.service.transport.frames import DirectRpcError, error_from_reply


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


def exchange(
    sock: FrameSocket,
    method: Method,
    request: Message,
    timeout: float | None,
    fds: list[int] | None = None,
    meanwhile: Callable[[], object] | None = None,
    before: Sequence[tuple[int, bytes]] = (),
) -> Any:
    """Makes a request on a socket. Words its failures as gRPC does.

    Args:
        sock: The socket.
        method: The method.
        request: Its request.
        timeout: The time limit.
        fds: As of :meth:`FrameSocket.call`.
        meanwhile: Likewise.
        before: Likewise.
    """
    payload = serialised(method, request)
    return parsed(method, *sock.call(method.number, payload, timeout, fds, meanwhile, before))


def serialised(method: Method, request: Message) -> bytes:
    """Returns the bytes of a request. Raises DirectRpcError if there are none."""
    try:
        return method.request.SerializeToString(request)
    except Exception as error:
        raise DirectRpcError(
            grpc.StatusCode.INTERNAL, f"Exception serializing request: {error}"
        ) from error


def parsed(method: Method, code: int, payload: bytes | memoryview) -> Any:
    """Returns the reply that some bytes are. Raises DirectRpcError if they are an error."""
    if code:
        raise error_from_reply(code, payload)
    try:
        return method.reply.FromString(payload)  # type: ignore[arg-type]  # A memoryview will do.
    except DecodeError as error:
        raise DirectRpcError(
            grpc.StatusCode.INTERNAL, f"Exception deserializing response: {error}"
        ) from error
