"""Channels of gRPC, by TCP with or without TLS and a token, or by Unix sockets.

Also the connections over them, and their errors.
"""

import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from compiler_gym.errors import (
    ServiceError,
    ServiceIsClosed,
    ServiceOSError,
    ServiceTransportError,
    SessionDied,
    SessionLost,
    SessionNotFound,
)
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.service.transport.frame_socket import end_of


class GrpcReply:
    """The pending reply to a request by gRPC.

    Args:
        call: The request.
        timeout: Its time limit.

    Attributes:
        deadline: The time at which :meth:`result` gives up, by :func:`time.monotonic`; None for
            never.
        fd: A descriptor that is readable as soon as there is a reply.
    """

    def __init__(self, call: Any, timeout: float | None):
        self.deadline = end_of(timeout)
        self._call = call
        # A thread of gRPC receives the reply first.
        self._ours, self._theirs = socket.socketpair()
        self.fd = self._ours.fileno()
        call.add_done_callback(self._announce)

    def _announce(self, call: Any) -> None:
        # The reply has been taken already.
        with contextlib.suppress(OSError):
            self._theirs.send(b"!")

    def result(self) -> Any:
        """Waits for the reply. Call it once.

        Raises:
            grpc.RpcError: If the request fails.
        """
        try:
            return self._call.result()
        except BaseException:
            self._call.cancel()
            raise
        finally:
            self._close()

    def cancel(self) -> None:
        """Cancels the request."""
        self._call.cancel()
        self._close()

    def _close(self) -> None:
        self._ours.close()
        self._theirs.close()


_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_send_message_length", -1),  # Unlimited: a message holds a whole program.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_metadata_size", 512 * 1024),  # Error texts travel as metadata.
    ("grpc.enable_http_proxy", 0),
    ("grpc.so_reuseport", 0),
    # Another service may soon use the same port. Do not inherit the state of the old one.
    ("grpc.use_local_subchannel_pool", 1),
)


def open_channel(address: str, opts: ConnectionOpts) -> grpc.Channel:
    """Makes a channel to a service. It connects when it is first used.

    Args:
        address: ``"host:port"``, or ``"unix:PATH"`` for a Unix socket, where neither TLS nor a
            token is needed.
        opts: Has the files of TLS, and the token.

    Raises:
        ValueError: If the options contradict each other, or a file does not hold what it should.
        OSError: If a file cannot be read.
    """
    if address.startswith("unix:"):
        return grpc.insecure_channel(address, options=_OPTIONS)
    credentials, token = _tls_credentials(opts), _read_token(opts)
    if credentials is None:
        channel = grpc.insecure_channel(address, options=_OPTIONS)
    else:
        channel = grpc.secure_channel(address, credentials, options=_OPTIONS)
    return channel if token is None else grpc.intercept_channel(channel, _TokenSender(token))


def _tls_credentials(opts: ConnectionOpts) -> grpc.ChannelCredentials | None:
    if (opts.tls_certificate_file is None) != (opts.tls_key_file is None):
        raise ValueError("tls_certificate_file and tls_key_file need each other")
    if opts.tls_ca_file is None:
        if opts.tls_key_file is not None:
            raise ValueError("tls_certificate_file needs tls_ca_file, which identifies the service")
        return None
    return grpc.ssl_channel_credentials(
        _read_pem(opts.tls_ca_file),
        _read_pem(opts.tls_key_file) if opts.tls_key_file else None,
        _read_pem(opts.tls_certificate_file) if opts.tls_certificate_file else None,
    )


def _read_pem(path: Path) -> bytes:
    contents = path.read_bytes()
    if b"-----BEGIN " not in contents:
        raise ValueError(f"{path} is not in PEM format (-----BEGIN ...-----)")
    return contents


def _read_token(opts: ConnectionOpts) -> str | None:
    if opts.token is not None and opts.token_file is not None:
        raise ValueError("Give either token or token_file, not both")
    if opts.token is not None:
        token, source = opts.token.get_secret_value(), "ConnectionOpts.token"
    elif opts.token_file is not None:
        token, source = opts.token_file.read_text().strip(), str(opts.token_file)
    else:
        return None
    if not (token and token.isascii() and token.isprintable() and " " not in token):
        raise ValueError(f"{source} holds no token, which has printable characters and no spaces")
    return token


class _CallDetails(NamedTuple):
    """The attributes of ``grpc.ClientCallDetails`` that gRPC reads."""

    method: str
    timeout: float | None
    metadata: list[tuple[str, str | bytes]]
    credentials: grpc.CallCredentials | None
    wait_for_ready: bool | None
    compression: grpc.Compression | None


