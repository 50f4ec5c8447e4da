"""Rules about the program of a service: its flags, files and exit codes."""

import os
import signal
from contextlib import ExitStack, suppress
from pathlib import Path

from compiler_gym.compliance.rule import NotChecked, Violation, require, rule
from compiler_gym.compliance.subject import RunningService, Subject
from compiler_gym.compliance.target import (
    ServiceProcess,
    listening_addresses,
    read_text,
    run_to_end,
    unassigned_port,
)
from compiler_gym.service.proto import GetVersionRequest

_EXIT_SECONDS = 30
_GONE_SECONDS = 30
# Another program may take a port before the service listens there.
_PORT_TRIES = 3

# 127.0.0.1, ::1, and 127.0.0.1 mapped to IPv6, in the notation of the kernel.
_LOOPBACK = {
    "0100007F",
    "00000000000000000000000001000000",
    "0000000000000000FFFF00000100007F",
}


@rule(
    "process.starts",
    "The program accepts --working_dir, writes port.txt and pid.txt there, and answers requests",
    "Listen first; then write the port to port.txt and the process id to pid.txt in --working_dir",
)
def starts(subject: Subject) -> None:
    subject.client.call("GetVersion", GetVersionRequest()).ok()


@rule(
    "process.pid-file",
    "pid.txt holds the process id of the service, and port.txt its port",
    "Write getpid() and the bound port as decimal numbers",
)
def pid_file(subject: Subject) -> None:
    process = subject.service.process
    text = read_text(process.directory / "pid.txt").strip()
    require(text.isdecimal(), f"pid.txt holds {text!r}")
    known = [process.pid, *process.descendants()]
    require(int(text) in known, f"pid.txt holds {text}, but the service has the number {known[0]}")
    require(
        listening_addresses(subject.service.port),
        f"nobody listens at port {subject.service.port}, which port.txt holds",
    )


@rule(
    "process.port",
    "--port=N makes the service listen at that port",
    "Bind the port of the flag --port; 0 means any free one",
)
def port(subject: Subject) -> None:
    with ExitStack() as stack:
        number, service = _service_at_a_port(subject, stack)
        require(service.port == number, f"--port={number}: port.txt holds {service.port}")
        service.require_alive(f"the start with --port={number}")


def _service_at_a_port(subject: Subject, stack: ExitStack) -> tuple[int, RunningService]:
    """Starts a service with ``--port``. Tries another port if it does not start."""

    def start() -> tuple[int, RunningService]:
        number = unassigned_port()
        return number, stack.enter_context(subject.own_service(f"--port={number}"))

    for _ in range(_PORT_TRIES - 1):
        with suppress(Violation):
            return start()
    return start()


@rule(
    "process.loopback",
    "By default, only this machine can connect",
    "Bind 127.0.0.1 by default, because requests can make a service run commands",
)
def loopback(subject: Subject) -> None:
    others = listening_addresses(subject.service.port) - _LOOPBACK
    require(not others, f"the service listens at the address {', '.join(others)} of /proc/net/tcp")


@rule(
    "process.working-dir",
    "A missing working directory is created, with its parents",
    "Create the directory of --working_dir like mkdir -p",
)
def working_dir(subject: Subject) -> None:
    folder = subject.service.process.temporary / "a" / "b"
    with ServiceProcess(subject.target, subject.clock, working_directory=folder) as process:
        process.wait_until_ready()


@rule(
    "process.stale-files",
    "port.txt and pid.txt of a former service are replaced",
    "Remove port.txt and pid.txt from --working_dir before anything else",
)
def stale_files(subject: Subject) -> None:
    folder = subject.service.process.temporary / "stale"
    folder.mkdir()
    # No new service has these two: port 1 needs to be asked for, and process 1 is the first of all.
    (folder / "port.txt").write_text("1")
    (folder / "pid.txt").write_text("1")
    with ServiceProcess(subject.target, subject.clock, working_directory=folder) as process:

        def is_new() -> bool:
            return read_text(folder / "pid.txt").strip() not in ("", "1")

        require(
            subject.clock.wait_until(is_new, 30),
            f"pid.txt of a former service stays; the service {process.state()}",
        )
        found = read_text(folder / "port.txt").strip()
        require(found != "1", "port.txt of a former service stays")


