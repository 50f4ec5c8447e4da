"""Conversion of the status of a failed RPC to the exception for users.

The codes are those that ``proto/compiler_gym_service.proto`` lists.
"""

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
