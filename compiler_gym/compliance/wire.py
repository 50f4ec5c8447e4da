"""A minimal client, and its sessions: sends requests unchanged, and returns replies and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import Message

from compiler_gym.compliance.rule import Clock, NotChecked, Violation
from compiler_gym.compliance.values import Action, exact
from compiler_gym.service.proto import (
    AddBenchmarkReply,
    AddBenchmarkRequest,
    CompilerGymServiceStub,
    EndSessionReply,
    EndSessionRequest,
    Event,
    ForkSessionReply,
    ForkSessionRequest,
    GetSpacesReply,
    GetSpacesRequest,
    GetVersionReply,
    GetVersionRequest,
    HoldLeaseRequest,
    SendSessionParameterReply,
    SendSessionParameterRequest,
    SessionParameter,
    StartSessionReply,
    StartSessionRequest,
    StepReply,
    StepRequest,
)
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.service.transport.direct_channel import DirectStub
from compiler_gym.service.transport.frames import SOCKET_NAME_KEY
from compiler_gym.service.transport.grpc_channels import open_channel
from compiler_gym.util.truncate import shortened

_PREFIX = "/compiler_gym.CompilerGymService/"

#: The requests of all methods that answer once.
METHODS: dict[str, tuple[type[Message], type[Message]]] = {
    "GetVersion": (GetVersionRequest, GetVersionReply),
    "GetSpaces": (GetSpacesRequest, GetSpacesReply),
    "StartSession": (StartSessionRequest, StartSessionReply),
    "ForkSession": (ForkSessionRequest, ForkSessionReply),
    "EndSession": (EndSessionRequest, EndSessionReply),
    "Step": (StepRequest, StepReply),
    "AddBenchmark": (AddBenchmarkRequest, AddBenchmarkReply),
    "SendSessionParameter": (SendSessionParameterRequest, SendSessionParameterReply),
}

# The time limit of a single request. Longer ones hang.
_CALL_SECONDS = 30.0

_MAX_DETAILS = 200
_CONNECT_SECONDS = 5.0


@dataclass(frozen=True)
class Answer:
    """The answer of a service.

    Attributes:
        method: The method that was called.
        code: The name of the status, ``"OK"`` or another of gRPC.
        details: The error text of the service.
        reply: The reply; empty after an error.
    """

    method: str
    code: str
    details: str
    reply: Any

    @property
    def is_ok(self) -> bool:
        """True if the answer is not an error."""
        return self.code == "OK"

    def ok(self) -> Any:
        """Returns the reply. Raises Violation if it is an error."""
        if not self.is_ok:
            raise Violation(f"{self.method} answers {self}")
        return self.reply

    def expect(self, *codes: str, about: str = "") -> None:
        """Raises Violation unless the status is one of these. ``about`` describes the request."""
        if self.code not in codes:
            what = f" {about}" if about else ""
            raise Violation(f"{self.method}{what} answers {self} rather than {' or '.join(codes)}")

    def __str__(self) -> str:
        first = self.details.strip().partition("\n")[0]
        return f'{self.code}, "{shortened(first, _MAX_DETAILS)}"' if first else self.code


class Lease:
    """A lease, which lasts until it is cancelled.

    Attributes:
        id: Its number.
    """

    def __init__(self, call: Any, id: int):
        self._call = call
        self.id = id

    def cancel(self) -> None:
        """Ends the lease."""
        self._call.cancel()


class WireClient:
    """A separate connection to a service.

    Args:
        address: Where the service listens, as gRPC writes addresses.
        clock: The time of the rule; no request takes longer than is left of it.
    """

    def __init__(self, address: str, clock: Clock):
        self._clock = clock
        self._channel = open_channel(address, ConnectionOpts())
        # Or the DirectStub that has the same methods.
        self._stub: Any = CompilerGymServiceStub(self._channel)

    def close(self) -> None:
        """Closes the connection."""
        if isinstance(self._stub, DirectStub):
            self._stub.close()
        self._channel.close()

    def switch_to_direct_channel(self) -> None:
        """Switches all further requests to the direct channel.

        Raises:
            NotChecked: If the service has none.
            Violation: If it says that it has one, which cannot be connected to.
        """
        name = self._metadata().get(SOCKET_NAME_KEY)
        if not name:
            raise NotChecked("the service has no direct channel")
        stub = DirectStub.connect(name, self._stub, self._limit(_CONNECT_SECONDS))
        if stub is None:
            raise Violation(f"nobody answers at {name!r}, where GetSpaces says the channel is")
        self._stub = stub

    def call(self, method: str, request: Message, timeout: float | None = None) -> Answer:
        """Makes a request.

        Args:
            method: The name of the method.
            request: The request.
            timeout: Its time limit in seconds.
        """
        return self._ask(method, getattr(self._stub, method), request, timeout)

    def begin(self, method: str, request: Message, timeout: float | None = None) -> Any:
        """Makes a request without waiting. Returns a future for :meth:`finish`."""
        return getattr(self._stub, method).future(request, timeout=self._limit(timeout))

    def finish(self, method: str, future: Any) -> Answer:
        """Waits for the answer to a request that was begun."""
        return self._ask(method, lambda *_, **__: future.result(), None, None)

    def send_bytes(self, method: str, data: bytes, timeout: float | None = None) -> Answer:
        """Sends bytes where the service expects a request."""
        return self._ask(method, self._channel.unary_unary(_PREFIX + method), data, timeout)

    def _metadata(self) -> dict[str, str]:
        """The service's description in the trailing metadata of GetSpaces."""
        limit = self._limit(None)
        try:
            _, call = self._stub.GetSpaces.with_call(GetSpacesRequest(), timeout=limit)
        except grpc.RpcError:
            return {}
        return dict(call.trailing_metadata() or ())

    def hold_lease(self) -> Lease:
        """Opens a lease.

        Raises:
            NotChecked: If the service has no leases.
            Violation: If it fails to give one.
        """
        call = self._stub.HoldLease(HoldLeaseRequest(), timeout=self._clock.left())
        try:
            return Lease(call, next(call).lease_id)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                raise NotChecked("the service has no leases: HoldLease is UNIMPLEMENTED") from None
            text = f"HoldLease answers {error.code().name}: {error.details()}"
            raise Violation(text) from None
        except StopIteration:
            raise Violation("HoldLease ends without a lease") from None

    def _limit(self, timeout: float | None) -> float:
        return min(self._clock.left(), _CALL_SECONDS if timeout is None else timeout)

    def _ask(
        self, method: str, send: Callable[..., Any], request: Any, timeout: float | None
    ) -> Answer:
        nothing = METHODS[method][1]() if method in METHODS else None
        try:
            reply = send(request, timeout=self._limit(timeout))
        except grpc.RpcError as error:
            with suppress(AttributeError):
                return Answer(method, error.code().name, error.details() or "", nothing)
            raise
        except grpc.FutureCancelledError:
            return Answer(method, "CANCELLED", "", nothing)
        return Answer(method, "OK", "", reply)


