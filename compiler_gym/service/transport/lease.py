"""The lease of a connection: sessions end with the client that holds their lease."""

import logging
import threading

import grpc

from compiler_gym.service.proto import CompilerGymServiceStub, HoldLeaseRequest
from compiler_gym.service.transport.direct_channel import DirectStub
from compiler_gym.service.transport.service_sockets import DirectLease

logger = logging.getLogger(__name__)


class Lease:
    """Holds a lease of a service, and another one after the service or the network failed.

    May be used from several threads.

    Args:
        stub: The stub of the connection. The direct channel has leases that need no thread of gRPC.
        grpc_stub: The stub for gRPC.
        limit: The time limit in seconds for opening a lease.
    """

    def __init__(
        self,
        stub: CompilerGymServiceStub | DirectStub,
        grpc_stub: CompilerGymServiceStub,
        limit: float,
    ):
        self._stub = stub
        self._grpc_stub = grpc_stub
        self._limit = limit
        self._held: DirectLease | grpc.Call | None = None
        self._lock = threading.Lock()
        self._number = self._hold()

    @property
    def number(self) -> int:
        """The number of the lease; 0 if the service has no leases."""
        with self._lock:
            if self._held is not None and not self._held.is_active():
                # The service was restarted or the network interrupted: all sessions have ended.
                self._number = self._hold()
            return self._number

    def _hold(self) -> int:
        if isinstance(self._stub, DirectStub):
            direct = self._stub.hold_lease(self._limit)
            if direct is not None:
                self._held = direct
                return direct.lease_id
        call = self._grpc_stub.HoldLease(HoldLeaseRequest())
        # The call itself has no time limit, because it lasts as long as the lease.
        limit = threading.Timer(self._limit, call.cancel)
        limit.start()
        try:
            number = next(call).lease_id
        except grpc.RpcError as error:
            logger.debug("The service gives no lease: %s", error)
            # The error is the call itself, so its traceback would keep the waiting object alive.
            error.__traceback__ = None
            return 0
        finally:
            limit.cancel()
        self._held = call
        return number

    @property
    def is_known_active(self) -> bool:
        """True if the service keeps the lease, as far as a look at a socket can tell."""
        return isinstance(self._held, DirectLease) and self._held.is_active()

    def cancel(self) -> None:
        """Ends the lease and its sessions."""
        if self._held is not None:
            self._held.cancel()
