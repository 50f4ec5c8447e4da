"""Rules about concurrent and cancelled requests, and about clients that disconnect."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from compiler_gym.compliance.rule import Clock, NotChecked, Violation, require, rule
from compiler_gym.compliance.subject import RunningService, Subject
from compiler_gym.compliance.target import environment_of
from compiler_gym.compliance.wire import Session, WireClient
from compiler_gym.service.proto import Benchmark, StartSessionRequest
from compiler_gym.util.thread_pool import map_in_threads

Result = TypeVar("Result")

_CLIENTS = 4
_GRACE_SECONDS = 15
_CANCEL_AFTER_SECONDS = (0, 0.001, 0.005, 0.02)
# The time for a service to notice that a request was cancelled.
_SETTLE_SECONDS = 0.5
_SHORT_SECONDS = (0.0001, 0.001, 0.01, 0.05)

# The line that a client prints when its sessions have started, and the time after which it ends.
_READY = "ready"
_LOST_CLIENT_SECONDS = 120

# The possible states of a session after a cancelled request.
_AFTER_GIVING_UP = ("OK", "NOT_FOUND", "ABORTED", "DEADLINE_EXCEEDED", "CANCELLED")


def _at_once(function: Callable[[int], Result]) -> list[Result]:
    """Calls a function in several threads. Returns all results."""
    return map_in_threads(function, range(_CLIENTS), _CLIENTS)


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


# Rules about the sessions of clients that have disconnected.

_GONE_SECONDS = 30
_SESSIONS = 3


@rule(
    "lease.numbers",
    "HoldLease answers once, with a unique number other than 0",
    "Count leases from 1; 0 means no lease",
)
def numbers(subject: Subject) -> None:
    leases = [subject.client.hold_lease() for _ in range(2)]
    found = [lease.id for lease in leases]
    for lease in leases:
        lease.cancel()
    require(0 not in found, "a lease has the number 0")
    require(found[0] != found[1], f"two leases have the number {found[0]}")


@rule(
    "lease.cancelled",
    "The end of a lease ends its sessions and their forks, and no others",
    "Store the lease of each session, and end the session when the HoldLease call ends",
)
def cancelled(subject: Subject) -> None:
    lease, kept = subject.client.hold_lease(), subject.client.hold_lease()
    session = subject.start(lease=lease.id)
    mine = [session] if session.cannot_fork() else [session, session.fork()]
    others = [subject.start(lease=kept.id), subject.start()]
    lease.cancel()
    for each, name in zip(mine, ("a session", "a fork of one"), strict=False):
        gone = subject.clock.wait_until(partial(_is_gone, each), _GONE_SECONDS)
        require(gone, f"{name} is there {_GONE_SECONDS} s after the end of its lease")
    for each in others:
        each.try_step().expect("OK", about="of a session with no or another lease")
    kept.cancel()


def _is_gone(session: Session) -> bool:
    return session.try_step().code == "NOT_FOUND"


@rule(
    "lease.ended",
    "A start with an ended or unknown lease is FAILED_PRECONDITION",
    "Check the lease before registering the session",
)
def ended(subject: Subject) -> None:
    lease = subject.client.hold_lease()
    lease.cancel()

    def is_refused() -> bool:
        answer = subject.try_start(lease=lease.id)
        return answer.code == "FAILED_PRECONDITION"

    refused = subject.clock.wait_until(is_refused, _GONE_SECONDS)
    require(refused, f"a start with an ended lease answers {subject.try_start(lease=lease.id)}")
    answer = subject.try_start(lease=2**62 - 1)
    answer.expect("FAILED_PRECONDITION", about="with a lease that never was")


@rule(
    "lease.killed-client",
    "The sessions of a killed client end soon, and no others",
    "End leases when their calls are cancelled, as gRPC does when a connection breaks",
)
def killed_client(subject: Subject) -> None:
    with subject.own_service() as service:
        service.client.hold_lease().cancel()
        mine = subject.start(client=service.client)
        client = _start_client(subject, service)
        try:
            line = client.stdout.readline() if client.stdout else ""
            if line.strip() != _READY:
                raise Violation(f"a second client could not start its sessions: {line.strip()}")
            during = subject.open_sessions(service.client)
        finally:
            client.send_signal(signal.SIGKILL)
            client.communicate()
        if during != _SESSIONS + 1:
            raise NotChecked(f"of {_SESSIONS + 1} sessions the service counts {during}")

        def left() -> int:
            return subject.open_sessions(service.client) - 1

        gone = subject.clock.wait_until(lambda: not left(), _GONE_SECONDS)
        require(gone, f"{left()} sessions of a killed client are there after {_GONE_SECONDS} s")
        mine.try_step().expect("OK", about="of a session of another client")


def _start_client(subject: Subject, service: RunningService) -> subprocess.Popen[str]:
    """Starts a client that opens sessions with a lease, and waits to be killed."""
    temporary = service.process.temporary
    program = temporary / "benchmark"
    program.write_bytes(subject.benchmark.SerializeToString())
    code = f"import sys; from {__name__} import lost_client; lost_client(*sys.argv[1:])"
    command = [sys.executable, "-c", code]
    return subprocess.Popen(
        [*command, str(service.port), str(program), str(_SESSIONS)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment_of(subject.target, temporary),
    )


def lost_client(port: str, program: str, sessions: str) -> None:
    """Starts sessions on a service, and waits to be killed.

    Args:
        port: The port of the service.
        program: The path of a file with a Benchmark message.
        sessions: The number of sessions.
    """
    client = WireClient(f"127.0.0.1:{port}", Clock(_LOST_CLIENT_SECONDS))
    lease = client.hold_lease()
    benchmark = Benchmark.FromString(Path(program).read_bytes())
    for _ in range(int(sessions)):
        request = StartSessionRequest(benchmark=benchmark, lease_id=lease.id)
        answer = client.call("StartSession", request)
        if not answer.is_ok:
            sys.exit(f"StartSession answers {answer}")
    print(_READY, flush=True)
    time.sleep(_LOST_CLIENT_SECONDS)
