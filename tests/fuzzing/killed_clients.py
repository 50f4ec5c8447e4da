"""Clients of one service, killed at random moments, by the hundred.

A service that others share must not keep anything of theirs::

    bazel run //tests/fuzzing:killed_clients -- --clients 1000

Fails if a minute after the last of them there is a session or a process more than before, or if
another client was disturbed. On a machine that is not busy it takes a second or two.
"""

import argparse
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field, fields
from multiprocessing.connection import Connection
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from compiler_gym.service import ClientServiceCompilerEnv
from tests.processes import descendants
from tests.service import killed_client
from tests.service.service_program import ServiceProgram
from tests.service.toy_service import HELLO, make_toy_env, open_sessions

# That of a client which leaves a process of its own behind is for a test of its own.
MOMENTS = sorted(killed_client.MOMENTS.keys() - {"parent of a process"})
# The longest time between what a client announces and its end.
MAX_LIFE_SECONDS = 0.05
# The time that a service is watched at least, until nothing changes any more.
_WATCH_SECONDS = 2
# Clients that are killed before anything is measured, by both channels at each moment, so that what
# a service keeps for the next client (sessions made in advance, memory, threads) is there before
# and after.
WARM_UP_CLIENTS = 2 * len(MOMENTS)
# The time that a service needs to make a session in advance, when nobody disturbs it.
_SPARE_SECONDS = 0.1
# Nobody waits longer than that for a client or the service, on a loaded machine.
_PATIENCE_SECONDS = 60


@dataclass
class Usage:
    """The resource usage at one moment.

    Attributes:
        sessions: Open sessions.
        processes: Processes of the service, itself included.
        memory: Resident memory of the service and its fork server, in MiB.
        threads: Their threads.
        files: Their open files.
        working_files: Files and directories in the working directory.
        cache_files: Files and directories in the cache folders of the user.
    """

    sessions: int
    processes: int
    memory: float
    threads: int
    files: int
    working_files: int
    cache_files: int

    @classmethod
    def of(cls, service: ServiceProgram, sessions: int, caches: list[Path]) -> "Usage":
        """Looks at a service. The fork server is its first child."""
        processes = [service.pid, *descendants(service.pid)]
        own = [Path(f"/proc/{each}") for each in processes[:2]]
        pages = sum(int((path / "statm").read_text().split()[1]) for path in own)
        return cls(
            sessions,
            len(processes),
            pages * resource.getpagesize() / 2**20,
            sum(len(list((path / "task").iterdir())) for path in own),
            sum(len(list((path / "fd").iterdir())) for path in own),
            len(list(service.socket.parent.rglob("*"))),
            sum(len(list(path.rglob("*"))) for path in caches),
        )

    @property
    def left_overs(self) -> tuple[int, int]:
        """The resources that should be gone once the service has cleaned up."""
        return self.sessions, self.processes

    def includes(self, later: "Usage") -> bool:
        """Returns true if later on nothing is left over that is not here."""
        pairs = zip(later.left_overs, self.left_overs, strict=True)
        return all(there <= here for there, here in pairs)


@dataclass
class Report:
    """The report of a run.

    Attributes:
        clients: Number of killed clients by moment.
        bystander_episodes: How often another client has played its episode meanwhile.
        disturbances: What must not happen, in words.
        before: What there was before the first client (but for those to warm up).
        after: What there was when the service had had its time to clean up after the last one.
        clean_up_seconds: How long it took until their sessions and processes were gone.
        seconds: Duration of all.
    """

    before: Usage
    after: Usage
    clients: Counter[str] = field(default_factory=Counter)
    bystander_episodes: int = 0
    disturbances: list[str] = field(default_factory=list)
    clean_up_seconds: float = 0
    seconds: float = 0