@rule(
    "process.temporary-dir",
    "Without --working_dir the service creates a temporary directory, and removes it at exit",
    "Create compiler_gym-service-XXXX-XXXX below $TMPDIR, and remove it at exit",
)
def temporary_dir(subject: Subject) -> None:
    with ServiceProcess(subject.target, subject.clock, pass_directory=False) as process:

        def found() -> list[Path]:
            return list(process.temporary.glob("compiler_gym-service-*/pid.txt"))

        subject.clock.wait_until(lambda: found() or not process.is_running(), 30)
        require(
            found(),
            "without --working_dir there is no compiler_gym-service-*/pid.txt in $TMPDIR; the "
            f"service {process.state()}",
        )
        directory = found()[0].parent
        process.wait_for_port(directory)
        process.signal(signal.SIGTERM)
        process.wait(_EXIT_SECONDS)
        require(not directory.exists(), f"after SIGTERM the directory {directory.name} is left")


@rule(
    "process.help",
    "--help lists --port and --working_dir, and exits with 0",
    "Print the flags for --help and exit with code 0",
)
def help_flag(subject: Subject) -> None:
    done = run_to_end(subject.target, subject.clock, "--help")
    require(done.returncode == 0, f"--help ends with exit code {done.returncode}")
    for name in ("port", "working_dir"):
        require(name in done.stdout, f"--help does not name --{name}")


@rule(
    "process.unknown-flag",
    "An unknown flag is an error that names it, with exit code 1",
    "Refuse unknown flags first, so that a misspelt limit is noticed",
)
def unknown_flag(subject: Subject) -> None:
    _refuses(subject, "--no_such_flag_exists=1", "no_such_flag_exists")


@rule(
    "process.unknown-argument",
    "A positional argument is an error that names it, with exit code 1",
    "Refuse arguments after the flags",
)
def unknown_argument(subject: Subject) -> None:
    _refuses(subject, "stray", "stray")


@rule(
    "process.bad-port",
    "A port that is not a number from 0 to 65535 is an error, with exit code 1",
    "Check --port before anything else",
)
def bad_port(subject: Subject) -> None:
    for value in ("seventy", "70000"):
        _refuses(subject, f"--port={value}", value)


def _refuses(subject: Subject, argument: str, named: str) -> None:
    done = run_to_end(subject.target, subject.clock, argument)
    require(done.returncode == 1, f"{argument} ends with exit code {done.returncode}, not 1")
    require(named in done.stdout, f"the message about {argument} does not name it")


@rule(
    "process.exit-0",
    "After SIGTERM a service without sessions ends with exit code 0",
    "Handle SIGTERM: shut down the server, and return 0 from main()",
)
def exit_0(subject: Subject) -> None:
    with subject.own_service() as service:
        service.process.signal(signal.SIGTERM)
        _ends_with(service.process, 0, "no session")


@rule(
    "process.exit-6",
    "After SIGTERM a service with open sessions ends with exit code 6",
    "Return 6 from main() if sessions are open at SIGTERM",
)
def exit_6(subject: Subject) -> None:
    benchmark = subject.benchmark
    with subject.own_service() as service:
        subject.try_start(benchmark, client=service.client).ok()
        service.process.signal(signal.SIGTERM)
        _ends_with(service.process, 6, "an open session")


def _ends_with(process: ServiceProcess, wanted: int, what: str) -> None:
    code = process.wait(_EXIT_SECONDS)
    text = "it goes on running" if code is None else f"the exit code is {code}"
    require(code == wanted, f"after SIGTERM with {what}, {text}")


@rule(
    "process.nothing-left",
    "All processes of the service end after SIGTERM and SIGKILL",
    "Tie processes to the service with prctl(PR_SET_PDEATHSIG), or a pipe that they watch",
)
def nothing_left(subject: Subject) -> None:
    started = [_left_after(subject, number) for number in (signal.SIGTERM, signal.SIGKILL)]
    if not any(started):
        raise NotChecked("the service has started no other process")


def _left_after(subject: Subject, number: signal.Signals) -> int:
    """Requires that all processes of a service end with it. Returns their number."""
    with subject.own_service() as service:
        if subject.target.benchmarks:
            subject.try_start(client=service.client).ok()
        process = service.process
        started = len(process.descendants())
        process.signal(number)
        process.wait(_EXIT_SECONDS)
        gone = subject.clock.wait_until(lambda: not process.left_over(), _GONE_SECONDS)
        require(gone, f"{len(process.left_over())} processes are left after {number.name}")
    return started


@rule(
    "process.other-user",
    "Other users have no access to files by which they could reach the service",
    "Create the working directory with mode 0700, and its sockets with mode 0600",
)
def other_user(subject: Subject) -> None:
    directory = subject.service.process.directory
    mode = directory.stat().st_mode & 0o077
    require(not mode, f"others have the rights {mode:03o} to the working directory that was made")
    socket = directory / "service.sock"
    if socket.exists():
        mode = os.stat(socket).st_mode & 0o077
        require(not mode, f"others have the rights {mode:03o} to service.sock")
