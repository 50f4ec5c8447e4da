"""The subject of rules: the service to check, and a survey of its observations and actions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from compiler_gym.compliance.rule import Clock, NotChecked, Violation
from compiler_gym.compliance.target import ServiceProcess, Target, run_to_end
from compiler_gym.compliance.values import Action, action_named, actions_of, exact
from compiler_gym.compliance.wire import Answer, Session, WireClient
from compiler_gym.service.proto import (
    ActionSpace,
    Benchmark,
    Event,
    GetSpacesReply,
    GetSpacesRequest,
    GetVersionRequest,
    ObservationSpace,
    StartSessionRequest,
)

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


# The time after a rule in which the service must answer; otherwise it is replaced.
_ALIVE_SECONDS = 30

# The share of a rule's time for trying actions.
_SURVEY_SHARE = 0.5

# The actions of a walk: their number, the distance between two, and the repetitions of each.
_WALKED = 10
_STRIDE = 13
_WALK_LENGTH = 12


class RunningService:
    """A running service, and a connection to it.

    Attributes:
        process: The service.
        port: The port of the service.
        client: The connection.
    """

    def __init__(self, target: Target, clock: Clock, *flags: str):
        self._clock = clock
        self.process = ServiceProcess(target, clock, *flags)
        try:
            self.port = self.process.wait_until_ready()
            self.client = self.connect()
        except BaseException:
            self.process.close()
            raise

    def connect(self) -> WireClient:
        """Opens another connection, which the caller closes."""
        return WireClient(f"127.0.0.1:{self.port}", self._clock)

    def is_alive(self) -> bool:
        """Returns true if the service answers."""
        if not self.process.is_running():
            return False
        return self.client.call("GetVersion", GetVersionRequest(), _ALIVE_SECONDS).is_ok

    def require_alive(self, after: str) -> None:
        """Raises Violation if the service does not answer ``after`` a given request."""
        if not self.is_alive():
            raise Violation(
                f"after {after} the service does not answer; its process {self.process.state()}"
                f"{self.process.log_tail()}"
            )

    def close(self) -> None:
        """Closes the connection and ends the service."""
        self.client.close()
        self.process.close()


class Subject:
    """The service that is checked.

    Most rules share a process, which is started on demand, and again if a rule has ended it.
    Sessions are ended after each rule.

    Args:
        target: The service.
        time_limit: The time limit of each rule in seconds.
        max_actions: The maximum number of actions that are tried, evenly spaced.

    Attributes:
        clock: The time of the rule.
    """

    def __init__(self, target: Target, time_limit: float = 60, max_actions: int | None = None):
        self.target = target
        self.max_actions = max_actions
        self.clock = Clock(time_limit)
        self._service: RunningService | None = None
        self._open: list[Session] = []

    # Processes.

    @property
    def service(self) -> RunningService:
        """The process that rules share."""
        if self._service is None:
            self._service = RunningService(self.target, self.clock)
        return self._service

    @property
    def client(self) -> WireClient:
        """The connection that rules share."""
        return self.service.client

    @contextmanager
    def own_service(self, *flags: str) -> Iterator[RunningService]:
        """A process for one rule alone."""
        service = RunningService(self.target, self.clock, *flags)
        try:
            yield service
        finally:
            service.close()

    def end_rule(self) -> None:
        """Ends the open sessions of a rule. Drops the shared process if it is unusable."""
        self.clock.restart()
        sessions, self._open = self._open, []
        if self._service is None:
            return
        if self._service.is_alive():
            # If a service is stuck, wait for one session, not for all.
            codes = (session.try_end(_ALIVE_SECONDS).code for session in sessions)
            if "DEADLINE_EXCEEDED" not in codes:
                return
        self.give_up()

    def give_up(self) -> None:
        """Ends the shared process; the next use starts another."""
        service, self._service = self._service, None
        self._open = []
        if service is not None:
            service.close()

    # Spaces.

    @cached_property
    def spaces(self) -> GetSpacesReply:
        """The spaces of the service."""
        return self.client.call("GetSpaces", GetSpacesRequest()).ok()

    @property
    def action_space(self) -> ActionSpace:
        """The default space for actions: the first."""
        if not self.spaces.action_space_list:
            raise NotChecked("the service has no action space")
        return self.spaces.action_space_list[0]

    @property
    def observation_spaces(self) -> Sequence[ObservationSpace]:
        """All observations."""
        return self.spaces.observation_space_list

    @cached_property
    def help_text(self) -> str:
        """The output of the service with ``--help``."""
        return run_to_end(self.target, self.clock, "--help").stdout

    # Programs and sessions.

    @property
    def benchmark(self) -> Benchmark:
        """A program. Raises NotChecked if there is none."""
        if not self.target.benchmarks:
            raise NotChecked("no program is known: give one with --benchmark, --dataset or --env")
        return self.target.benchmarks[0]

    @property
    def sent_benchmark(self) -> Benchmark:
        """A program that is sent with the request. Raises NotChecked if none can be."""
        if not self.benchmark.HasField("program"):
            raise NotChecked("only the URI of a program is known: give a file with --benchmark")
        return self.benchmark

    @property
    def other_benchmark(self) -> Benchmark:
        """Another program. Raises NotChecked if there is none."""
        others = [each for each in self.target.benchmarks[1:] if each.HasField("program")]
        if not others:
            raise NotChecked("only one program is known: give a second --benchmark")
        return others[0]

    def try_start(
        self,
        benchmark: Benchmark | None = None,
        observe: Sequence[int] = (),
        action_space: int = 0,
        lease: int = 0,
        client: WireClient | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Starts a session that is not ended automatically. Returns the answer."""
        request = StartSessionRequest(
            benchmark=self.benchmark if benchmark is None else benchmark,
            observation_space=observe,
            action_space=action_space,
            lease_id=lease,
        )
        return (client or self.client).call("StartSession", request, timeout)

    def start(self, **arguments: Any) -> Session:
        """Starts a session that ends with the rule. Takes the arguments of :meth:`try_start`.

        Raises:
            Violation: If it does not start.
        """
        session = self._start_unknown(**arguments)
        session.state_spaces = self.state_spaces
        return session

    def _start_unknown(self, **arguments: Any) -> Session:
        """Starts a session before anything is known about the observations."""
        reply = self.try_start(**arguments).ok()
        client = arguments.get("client") or self.client
        keep = self._open.append if client is self.client else _forget
        session = Session(reply.session_id, client, reply, (), keep)
        keep(session)
        return session

    def open_sessions(self, client: WireClient | None = None) -> int:
        """Returns the number of open sessions. Starts and ends one to find out."""
        return self._start_unknown(client=client or self.client).end()

    # Facts about actions and observations, found by trying them.

    @cached_property
    def observed(self) -> Observed:
        """The observations of the program at the start."""
        return observe_once(self._start_unknown, self.observation_spaces)

    @property
    def state_spaces(self) -> list[int]:
        """The fast observations that are declared deterministic."""
        return self.observed.state_spaces

    @property
    def deterministic(self) -> list[int]:
        """All observations that are declared deterministic and can be computed.

        Raises:
            NotChecked: If there are none.
        """
        spaces = self.observation_spaces
        numbers = [each for each in self.observed.events if spaces[each].deterministic]
        if not numbers:
            raise NotChecked("no observation that can be computed is declared deterministic")
        return numbers

    @cached_property
    def survey(self) -> Survey:
        """The effect of each action on the initial program."""
        named = {self.target.crash_action, self.target.hang_action} - {None}
        fatal = [action_named(self.action_space, str(name)) for name in named]
        actions = [each for each in actions_of(self.action_space) if each not in fatal]
        count = min(self.max_actions or len(actions), len(actions))
        actions = [actions[number * len(actions) // count] for number in range(count)]
        return try_actions(self.start, actions, _SURVEY_SHARE * self.clock.left())

    @cached_property
    def _walk(self) -> list[Action]:
        effective, harmless = self.survey.effective, self.survey.harmless
        usable = (effective or harmless)[:_WALKED] + harmless[:1]
        session = self.start()
        played: list[Action] = []
        for number in range(_WALK_LENGTH if usable else 0):
            action = usable[_STRIDE * number % len(usable)]
            answer = session.try_step([action])
            if not answer.is_ok or answer.reply.end_of_session:
                break
            played.append(action)
        session.try_end()
        return played

    def walk(self) -> list[Action]:
        """Returns a fixed sequence of actions to play.

        Raises:
            NotChecked: If no action works.
        """
        if not self._walk:
            raise NotChecked("no action works on the program")
        return self._walk

    def effective_action(self) -> Action:
        """Returns an action that changes the program. Raises NotChecked if none does."""
        if not self.survey.effective:
            raise NotChecked("no action changes any deterministic observation of the program")
        return self.survey.effective[0]

    def fatal_action(self, kind: str) -> tuple[int, Action]:
        """Returns an action that crashes or hangs, and the number of its action space.

        Args:
            kind: ``"crash"`` or ``"hang"``.

        Raises:
            NotChecked: If none is known.
        """
        name = self.target.crash_action if kind == "crash" else self.target.hang_action
        if name is None:
            raise NotChecked(f"no action is known that does so: name one with --{kind}-action")
        for number, space in enumerate(self.spaces.action_space_list):
            action = action_named(space, name)
            if action is not None:
                return number, action
        raise NotChecked(f"there is no action {name!r}, which --{kind}-action names")


def _forget(session: Session) -> None:
    """Removes the records of sessions of a service that ends with the rule."""