@dataclass
class Session:
    """A session of a service.

    Attributes:
        id: The number of the session.
        client: The connection.
        started: The reply of StartSession; None for a fork.
        state_spaces: The numbers of the observations in :meth:`state`.
        forked: A function that is called with each fork.
    """

    id: int
    client: WireClient
    started: Any = None
    state_spaces: Sequence[int] = ()
    forked: Callable[[Session], None] = lambda fork: None

    def try_step(
        self,
        actions: Sequence[Action | Event] = (),
        observe: Sequence[int] = (),
        timeout: float | None = None,
    ) -> Answer:
        """Takes a step. Returns the reply or the error."""
        return self.client.call("Step", self.step_request(actions, observe), timeout)

    def step(self, actions: Sequence[Action | Event] = (), observe: Sequence[int] = ()) -> Any:
        """Takes a step. Returns the reply.

        Raises:
            Violation: After an error, or if the number of observations is wrong.
        """
        reply = self.try_step(actions, observe).ok()
        if len(reply.observation) != len(observe):
            asked, came = len(observe), len(reply.observation)
            raise Violation(f"{asked} observations were asked for, {came} came")
        return reply

    def step_request(
        self, actions: Sequence[Action | Event] = (), observe: Sequence[int] = ()
    ) -> StepRequest:
        """Returns the request for a step."""
        events = [each.event if isinstance(each, Action) else each for each in actions]
        return StepRequest(session_id=self.id, action=events, observation_space=observe)

    def state(self) -> list[bytes]:
        """Returns the state of the program, which is the same for equal programs."""
        return self.observe(self.state_spaces)

    def observe(self, numbers: Sequence[int]) -> list[bytes]:
        """Returns observations in a form that can be compared."""
        return [exact(event) for event in self.step((), numbers).observation]

    def try_fork(self) -> Answer:
        """Forks the session. Returns the reply or the error."""
        return self.client.call("ForkSession", ForkSessionRequest(session_id=self.id))

    def cannot_fork(self) -> bool:
        """Returns true if the service cannot fork sessions at all."""
        answer = self.try_fork()
        if answer.is_ok:
            fork = Session(answer.reply.session_id, self.client, None, (), self.forked)
            fork.try_end()
        return answer.code == "UNIMPLEMENTED"

    def fork(self) -> Session:
        """Forks the session. Raises Violation after an error."""
        fork = Session(
            self.try_fork().ok().session_id, self.client, None, self.state_spaces, self.forked
        )
        self.forked(fork)
        return fork

    def try_end(self, timeout: float | None = None) -> Answer:
        """Ends the session. Returns the reply or the error."""
        return self.client.call("EndSession", EndSessionRequest(session_id=self.id), timeout)

    def end(self) -> int:
        """Ends the session. Returns the number of open ones. Raises Violation after an error."""
        return int(self.try_end().ok().remaining_sessions)

    def try_parameters(self, *parameters: tuple[str, str]) -> Answer:
        """Sends pairs of key and value as parameters. Returns the reply or the error."""
        request = SendSessionParameterRequest(
            session_id=self.id,
            parameter=[SessionParameter(key=key, value=value) for key, value in parameters],
        )
        return self.client.call("SendSessionParameter", request)
