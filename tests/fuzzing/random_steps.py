"""Random steps with every pass that LLVM lists, safe or not, by many sessions of one service.

Half an hour of it tells whether a service can be trusted::

    bazel run //tests/fuzzing:random_steps -- --steps 1000000 --sessions 16
"""

import argparse
import contextlib
import random
import resource
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv, make_benchmark
from compiler_gym.service import ConnectionOpts
from compiler_gym.util.commands import run_command
from compiler_gym.util.llvm_tools import llvm_stress_path
from tests.processes import descendants

# A policy that excludes nothing.
EVERY_PASS = "exclude: []\n"
EPISODE_STEPS = 50
# How often a session is forked, and how far the copy is played.
FORK_PROBABILITY = 0.01
FORK_STEPS = 5
# Of a step beyond its time limit, as the client sees it.
GRACE_SECONDS = 0.1


@dataclass
class Usage:
    """The resource usage of a service at one moment.

    Attributes:
        memory: Resident memory of the service and its fork server, in MiB.
        files: Their open files.
        processes: All processes of the service, those of sessions included.
    """

    memory: float
    files: float
    processes: float

    @classmethod
    def of(cls, pid: int) -> "Usage":
        """Looks at a service. The fork server is its first child."""
        processes = [pid, *descendants(pid)]
        own = [Path(f"/proc/{each}") for each in processes[:2]]
        pages = sum(int((path / "statm").read_text().split()[1]) for path in own)
        files = sum(len(list((path / "fd").iterdir())) for path in own)
        return cls(pages * resource.getpagesize() / 2**20, files, len(processes))

    @classmethod
    def mean(cls, usage: Sequence["Usage"]) -> "Usage":
        """The average of several moments."""
        return cls(
            statistics.mean(each.memory for each in usage),
            statistics.mean(each.files for each in usage),
            statistics.mean(each.processes for each in usage),
        )


@dataclass
class Report:
    """The report of a run.

    Attributes:
        deaths: How often a session ended in a step, by error and action.
        refusals: How often an action was not one that works without parameters.
        disturbances: What must not happen, in words.
        late: How often an action ended more than the grace after its time limit, as the client saw
            it.
        slowest_overshoot: Seconds by which the end of a step came after its time limit.
        usage: What the service needed, at regular intervals.
    """

    steps: int = 0
    episodes: int = 0
    sentinel_episodes: int = 0
    forks: int = 0
    slowest_overshoot: float = 0
    seconds: float = 0
    deaths: Counter[tuple[str, str]] = field(default_factory=Counter)
    late: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    disturbances: list[str] = field(default_factory=list)
    usage: list[Usage] = field(default_factory=list)


def find_programs(folder: Path, generated: int) -> list[Benchmark | str]:
    """Built-in programs, and as many again of llvm-stress and, if it is installed, of csmith."""
    with LlvmEnv() as env:
        kernels = env.datasets["benchmark://kernels-v0"].benchmark_uris()
        programs: list[Benchmark | str] = sorted(map(str, kernels))
    for seed in range(generated):
        path = folder / f"stress-{seed}.ll"
        run_command([str(llvm_stress_path()), f"--seed={seed}", "--size=300", "-o", str(path)], 60)
        programs.append(make_benchmark(path))
    if csmith := shutil.which("csmith"):
        for seed in range(generated):
            path = folder / f"csmith-{seed}.c"
            command = [csmith, "--seed", str(seed), "--max-funcs", "4", "-o", str(path)]
            run_command(command, 60, cwd=folder)
            programs.append(make_benchmark(path, copt=["-w", "-I/usr/include/csmith"]))
    return programs


