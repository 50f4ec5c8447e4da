"""A session of a service, for rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler_gym.compliance.rule import Violation
from compiler_gym.compliance.values import Action, exact
from compiler_gym.compliance.wire import Answer, WireClient
from compiler_gym.service.proto import (
    EndSessionRequest,
    Event,
    ForkSessionRequest,
    SendSessionParameterRequest,
    SessionParameter,
    StepRequest,
)


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
