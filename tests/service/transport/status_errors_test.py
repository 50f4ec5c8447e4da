"""The exceptions that failed RPCs become."""

import grpc
import pytest

from compiler_gym.errors import (
    ServiceError,
    ServiceIsClosed,
    ServiceOSError,
    ServiceTransportError,
    SessionDied,
    SessionNotFound,
)
from compiler_gym.service.transport.grpc_channels import (
    exception_from_rpc_error,
    is_transport_failure,
    was_never_sent,
)


class RpcFailure(grpc.RpcError):
    def __init__(self, code: grpc.StatusCode, details: str | None):
        self._code, self._details = code, details

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str | None:
        return self._details


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("INVALID_ARGUMENT", ValueError),
        ("UNIMPLEMENTED", NotImplementedError),
        ("NOT_FOUND", FileNotFoundError),
        ("RESOURCE_EXHAUSTED", ServiceOSError),
        ("FAILED_PRECONDITION", TypeError),
        ("UNAVAILABLE", ServiceTransportError),
        ("DEADLINE_EXCEEDED", TimeoutError),
        ("CANCELLED", ServiceIsClosed),
        ("UNAUTHENTICATED", PermissionError),
        ("DATA_LOSS", ServiceError),
        ("UNKNOWN", ServiceError),
        ("ABORTED", SessionDied),
        ("INTERNAL", ServiceError),
        ("PERMISSION_DENIED", ServiceError),
    ],
)
def test_exception_of_each_code(code, kind):
    error = exception_from_rpc_error(RpcFailure(grpc.StatusCode[code], "what was wrong"))
    assert type(error) is kind
    assert "what was wrong" in str(error)


def test_session_not_found():
    failure = RpcFailure(grpc.StatusCode.NOT_FOUND, "Session not found: 3")
    assert type(exception_from_rpc_error(failure)) is SessionNotFound


def test_was_never_sent():
    lost = RpcFailure(grpc.StatusCode.UNAVAILABLE, "Socket closed")
    refused = RpcFailure(
        grpc.StatusCode.UNAVAILABLE, "failed to connect to all addresses; Connection refused"
    )
    other = RpcFailure(grpc.StatusCode.INTERNAL, "failed to connect")
    assert [is_transport_failure(error) for error in (lost, refused, other)] == [True, True, False]
    assert [was_never_sent(error) for error in (lost, refused, other)] == [False, True, False]
