"""Workers as actors of a Ray cluster."""

import logging
import os
import re
import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from cachetools import LRUCache
from typing_extensions import override

from compiler_gym.distributed.backend import Backend, Handle, Lost, PoolError
from compiler_gym.distributed.task import Reply, Task
from compiler_gym.distributed.worker import Worker
from compiler_gym.util.llvm_engines import VERSION_VARIABLE, asked_version
from compiler_gym.util.optional_packages import require
from compiler_gym.util.processors import processors

LOCAL = "local"

_OLDEST = (2, 60)
_LOG_BYTES = 64 << 20
_FETCH_SECONDS = 60
_CONNECT_SECONDS = 10
# Of the server of a cluster that starts here; Ray itself waits for 30 s.
_START_SECONDS = "120"
_TOKEN = "RAY_AUTH_TOKEN"
_TOKEN_BYTES = 32
# What tasks need is kept in the object store for the next tasks, which often need the same.
_KEPT_BLOBS = 256

_CLUSTER_HINT = (
    "'ray start --head'; if the cluster has a token, copy ~/.ray/auth_token from its head and set "
    "RAY_AUTH_MODE=token"
)

_ACTOR_OPTIONS = {
    # Without a processor of its own, an actor may be one of thousands on one node.
    "num_cpus": 1,
    "max_restarts": -1,
    # The pool repeats tasks. Ray itself would do it without a limit of time.
    "max_task_retries": 0,
    "scheduling_strategy": "SPREAD",
    # Calls are no concern of users. Ray would send the states of each to the head.
    "enable_task_events": False,
}

_METRICS = {
    "done": "Tasks with a result",
    "failed": "Tasks without a result",
    "repeated": "Runs of tasks that had to be repeated",
    "restarts": "Workers that were replaced",
    "workers": "Workers that are ready",
    "queued": "Tasks that wait for a worker",
    "running": "Tasks that workers have",
    "seconds": "Time that tasks took, all together, in seconds",
}


class RayWorker(Worker):
    """A worker that gets data as arguments of its own, which Ray reads from the object store.

    Its log, ``compiler_gym-PID.log`` beside Ray's logs of the node, names each task that begins.

    Args:
        llvm_version: The version of LLVM that the process of the pool asks for; None for the
            default. Ray gives workers the variables of its node.
    """

    def __init__(self, llvm_version: int | None) -> None:
        super().__init__()
        if llvm_version is not None:
            os.environ[VERSION_VARIABLE] = str(llvm_version)
        log = logging.getLogger(Worker.__module__)
        log.setLevel(logging.INFO)
        # Ray reads what goes to stderr again, and sends it to the head.
        log.propagate = False
        path = _log_folder() / f"compiler_gym-{os.getpid()}.log"
        log.addHandler(RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=1, delay=True))

    def run_with(
        self, tasks: Sequence[Task], seconds: float, digests: Sequence[str], *blobs: bytes
    ) -> list[Reply]:
        """Runs tasks: see :meth:`Worker.run`.

        Args:
            tasks: The tasks.
            seconds: When no further task begins.
            digests: The digests of the data.
            *blobs: The data, in the same order.
        """
        return self.run(tasks, dict(zip(digests, blobs, strict=True)), seconds)


class _RayHandle(Handle):
    def __init__(self, backend: "RayBackend", actor: Any):
        self._backend = backend
        self._actor = actor

    @override
    def hello(self) -> object:
        return self._actor.hello.remote()

    @override
    def run(self, tasks: Sequence[Task], blobs: Mapping[str, bytes], seconds: float) -> object:
        references = [self._backend.put(digest, data) for digest, data in blobs.items()]
        return self._actor.run_with.remote([*tasks], seconds, [*blobs], *references)

    @override
    def restart(self) -> None:
        self._backend.ray.kill(self._actor, no_restart=False)

    @override
    def kill(self) -> None:
        self._backend.kill(self, self._actor)


