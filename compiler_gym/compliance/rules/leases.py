"""Rules about the sessions of clients that have disconnected."""

import signal
import subprocess
import sys
from functools import partial

from compiler_gym.compliance import lost_client
from compiler_gym.compliance.process import environment_of
from compiler_gym.compliance.rule import NotChecked, Violation, require, rule
from compiler_gym.compliance.session import Session
from compiler_gym.compliance.subject import RunningService, Subject

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
            if line.strip() != lost_client.READY:
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
    code = f"import sys; from {lost_client.__name__} import main; main(*sys.argv[1:])"
    command = [sys.executable, "-c", code]
    return subprocess.Popen(
        [*command, str(service.port), str(program), str(_SESSIONS)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment_of(subject.target, temporary),
    )
