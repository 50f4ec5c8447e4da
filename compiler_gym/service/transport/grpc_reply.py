"""Replies by gRPC that can be waited for together with others."""

import contextlib
import socket
from typing import Any

from compiler_gym.service.transport.frame_socket import end_of


class GrpcReply:
    """The reply to a request by gRPC, which is on its way.

    Args:
        call: The request.
        timeout: Its time limit.

    Attributes:
        deadline: When :meth:`result` gives up, by :func:`time.monotonic`; None for never.
        fd: A descriptor that is readable as soon as there is a reply.
    """

    def __init__(self, call: Any, timeout: float | None):
        self.deadline = end_of(timeout)
        self._call = call
        # It is a thread of gRPC that knows of the reply first.
        self._ours, self._theirs = socket.socketpair()
        self.fd = self._ours.fileno()
        call.add_done_callback(self._announce)

    def _announce(self, call: Any) -> None:
        # Nobody waits for a reply that was taken in the meantime.
        with contextlib.suppress(OSError):
            self._theirs.send(b"!")

    def result(self) -> Any:
        """Waits for the reply. To be called once.

        Raises:
            grpc.RpcError: If there is an error instead.
        """
        try:
            return self._call.result()
        except BaseException:
            self._call.cancel()
            raise
        finally:
            self._close()

    def cancel(self) -> None:
        """Gives up the reply."""
        self._call.cancel()
        self._close()

    def _close(self) -> None:
        self._ours.close()
        self._theirs.close()