class _TokenSender(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Adds the token to each request. gRPC's own credentials would do so with TLS only."""

    def __init__(self, token: str):
        self._entry = ("authorization", f"Bearer {token}")

    def intercept_unary_unary(
        self, continuation: Callable[..., Any], client_call_details: Any, request: Any
    ) -> Any:
        return self._send(continuation, client_call_details, request)

    def intercept_unary_stream(
        self, continuation: Callable[..., Any], client_call_details: Any, request: Any
    ) -> Any:
        return self._send(continuation, client_call_details, request)

    def _send(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        return continuation(
            _CallDetails(
                details.method,
                details.timeout,
                [*(details.metadata or ()), self._entry],
                details.credentials,
                details.wait_for_ready,
                details.compression,
            ),
            request,
        )


# Conversion of the status of a failed RPC to the exception for users.
#
# The codes are those that ``proto/compiler_gym_service.proto`` lists.

#: The beginning of the details of NOT_FOUND if the session does not exist.
SESSION_NOT_FOUND_PHRASE = "Session not found"

# The beginning of the details of FAILED_PRECONDITION if the lease has ended.
_LEASE_HAS_ENDED = "The lease "

# The beginning of the details of ABORTED if the compiler is not to blame.
_SESSION_WAS_LOST = "The session was lost"

# gRPC reports a request that cannot be encoded on this side as INTERNAL with these details.
_UNSERIALISABLE_REQUEST = "Exception serializing request"

# gRPC's details when no connection was made at all, so that the request cannot have arrived.
_NEVER_SENT = "failed to connect"

_EXCEPTION_OF_CODE: dict[grpc.StatusCode, type[Exception]] = {
    grpc.StatusCode.INVALID_ARGUMENT: ValueError,
    grpc.StatusCode.UNIMPLEMENTED: NotImplementedError,
    grpc.StatusCode.NOT_FOUND: FileNotFoundError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ServiceOSError,
    grpc.StatusCode.FAILED_PRECONDITION: TypeError,
    grpc.StatusCode.ABORTED: SessionDied,
    grpc.StatusCode.UNAVAILABLE: ServiceTransportError,
    grpc.StatusCode.DEADLINE_EXCEEDED: TimeoutError,
    grpc.StatusCode.CANCELLED: ServiceIsClosed,
    grpc.StatusCode.UNAUTHENTICATED: PermissionError,
}


def exception_from_rpc_error(error: grpc.RpcError) -> Exception:
    """Returns the exception for the user about a failed RPC.

    Args:
        error: The error of a stub method.

    Returns:
        ``ValueError`` for INVALID_ARGUMENT, ``NotImplementedError`` for UNIMPLEMENTED,
        ``SessionNotFound`` or ``FileNotFoundError`` for NOT_FOUND, ``ServiceOSError`` for
        RESOURCE_EXHAUSTED, ``TypeError`` for FAILED_PRECONDITION and for a request that cannot be
        encoded, ``SessionDied`` for ABORTED, ``SessionLost`` if the compiler is not to blame for
        that, ``ServiceTransportError`` for UNAVAILABLE and for a
        lease that has ended (the service was restarted, or thinks that this process has gone),
        ``TimeoutError`` for DEADLINE_EXCEEDED, ``ServiceIsClosed`` for CANCELLED (the channel was
        closed during the call), ``PermissionError`` for UNAUTHENTICATED, ``ServiceError`` for all
        others. It is not raised.
    """
    code = error.code()
    details = error.details() or ""
    if code is grpc.StatusCode.NOT_FOUND and details.startswith(SESSION_NOT_FOUND_PHRASE):
        return SessionNotFound(details)
    if code is grpc.StatusCode.ABORTED and details.startswith(_SESSION_WAS_LOST):
        return SessionLost(details)
    if code is grpc.StatusCode.FAILED_PRECONDITION and details.startswith(_LEASE_HAS_ENDED):
        return ServiceTransportError(details)
    if code is grpc.StatusCode.INTERNAL and details.startswith(_UNSERIALISABLE_REQUEST):
        return TypeError(f"The request cannot be encoded: {details}")
    if code is grpc.StatusCode.UNKNOWN:
        return ServiceError(
            f"{details or 'The service gave no details'} (the status of the RPC is UNKNOWN; most "
            "often an exception escaped from the service's code, see its log)"
        )
    kind = _EXCEPTION_OF_CODE.get(code, ServiceError)
    return kind(details or f"The RPC failed with status {code.name} and no details")


def is_transport_failure(error: grpc.RpcError) -> bool:
    """Returns true if the service was unreachable; false if it rejected the request."""
    return error.code() is grpc.StatusCode.UNAVAILABLE


def was_never_sent(error: grpc.RpcError) -> bool:
    """Returns true if a transport failure happened before the request can have reached the service.

    Only then is it safe to repeat a request that must not be carried out twice.
    """
    return is_transport_failure(error) and _NEVER_SENT in (error.details() or "").lower()


# Open connections.


def checked_endpoint(endpoint: str | Path) -> str | Path:
    """Returns the path of a service to start, or the address of a running one.

    Raises:
        TypeError: If it is neither.
    """
    if isinstance(endpoint, Path):
        return endpoint
    if not isinstance(endpoint, str) or not endpoint:
        raise TypeError(
            'expected a service as an address "host:port", or as the pathlib.Path of an executable '
            f"to start, got {endpoint!r}"
        )
    host, colon, port = endpoint.rpartition(":")
    if not (host and colon and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise TypeError(
            f"{endpoint!r} is not an address host:port. To start an executable, give its path as "
            "a pathlib.Path"
        )
    return endpoint


@dataclass(frozen=True)
class Connection:
    """An open connection; :attr:`CompilerGymServiceConnection.connection` is one.

    Attributes:
        url: The address of the service, ``"host:port"``.
        channel: The channel of gRPC.
        stub: The RPC methods.
    """

    url: str
    channel: grpc.Channel
    stub: Any

    def loglines(self) -> Iterator[str]:
        """Yields the lines of the service's logs; nothing if it runs elsewhere."""
        return iter(())


class UnmanagedConnection(Connection):
    """A connection to a service that was running before."""