class RayBackend(Backend):
    """Starts workers on the nodes of a Ray cluster: one for each processor.

    Args:
        address: The address of the cluster, "auto", or "local" to start Ray on this machine only.
            A connection of this process to a cluster is used if there is one, and stays open. Then
            the address has to be that of the cluster, "auto" or "local".

    Raises:
        EnvironmentNotSupported: If Ray is not installed.
        PoolError: If Ray is too old, or there is no such cluster.
    """

    def __init__(self, address: str):
        self.ray = require("ray")
        _check_version(self.ray.__version__)
        self._is_mine = not self.ray.is_initialized()
        if self._is_mine:
            _connect(self.ray, address)
        else:
            _check_connection(self.ray, address)
        self._actor_class = self.ray.remote(**_ACTOR_OPTIONS)(RayWorker)
        self._references: LRUCache[str, Any] = LRUCache(_KEPT_BLOBS)
        self._handles: set[_RayHandle] = set()
        metrics = require("ray.util.metrics")
        self._gauges = {
            name: metrics.Gauge(f"compiler_gym_pool_{name}", description=text)
            for name, text in _METRICS.items()
        }

    def put(self, digest: str, data: bytes) -> Any:
        """Returns a reference to data in the object store, where it is put once."""
        if digest not in self._references:
            self._references[digest] = self.ray.put(data)
        return self._references[digest]

    @override
    def capacity(self) -> int:
        return int(self.ray.cluster_resources().get("CPU", 0))

    @override
    def start(self) -> _RayHandle:
        handle = _RayHandle(self, self._actor_class.remote(asked_version()))
        self._handles.add(handle)
        return handle

    def kill(self, handle: "_RayHandle", actor: Any) -> None:
        """Kills the actor of a worker for good."""
        self._handles.discard(handle)
        self.ray.kill(actor, no_restart=True)

    @override
    def wait(self, tickets: Sequence[Any], seconds: float) -> list[tuple[Any, Any]]:
        if not tickets:
            return []
        references = [*tickets]
        ready, _ = self.ray.wait(references, num_returns=1, timeout=seconds)
        if ready:  # Those that have ended meanwhile too.
            ready, _ = self.ray.wait(references, num_returns=len(references), timeout=0)
        return [(reference, self._result(reference)) for reference in ready]

    def _result(self, reference: Any) -> Any:
        try:
            return self.ray.get(reference, timeout=_FETCH_SECONDS)
        except self.ray.exceptions.RayError as error:
            return Lost(_first_line(error))

    @override
    def report(self, facts: Mapping[str, float]) -> None:
        for name, gauge in self._gauges.items():
            gauge.set(facts[name])

    @override
    def close(self) -> None:
        if self._is_mine and self.ray.is_initialized():
            self.ray.shutdown()
        elif self.ray.is_initialized():
            for handle in [*self._handles]:
                handle.kill()
        self._handles.clear()
        self._references.clear()


def _log_folder() -> Path:
    """Returns the folder of the logs of Ray on this node, in a process of Ray."""
    context = require("ray").get_runtime_context()
    return Path(context.get_temp_dir(), context.get_session_name(), "logs")


def _check_version(version: str) -> None:
    found = tuple(int(part) for part in version.split(".")[:2])
    if found < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise PoolError(f"expected Ray {oldest} or later, found {version}; try to upgrade ray")


def _check_connection(ray: Any, address: str) -> None:
    """Raises PoolError if this process is connected to another cluster than that of an address."""
    connected = ray.get_runtime_context().gcs_address
    if address in ("auto", LOCAL, connected):
        return
    found = re.fullmatch(r"([^:/]+):(\d+)", address)
    host, _, port = connected.rpartition(":")
    with suppress(OSError):
        if (
            found
            and port == found[2]
            and socket.gethostbyname(found[1]) == socket.gethostbyname(host)
        ):
            return
    raise PoolError(
        f"expected a connection to the Ray cluster at {address!r}, but this process has one to "
        f"{connected!r}; try ray.shutdown() before, or the address 'auto'"
    )


def _connect(ray: Any, address: str) -> None:
    """Connects this process to a cluster, or starts one on this machine."""
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_gcs_server_port_wait_time_s", _START_SECONDS)
        options |= {"include_dashboard": False, "num_cpus": processors()}
    try:
        _check_that_somebody_listens(address)
        with _token_of_its_own() if address == LOCAL else nullcontext():
            ray.init(address=address, **options)
    except Exception as error:  # Ray raises that class itself if its processes start too late.
        wanted = "Ray to start here" if address == LOCAL else f"a Ray cluster at {address!r}"
        hint = "again when the machine is less busy" if address == LOCAL else _CLUSTER_HINT
        raise PoolError(f"expected {wanted}, got {_first_line(error)}; try {hint}") from error


def _check_that_somebody_listens(address: str) -> None:
    """Raises OSError if nobody answers at an address. Ray itself tries for minutes."""
    if found := re.fullmatch(r"([^:/]+):(\d+)", address):
        host, port = found.groups()
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()


@contextmanager
def _token_of_its_own() -> Iterator[None]:
    """Gives a Ray instance that starts a token of its own.

    Otherwise Ray writes one to ``~/.ray``, and the next ``ray start --head`` there expects every
    node to have it. Ray keeps the token for its processes.
    """
    if _TOKEN in os.environ:
        yield
        return
    os.environ[_TOKEN] = secrets.token_hex(_TOKEN_BYTES)
    try:
        yield
    finally:
        del os.environ[_TOKEN]


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
