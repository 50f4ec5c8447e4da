"""A survey of a service's observations and actions, shared by all rules."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from compiler_gym.compliance.rule import Violation
from compiler_gym.compliance.values import Action, exact
from compiler_gym.compliance.wire import Session
from compiler_gym.service.proto import Event, ObservationSpace

# Observations that take longer altogether are not used to compare states.
_STATE_SECONDS = 0.1
_OBSERVATION_SECONDS = 10.0
_ACTION_SECONDS = 5.0

#: The status codes of refused actions, which had no effect.
REFUSALS = ("INVALID_ARGUMENT", "OUT_OF_RANGE", "NOT_FOUND", "UNIMPLEMENTED", "FAILED_PRECONDITION")

Start = Callable[[], Session]


@dataclass
class Observed:
    """The observations of a program at the start of a session.

    Attributes:
        events: The values of available observations, by their number.
        failures: The errors of all other observations, by their number.
        state_spaces: The numbers of the observations that compare states.
    """

    events: dict[int, Event] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    state_spaces: list[int] = field(default_factory=list)


def observe_once(start: Start, spaces: Sequence[ObservationSpace]) -> Observed:
    """Requests each observation by itself.

    Args:
        start: Starts a session; it is called again after each observation that fails.
        spaces: The observations.
    """
    found = Observed()
    seconds: dict[int, float] = {}
    session = start()
    for number, space in enumerate(spaces):
        begin = time.monotonic()
        answer = session.try_step((), [number], _OBSERVATION_SECONDS)
        if answer.is_ok and len(answer.reply.observation) == 1:
            found.events[number] = answer.reply.observation[0]
            if space.deterministic:
                seconds[number] = time.monotonic() - begin
        else:
            found.failures[number] = f"{space.name}: {answer}"
            session.try_end()
            session = start()
    session.try_end()
    total = 0.0
    for number in sorted(seconds, key=seconds.__getitem__):
        total += seconds[number]
        if not found.state_spaces or total < _STATE_SECONDS:
            found.state_spaces.append(number)
    return found


@dataclass
class Survey:
    """The effect of each action on a program.

    Attributes:
        effective: Actions that change an observation without ending the session.
        harmless: Actions that change no observation and do not end the session.
        ending: Actions that end the session.
        refused: The errors of refused actions.
        failed: The errors of failed actions.
        idle: Actions that the service reports as without effect.
        ignored: The number of untried actions.
    """

    effective: list[Action] = field(default_factory=list)
    harmless: list[Action] = field(default_factory=list)
    ending: list[Action] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    idle: list[Action] = field(default_factory=list)
    ignored: int = 0


def try_actions(start: Start, actions: Sequence[Action], seconds: float) -> Survey:
    """Tries actions, each in a new session.

    Args:
        start: Starts a session.
        actions: The actions.
        seconds: The time limit for trying actions.

    Raises:
        Violation: If an action ends the service.
    """
    found = Survey()
    end = time.monotonic() + seconds
    for number, action in enumerate(actions):
        if time.monotonic() > end:
            found.ignored = len(actions) - number
            break
        _try_action(start(), action, found)
    return found


def _try_action(session: Session, action: Action, found: Survey) -> None:
    before = session.state()
    answer = session.try_step([action], session.state_spaces, _ACTION_SECONDS)
    if answer.code == "UNAVAILABLE":
        raise Violation(
            f"the action {action.name} has ended the service; if it is there for that, name it by "
            "--crash-action"
        )
    if answer.is_ok:
        reply = answer.reply
        is_changed = [exact(event) for event in reply.observation] != before
        if reply.action_had_no_effect and not reply.HasField("new_action_space"):
            found.idle.append(action)
        if reply.end_of_session:
            found.ending.append(action)
        elif not reply.HasField("new_action_space"):
            (found.effective if is_changed else found.harmless).append(action)
    else:
        bad = found.refused if answer.code in REFUSALS else found.failed
        bad.append(f"{action.name}: {answer}")
    session.try_end()
