"""The target of a check: a service and the settings needed to use it."""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import compiler_gym
from compiler_gym.compliance.rule import Clock, Violation
from compiler_gym.service.process.child_process import ChildProcess, descendants, describe_exit
from compiler_gym.service.proto import Benchmark, File

#: The number of programs to take from a dataset. Some rules need two.
_PROGRAMS = 2


@dataclass(frozen=True)
class Target:
    """A service with its settings.

    Attributes:
        service: The executable. This Python runs a ``.py`` file.
        benchmarks: Programs for the service. Without any, little can be checked; two different ones
            allow more checks.
        arguments: Further arguments of the program.
        environment: Further environment variables.
        crash_action: The name or the number of an action that crashes.
        hang_action: The name or the number of an action that never ends.
        rewards: The names of the observations that each reward needs, by the name of the reward.
        derived: The names of derived observations of the environment.
    """

    service: Path
    benchmarks: Sequence[Benchmark] = ()
    arguments: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)
    crash_action: str | None = None
    hang_action: str | None = None
    rewards: dict[str, list[str]] | None = None
    derived: Sequence[str] = ()


def benchmark_of(text: str) -> Benchmark:
    """Returns the program for a path or URI.

    Args:
        text: The path of a file, whose contents are the program; or the URI of a program that the
            service knows by itself.

    Raises:
        FileNotFoundError: If it is neither.
    """
    if "://" in text and not text.startswith("file://"):
        return Benchmark(uri=text)
    path = Path(text.removeprefix("file://")).expanduser()
    if not path.is_file():
        raise FileNotFoundError(
            f"{text} is neither a file nor a URI: --benchmark takes the path of a program, or a "
            "URI such as benchmark://my-programs-v0/first"
        )
    return Benchmark(uri=path.absolute().as_uri(), program=File(contents=path.read_bytes()))


def benchmarks_of_dataset(name: str) -> list[Benchmark]:
    """Returns the first programs of a dataset.

    Args:
        name: ``module:Class`` of a dataset, whose constructor needs no arguments.

    Raises:
        ValueError: If there is no such class, or the dataset has no programs.
    """
    module_name, _, class_name = name.partition(":")
    try:
        make = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"--dataset {name}: {error}. Write it as MODULE:CLASS, where Python finds the module"
        ) from error
    found = first_benchmarks(make())
    if not found:
        raise ValueError(f"--dataset {name}: the dataset has no programs")
    return found


def first_benchmarks(dataset: Any) -> list[Benchmark]:
    """Returns the first programs of a :class:`compiler_gym.datasets.Dataset`."""
    return [benchmark.proto for benchmark in islice(dataset.benchmarks(), _PROGRAMS)]


def target_of_env(id: str, benchmarks: Sequence[str] = (), **changes: Any) -> Target:
    """Returns the service of a registered environment, with programs, and its rewards.

    Args:
        id: The id of the environment; ``module:id`` imports a module first, which registers it.
        benchmarks: Programs as for :func:`benchmark_of`, or URIs that the environment knows. By
            default its default program, and another one of the same dataset.
        **changes: Attributes of the target to change.

    Raises:
        LookupError: If there is no environment with that id.
        ValueError: If its service is not a program on this machine.
        ImportError: If there is no such module.
    """
    module_name, _, name = id.rpartition(":")
    if module_name:
        importlib.import_module(module_name)
    with compiler_gym.make(name) as made:
        env: Any = made
        endpoint = env.service.endpoint
        if not isinstance(endpoint, Path):
            raise ValueError(f"The service of {name} runs elsewhere; only a program can be checked")
        observed = {space.name for space in env.service.observation_spaces}
        found: dict[str, Any] = {
            "service": endpoint,
            "benchmarks": [_resolve(env, each) for each in benchmarks] or _default_programs(env),
            "arguments": tuple(env.service.opts.script_args),
            "environment": dict(env.service.opts.script_env),
            "rewards": {
                reward.name: list(reward.observation_spaces)
                for reward in env.reward.spaces.values()
            },
            "derived": sorted(set(env.observation.spaces) - observed),
        }
    return Target(**{**found, **changes})


def _resolve(env: Any, text: str) -> Benchmark:
    """Returns the program of a URI that the environment knows, or that of :func:`benchmark_of`."""
    try:
        return env.datasets.benchmark(
            text if "://" in text else Path(text).absolute().as_uri()
        ).proto
    except (LookupError, ValueError):
        return benchmark_of(text)


def _default_programs(env: Any) -> list[Benchmark]:
    """Returns the default program of an environment, and another one of the same dataset."""
    first = env.benchmark
    if first is None:
        return []
    found = {str(first.uri): first.proto}
    name = f"{first.uri.scheme}://{first.uri.dataset}"
    for dataset in env.datasets:
        if dataset.name == name and dataset.installed:
            found |= {benchmark.uri: benchmark for benchmark in first_benchmarks(dataset)}
    return list(found.values())[:_PROGRAMS]


# A service process under test.

_START_SECONDS = 60
_EXIT_SECONDS = 30
_LOG_CHARACTERS = 400


def command_of(target: Target, *flags: str) -> list[str]:
    """Returns the command that starts a service with some flags."""
    interpreter = [sys.executable] if target.service.suffix == ".py" else []
    return [*interpreter, str(target.service.absolute()), *target.arguments, *flags]


def environment_of(target: Target, temporary: Path) -> dict[str, str]:
    """Returns the environment variables of a service, with a folder for temporary files."""
    path = os.pathsep.join(each for each in sys.path if each)
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary), **target.environment}


