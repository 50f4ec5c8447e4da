"""Rules about sessions that crash or hang. They need an action that does."""

import signal
import time

from compiler_gym.compliance.rule import NotChecked, require, rule
from compiler_gym.compliance.subject import RunningService, Subject
from compiler_gym.compliance.values import Action
from compiler_gym.compliance.wire import Session

_DEADLINE_SECONDS = 1.0
_GRACE_SECONDS = 15.0
_LOST_SECONDS = 10.0
_EXIT_SECONDS = 30
_LOST = ("NOT_FOUND", "ABORTED")


def _crashed(subject: Subject) -> tuple[Session, Session, Session]:
    """Returns a crashed session, a fork of it (or another session), and another session."""
    number, action = subject.fatal_action("crash")
    other, session = subject.start(), subject.start(action_space=number)
    relative = subject.start() if session.cannot_fork() else session.fork()
    session.try_step([action]).expect("ABORTED", about=f"with {action.name}, which crashes,")
    return session, relative, other


@rule(
    "crash.status",
    "A step in which the compiler crashes is ABORTED, with a text about the crash",
    "Run each session in its own process, as the runtime does, and report how it ended",
)
def crash_status(subject: Subject) -> None:
    number, action = subject.fatal_action("crash")
    answer = subject.start(action_space=number).try_step([action])
    answer.expect("ABORTED", about=f"with {action.name}, which crashes,")
    require(answer.details, "the text is empty")


@rule(
    "crash.others-live",
    "A crash does not affect the service, other sessions or forks",
    "Run each session in its own process",
)
def crash_others(subject: Subject) -> None:
    wanted = subject.start().state()
    _, relative, other = _crashed(subject)
    subject.service.require_alive("a crash")
    require(other.state() == wanted, "another session has changed")
    require(relative.state() == wanted, "a fork of the session has changed")
    subject.start().step(subject.walk()[:1])


@rule(
    "crash.session-is-lost",
    "After a crash the session refuses all requests, except its end",
    "Answer ABORTED or NOT_FOUND from then on",
)
def crash_lost(subject: Subject) -> None:
    session, _, _ = _crashed(subject)
    session.try_step().expect(*_LOST, about="after a crash")
    session.try_end().expect("OK", *_LOST, about="after a crash")
    session.try_step().expect("NOT_FOUND", about="after the end of a session that has crashed")


def _hang(subject: Subject) -> tuple[int, Action]:
    return subject.fatal_action("hang")


@rule(
    "hang.deadline",
    "A step that exceeds its deadline is DEADLINE_EXCEEDED in time",
    "Answer at the deadline, even if the compiler is still working, and end the session",
)
def hang_deadline(subject: Subject) -> None:
    number, action = _hang(subject)
    session = subject.start(action_space=number)
    begin = time.monotonic()
    answer = session.try_step([action], timeout=_DEADLINE_SECONDS)
    seconds = time.monotonic() - begin
    answer.expect("DEADLINE_EXCEEDED", about=f"with {action.name}, which hangs,")
    require(
        seconds < _DEADLINE_SECONDS + _GRACE_SECONDS,
        f"a step with {_DEADLINE_SECONDS:g} s took {seconds:.1f} s",
    )

    def is_lost() -> bool:
        begin = time.monotonic()
        answer = session.try_step(timeout=_DEADLINE_SECONDS)
        # Later requests may repeat the reason, but must not wait.
        is_told = time.monotonic() - begin < _DEADLINE_SECONDS / 2
        return answer.code in _LOST or (answer.code == "DEADLINE_EXCEEDED" and is_told)

    require(
        subject.clock.wait_until(is_lost, _LOST_SECONDS),
        f"the session is not lost {_LOST_SECONDS:g} s after the deadline: a step answers "
        f"{session.try_step(timeout=_DEADLINE_SECONDS)}",
    )
    session.try_end(_GRACE_SECONDS).expect("OK", *_LOST, about="after a deadline")


@rule(
    "hang.others-live",
    "While a session hangs, other sessions can be used and started",
    "Hold no lock of the service while a session is working",
)
def hang_others(subject: Subject) -> None:
    number, action = _hang(subject)
    # Find out by trying what is needed below, while the service still answers.
    actions = subject.walk()[:1]
    other, session = subject.start(), subject.start(action_space=number)
    call = session.client.begin("Step", session.step_request([action]))
    begin = time.monotonic()
    answer = other.try_step(actions, other.state_spaces, timeout=_GRACE_SECONDS - 1)
    if answer.is_ok:
        subject.start().end()
    seconds = time.monotonic() - begin
    is_over = call.done()
    call.cancel()
    if is_over:
        raise NotChecked(f"{action.name} does not hang: {session.client.finish('Step', call)}")
    answer.expect("OK", about="of another session")
    require(seconds < _GRACE_SECONDS - 1, f"it took {seconds:.1f} s to serve another session")


@rule(
    "hang.end",
    "A session that hangs can be ended",
    "Kill the process of the session instead of waiting for it",
)
def hang_end(subject: Subject) -> None:
    number, action = _hang(subject)
    session = subject.start(action_space=number)
    call = session.client.begin("Step", session.step_request([action]), timeout=_GRACE_SECONDS)
    try:
        time.sleep(_DEADLINE_SECONDS / 2)
        session.try_end(_GRACE_SECONDS).expect("OK", *_LOST, about="of a session that hangs")
    finally:
        call.cancel()


@rule(
    "hang.stop",
    "A service with a hanging session ends after SIGTERM with exit code 6",
    "Limit the time to wait for running requests after SIGTERM",
)
def hang_stop(subject: Subject) -> None:
    number, action = _hang(subject)
    with subject.own_service() as service:
        _begin_hanging(subject, service, number, action)
        service.process.signal(signal.SIGTERM)
        code = service.process.wait(_EXIT_SECONDS)
        state = "it goes on running" if code is None else f"the exit code is {code}"
        require(code == 6, f"after SIGTERM while a session hangs, {state}")


def _begin_hanging(subject: Subject, service: RunningService, number: int, action: Action) -> None:
    session = subject.start(client=service.client, action_space=number)
    service.client.begin("Step", session.step_request([action]))
    time.sleep(_DEADLINE_SECONDS / 2)
