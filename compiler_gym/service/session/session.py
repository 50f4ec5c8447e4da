"""One session of a service, as a client sees it."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from compiler_gym.errors import ServiceError
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.proto import (
    EndSessionRequest,
    Event,
    ForkSessionRequest,
    SendSessionParameterRequest,
    SessionParameter,
    StartSessionReply,
    StartSessionRequest,
    StepReply,
    StepRequest,
)
from compiler_gym.service.session.observation_errors import checked
from compiler_gym.service.transport.direct_channel import DirectStub
from compiler_gym.service.transport.direct_reply import DirectReply
from compiler_gym.service.transport.grpc_reply import GrpcReply

#: Ending a session does not wait for what it does, so a service that takes longer is stuck.
END_SECONDS = 5


class Session:
    """A session from its start to its end. To be used by one thread at a time.

    Methods raise what :class:`CompilerGymServiceConnection` raises; ``SessionNotFound`` if the
    service does not know the session (any more).

    Args:
        connection: The connection to the service.
        session_id: The service's number for the session.

    Attributes:
        session_id: The service's number for the session.
    """

    def __init__(self, connection: CompilerGymServiceConnection, session_id: int):
        self.session_id = session_id
        self._connection = connection
        self._step = connection.stub.Step
        # Filled anew for each step: making messages is a good part of the cost of a short one.
        self._request = StepRequest(session_id=session_id, has_observation_errors=True)
        self._indices: Sequence[int] = ()

    @classmethod
    def start(
        cls,
        connection: CompilerGymServiceConnection,
        request: StartSessionRequest,
        timeout: float,
    ) -> tuple["Session", StartSessionReply]:
        """Starts a session. Returns it, and what the service replied."""
        reply = connection(connection.stub.StartSession, request, timeout=timeout)
        return cls(connection, reply.session_id), reply

    def step(self, actions: Iterable[Event], indices: Sequence[int], timeout: float) -> StepReply:
        """Applies actions, then computes observations.

        Args:
            actions: The actions, in order. May be empty.
            indices: The numbers of the observation spaces to compute. Give the same (unmodified)
                object again where the numbers are the same; it saves time.
            timeout: Time limit in seconds.

        Raises:
            Exception: If an observation fails; :func:`reply_behind` tells that from a step that the
                service refused.
        """
        request = self._filled_request(actions, indices)
        return checked(self._connection(self._step, request, timeout=timeout))

    def begin_step(
        self, actions: Iterable[Event], indices: Sequence[int], timeout: float
    ) -> DirectReply | GrpcReply:
        """Begins what :meth:`step` does; does not wait for it. No other request until it is done.

        Args:
            actions: As of :meth:`step`, and so are the others.
            indices: The numbers of the observation spaces.
            timeout: Time limit in seconds.

        Returns:
            What several can be waited for by, and :meth:`finish_step` takes.
        """
        request = self._filled_request(actions, indices)
        return self._connection.begin_step(request, timeout)

    def finish_step(self, begun: DirectReply | GrpcReply, timeout: float) -> StepReply:
        """Waits for the reply to what :meth:`begin_step` has begun.

        Args:
            begun: What that has returned. Cannot be used again.
            timeout: As given to it.
        """
        return checked(self._connection.finish_step(begun, self._request, timeout))

    def _filled_request(self, actions: Iterable[Event], indices: Sequence[int]) -> StepRequest:
        request = self._request
        del request.action[:]
        request.action.extend(actions)
        if indices is not self._indices:
            del request.observation_space[:]
            request.observation_space.extend(indices)
            self._indices = indices
        return request

    def fork(
        self, timeout: float = 300, meanwhile: Callable[[], object] | None = None
    ) -> "Session":
        """Starts another session in exactly the state of this one.

        Args:
            timeout: Time limit in seconds.
            meanwhile: What to do while the service is at it; may not be called at all.

        Raises:
            NotImplementedError: If the service cannot fork sessions.
        """
        request = ForkSessionRequest(session_id=self.session_id)
        stub = self._connection.stub
        ask: Callable[..., Any] = stub.ForkSession
        if meanwhile and isinstance(stub, DirectStub):
            ask = partial(ask, meanwhile=meanwhile)
        reply = self._connection(ask, request, timeout=timeout)
        return Session(self._connection, reply.session_id)

    def send_params(self, params: Iterable[tuple[str, str]], timeout: float = 300) -> list[str]:
        """Sends parameters, and returns the reply to each.

        Raises:
            ValueError: If a key is unknown or a value malformed; those before it are set.
        """
        request = SendSessionParameterRequest(
            session_id=self.session_id,
            parameter=[SessionParameter(key=key, value=value) for key, value in params],
        )
        stub_method = self._connection.stub.SendSessionParameter
        return list(self._connection(stub_method, request, timeout=timeout).reply)

    def end(self, timeout: float, waits: bool = True) -> None:
        """Ends the session. Makes one attempt only.

        Args:
            timeout: Time limit in seconds.
            waits: Whether to wait until it has ended, and raise what went wrong. Otherwise it may
                end with the next request to the service, before that is served.
        """
        request = EndSessionRequest(session_id=self.session_id)
        stub = self._connection.stub
        if not waits and isinstance(stub, DirectStub) and stub.end_soon(request):
            return
        self._connection(stub.EndSession, request, timeout=timeout, max_retries=0)

    def abandon(self, waits: bool = False) -> None:
        """Ends the session, whatever becomes of that.

        Args:
            waits: As of :meth:`end`.
        """
        with suppress(ServiceError, OSError):
            self.end(END_SECONDS, waits)
