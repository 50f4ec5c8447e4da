"""Rules about concurrent and cancelled requests."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from compiler_gym.compliance.rule import NotChecked, require, rule
from compiler_gym.compliance.subject import Subject
from compiler_gym.service.proto import StartSessionRequest

Result = TypeVar("Result")

_CLIENTS = 4
_GRACE_SECONDS = 15
_CANCEL_AFTER_SECONDS = (0, 0.001, 0.005, 0.02)
# The time for a service to notice that a request was cancelled.
_SETTLE_SECONDS = 0.5
_SHORT_SECONDS = (0.0001, 0.001, 0.01, 0.05)

# The possible states of a session after a cancelled request.
_AFTER_GIVING_UP = ("OK", "NOT_FOUND", "ABORTED", "DEADLINE_EXCEEDED", "CANCELLED")


def _at_once(function: Callable[[int], Result]) -> list[Result]:
    """Calls a function in several threads. Returns all results."""
    with ThreadPoolExecutor(_CLIENTS) as threads:
        return list(threads.map(function, range(_CLIENTS)))


@rule(
    "concurrent.sessions",
    "Sessions in use at the same time do not affect each other",
    "Lock what sessions share, or share nothing",
)
def sessions(subject: Subject) -> None:
    walk = subject.walk()
    session = subject.start()
    session.step(walk)
    wanted = session.state()
    # All are started before the first is used.
    started = _at_once(lambda number: subject.start())

    def play(number: int) -> list[bytes]:
        for action in walk:
            started[number].step([action])
        return started[number].state()

    for number, state in enumerate(_at_once(play)):
        require(state == wanted, f"of {_CLIENTS} sessions, number {number} went elsewhere")


@rule(
    "concurrent.starts",
    "Sessions started at the same time have different numbers",
    "Lock the table of sessions and its counter",
)
def starts(subject: Subject) -> None:
    def start(number: int) -> list[int]:
        return [subject.start().id for _ in range(3)]

    numbers = [number for found in _at_once(start) for number in found]
    require(len(set(numbers)) == len(numbers), f"the numbers are {sorted(numbers)}")


@rule(
    "concurrent.one-session",
    "Concurrent steps of one session run one after the other",
    "Lock each session during a request",
)
def one_session(subject: Subject) -> None:
    action = subject.effective_action()
    session, wanted = subject.start(), subject.start()
    for _ in range(_CLIENTS):
        if wanted.step([action]).end_of_session:
            raise NotChecked(f"{action.name} ends the session when it is repeated")
    _at_once(lambda number: session.step([action]))
    require(
        session.state() == wanted.state(),
        f"{action.name} from {_CLIENTS} threads is not the same {_CLIENTS} times in a row",
    )


@rule(
    "concurrent.clients",
    "A session can be used through any connection, not only the one that started it",
    "Identify sessions by their numbers alone",
)
def clients(subject: Subject) -> None:
    session = subject.start()
    other = subject.service.connect()
    try:
        session.client = other
        session.step(subject.walk()[:1], session.state_spaces)
    finally:
        session.client = subject.client
        other.close()


@rule(
    "cancel.step",
    "A cancelled step affects no other session",
    "Finish a cancelled request, or end its session",
)
def cancelled_step(subject: Subject) -> None:
    other, session = subject.start(), subject.start()
    before = other.state()
    request = session.step_request(subject.walk() * 4, session.state_spaces)
    for seconds in _CANCEL_AFTER_SECONDS:
        call = session.client.begin("Step", request)
        time.sleep(seconds)
        call.cancel()
    time.sleep(_SETTLE_SECONDS)
    require(other.state() == before, "another session has changed")
    subject.service.require_alive("a step that was cancelled")
    session.try_step().expect(*_AFTER_GIVING_UP, about="after one that was cancelled")
    session.try_end().expect("OK", "NOT_FOUND", "ABORTED", about="after a step that was cancelled")


@rule(
    "cancel.start",
    "A cancelled start affects no other session",
    "Drop a session whose start was cancelled, or leave it to its lease",
)
def cancelled_start(subject: Subject) -> None:
    other = subject.start()
    before = other.state()
    for seconds in _CANCEL_AFTER_SECONDS:
        request = StartSessionRequest(benchmark=subject.benchmark)
        call = subject.client.begin("StartSession", request)
        time.sleep(seconds)
        call.cancel()
    time.sleep(_SETTLE_SECONDS)
    require(other.state() == before, "another session has changed")
    subject.service.require_alive("starts that were cancelled")
    subject.give_up()  # The cancelled starts may have left sessions with unknown numbers.


@rule(
    "deadline.short",
    "A request with an expired deadline ends at once, and the service stays usable",
    "Do not start work for an expired deadline",
)
def short(subject: Subject) -> None:
    session = subject.start()
    for timeout in _SHORT_SECONDS:
        begin = time.monotonic()
        answer = session.try_step(subject.walk(), session.state_spaces, timeout=timeout)
        seconds = time.monotonic() - begin
        answer.expect("OK", "DEADLINE_EXCEEDED", "NOT_FOUND", "ABORTED", about=f"in {timeout} s")
        require(seconds < _GRACE_SECONDS, f"a step with {timeout} s took {seconds:.1f} s")
    subject.service.require_alive("a deadline that had passed")
    subject.start().step(subject.walk()[:1])