def run_to_end(target: Target, clock: Clock, *flags: str) -> subprocess.CompletedProcess[str]:
    """Runs a service that must end by itself.

    Raises:
        Violation: If it does not end.
    """
    with tempfile.TemporaryDirectory(prefix="cgc-") as folder:
        process = ServiceProcess(target, clock, *flags, working_directory=Path(folder) / "wd")
        try:
            code = process.wait(_EXIT_SECONDS)
            if code is None:
                raise Violation(f"{' '.join(flags)}: the service goes on running")
            return subprocess.CompletedProcess(list(flags), code, process.output(), "")
        finally:
            process.close()


class ServiceProcess:
    """A started service. Closing it removes its working directory.

    Args:
        target: The service.
        clock: The time of the rule.
        flags: The flags of the service, besides ``--working_dir``.
        working_directory: Its working directory; by default a new one.
        pass_directory: Pass ``--working_dir`` to the service.

    Attributes:
        directory: The working directory.
        temporary: The folder for the service's temporary files.
        pid: The process id.
    """

    def __init__(
        self,
        target: Target,
        clock: Clock,
        *flags: str,
        working_directory: Path | None = None,
        pass_directory: bool = True,
    ):
        self._clock = clock
        # Short, because the names of Unix sockets must be.
        self._folder = tempfile.TemporaryDirectory(prefix="cgc-")
        root = Path(self._folder.name)
        self.directory = working_directory or root / "wd"
        self.temporary = root / "tmp"
        self.temporary.mkdir()
        self._output = root / "output"
        self._known: dict[int, str] = {}
        if pass_directory:
            flags = (f"--working_dir={self.directory}", *flags)
        command = command_of(target, *flags)
        environment = environment_of(target, self.temporary)
        try:
            with open(self._output, "wb") as output:
                self._child = ChildProcess(command, str(root), environment, output.fileno())
        except BaseException:
            self._folder.cleanup()
            raise
        self.pid = self._child.pid

    def wait_until_ready(self) -> int:
        """Waits until the service has announced its port, and returns that.

        Raises:
            Violation: If it ends, or does not announce it in time.
        """
        return self.wait_for_port(self.directory)

    def wait_for_port(self, directory: Path) -> int:
        """Same as :meth:`wait_until_ready`, for another directory."""
        pid_file = directory / "pid.txt"
        self._clock.wait_until(
            lambda: pid_file.is_file() or self._child.poll() is not None, _START_SECONDS
        )
        if not pid_file.is_file():
            if self.is_running():
                self._clock.left()  # The time may just have been too short.
            raise Violation(f"the service {self.state()} and there is no pid.txt{self.log_tail()}")
        text = read_text(directory / "port.txt").strip()
        if not text.isdecimal():
            raise Violation(f"port.txt holds {text!r} rather than a number when pid.txt is there")
        return int(text)

    def is_running(self) -> bool:
        """Returns true if the process is running."""
        return self._child.poll() is None

    def state(self) -> str:
        """Describes the state of the process."""
        code = self._child.poll()
        return "goes on running" if code is None else describe_exit(code)

    def wait(self, seconds: float) -> int | None:
        """Waits for the end of the process. Returns its exit code, or None."""
        return self._child.wait(min(seconds, self._clock.left()))

    def signal(self, number: int) -> None:
        """Sends the process a signal."""
        self.descendants()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def descendants(self) -> list[int]:
        """Returns all child processes of the service, including indirect ones."""
        found = descendants(self.pid)
        self._known |= {pid: _start_of(pid) for pid in found if pid not in self._known}
        return found

    def left_over(self) -> list[int]:
        """Returns the known child processes that are still running."""
        return [pid for pid, start in self._known.items() if start and _start_of(pid) == start]

    def output(self) -> str:
        """Returns the output of the service on stdout and stderr."""
        return read_text(self._output)

    def log_tail(self) -> str:
        """Returns the end of the output, for a message."""
        text = self.output().strip()[-_LOG_CHARACTERS:]
        return f". It wrote: {text}" if text else ""

    def close(self) -> None:
        """Ends the service and everything it has started, and removes its files."""
        if self.is_running():
            self.descendants()
        self._child.terminate(0)
        for pid in self.left_over():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._folder.cleanup()

    def __enter__(self) -> ServiceProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_text(path: Path) -> str:
    """Returns the contents of a file; empty if it does not exist."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def unassigned_port() -> int:
    """Returns a free port outside the range from which the system assigns ports by itself.

    Other programs that ask for any port do not get it, so it is most likely still free later.
    """
    text = read_text(Path("/proc/sys/net/ipv4/ip_local_port_range")) or "32768 60999"
    low, high = map(int, text.split())
    ports = [*range(1024, low), *range(high + 1, 1 << 16)] or [0]
    # A seed that two processes share would give them the same port.
    choose = random.SystemRandom().choice
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", choose(ports)))
            return int(probe.getsockname()[1])


def listening_addresses(port: int) -> set[str]:
    """Returns the addresses with a listener on a port, in the notation of the kernel."""
    found = set()
    for name in ("tcp", "tcp6"):
        for line in read_text(Path("/proc/net") / name).splitlines()[1:]:
            _, local, _, state = line.split()[:4]
            address, _, number = local.partition(":")
            if state == "0A" and int(number, 16) == port:
                found.add(address)
    return found


def _start_of(pid: int) -> str:
    """Returns the start time of a process, None if it has ended. It distinguishes reused pids."""
    fields = read_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""