class KilledClients:
    """One service, and clients that do not live long.

    Args:
        folder: For the service and the caches of its clients.
        clients: Number of clients.
        at_once: How many there are at a time.
        seed: Of the random numbers.
    """

    def __init__(self, folder: Path, clients: int, at_once: int, seed: int):
        self._wanted = clients
        self._at_once = at_once
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        # What starts a process also looks how others have ended, which must be read only once.
        self._starts = threading.Lock()
        self._is_over = threading.Event()
        self._disturbances: list[str] = []
        self._clients: Counter[str] = Counter()
        self._episodes = 0
        # For clients with a service of their own.
        self._caches = {
            "COMPILER_GYM_TRANSIENT_CACHE": folder / "transient",
            "COMPILER_GYM_CACHE": folder / "cache",
        }
        for path in self._caches.values():
            path.mkdir()
        # Each client is forked from a process that has imported everything, and made nothing yet.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.service.killed_client"])
        self._service = ServiceProgram(folder / "service")

    def stop(self) -> None:
        """Ends it early."""
        self._is_over.set()

    def run(self, progress: Callable[[int], None] = lambda killed: None) -> Report:
        """Kills all clients.

        Args:
            progress: Called now and then with the number of clients killed so far.
        """
        try:
            return self._run(progress)
        finally:
            self._service.kill()

    def _run(self, progress: Callable[[int], None]) -> Report:
        begin = time.monotonic()
        with make_toy_env(service=self._service.address) as observer:
            observer.reset(benchmark=HELLO)
            self._kill(WARM_UP_CLIENTS, lambda killed: None)
            before, _ = self._settle(observer, lambda usage: True)
            self._clients.clear()
            bystander = threading.Thread(target=self._guarded, args=(self._watch,))
            bystander.start()
            self._kill(self._wanted, progress)
            self._is_over.set()
            bystander.join()
            after, took = self._settle(observer, before.includes)
        if not before.includes(after):
            self._disturb(f"{_PATIENCE_SECONDS} s after the last client there are {after}")
        self._end_service()
        return Report(
            before,
            after,
            self._clients,
            self._episodes,
            self._disturbances,
            took,
            time.monotonic() - begin,
        )

    def _end_service(self) -> None:
        processes = [self._service.pid, *descendants(self._service.pid)]
        self._service.stop()
        end = time.monotonic() + _PATIENCE_SECONDS
        while left := [pid for pid in processes if Path(f"/proc/{pid}").exists()]:
            if time.monotonic() > end:
                self._disturb(f"Processes {left} outlive the service")
                break
            time.sleep(_SPARE_SECONDS)

    def _settle(
        self, observer: ClientServiceCompilerEnv, is_clean: Callable[[Usage], bool]
    ) -> tuple[Usage, float]:
        """Gives the service its time to be clean.

        Returns what there is then, and since when that is so.
        """
        begin, took, last = time.monotonic(), 0.0, None
        while True:
            sessions = open_sessions(observer.service)
            now = time.monotonic() - begin
            # The service makes the next session in advance.
            time.sleep(_SPARE_SECONDS)
            usage = Usage.of(self._service, sessions, list(self._caches.values()))
            if last is None or usage.left_overs != last.left_overs:
                took = now
            if now > (_WATCH_SECONDS if is_clean(usage) else _PATIENCE_SECONDS):
                return usage, took
            last = usage

    def _kill(self, count: int, progress: Callable[[int], None]) -> None:
        """Kills so many clients, by as many threads as there may be at once."""
        numbers = iter(range(count))
        threads = [
            threading.Thread(target=self._guarded, args=(self._kill_from, numbers))
            for _ in range(self._at_once)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.1)
            progress(self._clients.total())
        for thread in threads:
            thread.join()

    def _kill_from(self, numbers: Iterator[int]) -> None:
        while True:
            with self._lock:
                number = next(numbers, None)
                life = self._random.uniform(0, MAX_LIFE_SECONDS)
            if number is None or self._is_over.is_set():
                return
            moment = MOMENTS[number // 2 % len(MOMENTS)]
            self._kill_one(moment, direct=number % 2 == 0, life=life)
            with self._lock:
                self._clients[moment] += 1

    def _kill_one(self, moment: str, direct: bool, life: float) -> None:
        here, there = self._context.Pipe(duplex=False)
        arguments = (self._caches, self._service.address, moment, direct, there)
        client = self._context.Process(target=_play, args=arguments, daemon=True)
        with here:
            with there, self._starts:
                client.start()
            if here.poll(_PATIENCE_SECONDS):
                time.sleep(life)
            else:
                self._disturb(f"{moment}: a client did not come to it")
        client.kill()
        with self._starts:
            client.join(_PATIENCE_SECONDS)
        if client.exitcode != -signal.SIGKILL:
            self._disturb(f"{moment}: a client ended with code {client.exitcode}")

    def _guarded(self, function: Callable, *args) -> None:
        try:
            function(*args)
        except Exception as error:
            self._disturb(f"{function.__name__}: {type(error).__name__}: {error}")

    def _disturb(self, text: str) -> None:
        with self._lock:
            self._disturbances.append(text)

    def _watch(self) -> None:
        """Plays one long episode, and others meanwhile, until the clients are dead."""
        with (
            make_toy_env(service=self._service.address, observation_space="text") as long,
            make_toy_env(service=self._service.address, observation_space="text") as short,
        ):
            rotate, append = (long.action_space.names.index(x) for x in ["rotate", "append-a"])
            text = long.reset(benchmark=HELLO)
            while not (self._is_over.is_set() and self._episodes):
                text = text[1:] + text[:1]
                short.reset(benchmark=HELLO)
                seen = [long.step(rotate)[0], short.step(append)[0]]
                if seen != [text, "helloa"]:
                    return self._disturb(f"The bystander saw {seen}")
                self._episodes += 1
                time.sleep(0.01)


def _play(
    caches: dict[str, Path], address: str, moment: str, direct: bool, pipe: Connection
) -> None:
    """A client, in a process of its own."""
    os.environ.update({variable: str(path) for variable, path in caches.items()})
    killed_client.play(address, moment, direct, announce=lambda: pipe.send(moment))


def describe(report: Report) -> Table:
    """Describes the usage before and after."""
    table = Table()
    for column in ["", "before", "after"]:
        table.add_column(column, justify="right" if column else "left")
    names = [each.name.replace("_", " ") for each in fields(Usage)]
    for name, before, after in zip(
        names, astuple(report.before), astuple(report.after), strict=True
    ):
        table.add_row(name, f"{before:.4g}", f"{after:.4g}")
    return table


def main() -> None:
    """Reads the command line, kills clients, and prints what is left of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=1000, help="number of clients")
    parser.add_argument("--at-once", type=int, default=4, help="clients at a time")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers")
    arguments = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name, Progress() as progress:
        soak = KilledClients(Path(name), arguments.clients, arguments.at_once, arguments.seed)
        signal.signal(signal.SIGINT, lambda *_: soak.stop())
        task = progress.add_task("clients", total=arguments.clients)
        report = soak.run(lambda killed: progress.update(task, completed=killed))
    console.print(describe(report))
    console.print(
        f"{report.clients.total()} clients killed in {report.seconds:.0f} s, half of them by gRPC: "
        f"{dict(sorted(report.clients.items()))}\n"
        f"Clean {report.clean_up_seconds:.2f} s after the last\n"
        f"{report.bystander_episodes} episodes of a bystander, "
        f"{len(report.disturbances)} disturbances"
    )
    for disturbance in report.disturbances[:20]:
        console.print(disturbance, markup=False)
    sys.exit(1 if report.disturbances else 0)


if __name__ == "__main__":
    main()