class Stress:
    """One service, and threads that play on it.

    Args:
        steps: Number of random steps in all.
        sessions: How many random sessions there are at a time. There is one more, the sentinel,
            which plays the same harmless episode again and again and compares the results.
        programs: To start from.
        seed: Of the random numbers.
        step_seconds: The time limit of a step.
        at_once: How many of the sessions may make a step at the same moment. If they are many more
            than there are processors, most of what a step takes is waiting for a processor.
    """

    def __init__(
        self,
        steps: int,
        sessions: int,
        programs: list[Benchmark | str],
        seed: int,
        step_seconds: float,
        at_once: int,
    ):
        self.report = Report()
        self._wanted = steps
        self._sessions = sessions
        self._programs = programs
        self._seed = seed
        self._step_seconds = step_seconds
        self._turns = threading.Semaphore(at_once)
        self._lock = threading.Lock()
        self._is_over = threading.Event()

    def stop(self) -> None:
        """Ends it early."""
        self._is_over.set()

    def run(self, folder: Path, progress: Progress | None = None) -> Report:
        """Plays until all steps are made, or stop() is called."""
        policy = folder / "every_pass.yaml"
        policy.write_text(EVERY_PASS)
        settings = ConnectionOpts(
            script_args=[
                f"--action_policy={policy}",
                "--session_memory_mib=1000",
                "--pristine_sessions_mib=2000",
            ]
        )
        begin = time.monotonic()
        with LlvmEnv(connection_settings=settings) as owner:
            service = owner.service.service
            address = f"localhost:{service.port}"
            threads = [
                threading.Thread(target=self._guarded, args=(self._play, address, number))
                for number in range(self._sessions)
            ]
            threads.append(threading.Thread(target=self._guarded, args=(self._watch, address, 0)))
            for thread in threads:
                thread.start()
            try:
                self._show(threads, service.pid, progress)
            finally:
                self._is_over.set()
                for thread in threads:
                    thread.join()
            if service.exit_code() is not None:
                self._disturb(f"The service ended: {service.describe_exit()}")
            processes = [service.pid, *descendants(service.pid)]
        self.report.seconds = time.monotonic() - begin
        end = time.monotonic() + 100
        while left := [pid for pid in processes if Path(f"/proc/{pid}").exists()]:
            if time.monotonic() > end:
                self._disturb(f"Processes {left} outlive the service")
                break
            time.sleep(0.01)
        return self.report

    def _show(self, threads: list[threading.Thread], pid: int, progress: Progress | None) -> None:
        task = progress.add_task("steps", total=self._wanted) if progress else None
        while any(thread.is_alive() for thread in threads[:-1]):
            time.sleep(0.5)
            with contextlib.suppress(OSError):  # A process may end while it is looked at.
                self.report.usage.append(Usage.of(pid))
            if progress and task is not None:
                progress.update(task, completed=self.report.steps)

    def _guarded(self, function, address: str, number: int) -> None:
        try:
            function(address, number)
        except Exception as error:
            self._disturb(f"{function.__name__}: {type(error).__name__}: {error}")

    def _disturb(self, text: str) -> None:
        with self._lock:
            self.report.disturbances.append(text)

    def _claim_step(self) -> bool:
        with self._lock:
            if self._is_over.is_set() or self.report.steps >= self._wanted:
                return False
            self.report.steps += 1
            return True

    def _play(self, address: str, number: int) -> None:
        generator = random.Random(self._seed * 1000 + number)
        with LlvmEnv(service=address, observation_space="Autophase") as env:
            while True:
                env.reset(benchmark=generator.choice(self._programs))
                with self._lock:
                    self.report.episodes += 1
                for _ in range(EPISODE_STEPS):
                    if generator.random() < FORK_PROBABILITY:
                        self._play_fork(env, generator)
                    if not self._claim_step():
                        return
                    if self._step(env, generator.randrange(env.action_space.n)):
                        break

    def _play_fork(self, env: LlvmEnv, generator: random.Random) -> None:
        with env.fork() as copy:
            with self._lock:
                self.report.forks += 1
            for _ in range(FORK_STEPS):
                if not self._claim_step():
                    return
                if self._step(copy, generator.randrange(copy.action_space.n)):
                    return

    def _step(self, env: LlvmEnv, action: int) -> bool:
        """Makes a step. Returns whether the episode is over."""
        name = env.action_space.names[action]
        with self._turns:
            begin = time.monotonic()
            try:
                _, _, done, info = env.step(action, timeout=self._step_seconds)
            except ValueError:
                with self._lock:
                    self.report.refusals[name] += 1
                return False
            overshoot = time.monotonic() - begin - self._step_seconds
        details = info.get("error_details", "")
        with self._lock:
            self.report.slowest_overshoot = max(self.report.slowest_overshoot, overshoot)
            self.report.late[name] += overshoot > GRACE_SECONDS
            if done:
                self.report.deaths[info.get("error_type", "end of session"), name] += 1
        # A session may only end by what it was asked to do itself. The client gives up on a machine
        # that is too busy to end a session in time, which counts as late.
        own = [name, "observation", "the end of the step", "did not reply"]
        if done and not any(text in details for text in own):
            self._disturb(f"{name}: {details}")
        return done

    def _watch(self, address: str, _number: int) -> None:
        """Plays the same episode until the others are done."""
        expected = None
        with LlvmEnv(service=address) as env:
            actions = [
                env.action_space.names.index(f"function({name})")
                for name in ["mem2reg", "sroa", "early-cse", "dce", "adce"]
            ]
            while not self._is_over.is_set():
                env.reset(benchmark="benchmark://kernels-v0/sha256")
                hashes = []
                for action in actions:
                    _, _, done, info = env.step(action)
                    if done:
                        return self._disturb(f"The sentinel's session ended: {info}")
                    hashes.append(env.observation["IrSha1"])
                if hashes != (expected := expected or hashes):
                    return self._disturb(f"The sentinel saw {hashes} in place of {expected}")
                self.report.sentinel_episodes += 1
                time.sleep(0.05)


def describe(report: Report) -> Table:
    """The deaths by pass, most often first."""
    table = Table(title="Sessions ended by a pass")
    for column in ["error", "pass", "count"]:
        table.add_column(column)
    for (error, name), count in report.deaths.most_common():
        table.add_row(error, name, str(count))
    return table


def main() -> None:
    """Reads the command line, plays, and prints what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000, help="number of steps")
    parser.add_argument("--sessions", type=int, default=16, help="sessions at a time")
    parser.add_argument("--generated", type=int, default=20, help="programs of each generator")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers")
    parser.add_argument("--seconds", type=float, default=0.3, help="time limit of a step")
    parser.add_argument("--at-once", type=int, default=4, help="how many make a step at once")
    arguments = parser.parse_args()
    # The threads share an interpreter. With the usual 5 ms, a thread whose step has ended would
    # note it only after as many times that as others have something to do.
    sys.setswitchinterval(0.0005)
    console = Console()
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as name, Progress() as progress:
        folder = Path(name)
        programs = find_programs(folder, arguments.generated)
        stress = Stress(
            arguments.steps,
            arguments.sessions,
            programs,
            arguments.seed,
            arguments.seconds,
            arguments.at_once,
        )
        signal.signal(signal.SIGINT, lambda *_: stress.stop())
        report = stress.run(folder, progress)
    console.print(describe(report))
    console.print(
        f"{report.steps} steps in {report.episodes} episodes and {report.forks} forks "
        f"on {len(programs)} programs, {report.seconds:.0f} s\n"
        f"{sum(report.deaths.values())} sessions ended by {len(report.deaths)} passes, "
        f"{sum(report.refusals.values())} actions refused\n"
        f"{report.late.total()} steps ended more than {GRACE_SECONDS} s after their time limit, "
        f"the slowest {report.slowest_overshoot:+.3f} s, {dict(+report.late)}\n"
        f"{report.sentinel_episodes} episodes of the sentinel, "
        f"{len(report.disturbances)} disturbances"
    )
    if tenth := len(report.usage) // 10:  # A short run has no warm-up to tell from the rest.
        console.print("after warm-up", Usage.mean(report.usage[tenth : 2 * tenth]))
        console.print("at the end   ", Usage.mean(report.usage[-tenth:]))
    for disturbance in report.disturbances[:20]:
        console.print(disturbance, markup=False)
    sys.exit(1 if report.disturbances else 0)


if __name__ == "__main__":
    main()
