"""Execution of functions in other processes, or on a cluster."""

import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import Executor as PoolExecutor
from concurrent.futures import Future, ProcessPoolExecutor
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field

from compiler_gym.util.optional_packages import require


class Executor(BaseModel):
    """Settings for the place where functions run.

    Example::

        executor = Executor(type="local", cpus=4).get_executor(logs_dir=Path("logs"))
        with executor:
            jobs = [executor.submit(play, seed) for seed in range(100)]
        results = [job.result() for job in jobs]

    Raises:
        ValueError: A value is not valid.
    """

    model_config = ConfigDict(validate_assignment=True, extra="forbid")

    class Type(str, Enum):
        """The kinds of places."""

        SLURM = "slurm"
        """A cluster; needs the package ``submitit``."""

        LOCAL = "local"
        """Other processes of this machine. What is submitted has to be picklable."""

        DEBUG = "debug"
        """This process: ``submit()`` returns when the function has."""

        NOOP = "noop"
        """Nowhere: nothing runs, and all results are None."""

    type: Type
    """Where functions run."""

    slurm_partition: str | None = None
    """The partition of the cluster; that of the cluster's own choice if None."""

    cpus: int = Field(default=1, ge=1)
    """Of a cluster, the processors for each job; else how many jobs run at once."""

    gpus: int = Field(default=0, ge=0)
    """The graphics processors for each job of a cluster."""

    timeout_hours: float = Field(default=12, gt=0)
    """How long a job may take. After that it fails; on this machine, with TimeoutError."""

    block: bool = False
    """Whether ``submit()`` waits until the job has ended, well or badly."""

    def get_executor(
        self, logs_dir: Path, timeout_hours: float | None = None, cpus: int | None = None
    ) -> PoolExecutor:
        """Returns an executor, whose ``submit(function, *args, **kwargs)`` returns a job.

        A job has ``result()``, which waits for the end, and returns or raises what the function
        does. The end of a ``with`` block, or ``shutdown()``, waits for jobs on this machine.

        Args:
            logs_dir: The folder for the logs of cluster jobs. Created if missing.
            timeout_hours: Overrides :attr:`timeout_hours`.
            cpus: Overrides :attr:`cpus`.

        Raises:
            ImportError: If the package for clusters is not installed.
        """
        hours = self.timeout_hours if timeout_hours is None else timeout_hours
        cpus = self.cpus if cpus is None else cpus
        Path(logs_dir).mkdir(parents=True, exist_ok=True)
        if self.type == self.Type.SLURM:
            return _Jobs(self._cluster(Path(logs_dir), hours, cpus), self.block)
        if self.type == self.Type.LOCAL:
            # Not forked: the threads of gRPC do not survive that.
            context = multiprocessing.get_context("spawn")
            pool = ProcessPoolExecutor(cpus, mp_context=context)
            return _Jobs(pool, self.block, partial(_limited, hours * 3600))
        return _Jobs(_Here(is_active=self.type == self.Type.DEBUG), self.block)

    def _cluster(self, logs_dir: Path, hours: float, cpus: int) -> Any:
        submitit = require("submitit", ImportError)
        executor = submitit.AutoExecutor(folder=logs_dir, cluster="slurm")
        partition = {"slurm_partition": self.slurm_partition} if self.slurm_partition else {}
        executor.update_parameters(
            timeout_min=max(1, round(hours * 60)),
            nodes=1,
            cpus_per_task=cpus,
            gpus_per_node=self.gpus,
            **partition,
        )
        return executor


class _Jobs(PoolExecutor):
    """Passes functions to another executor, perhaps inside of another function."""

    def __init__(self, executor: Any, block: bool, around: Callable[..., Any] | None = None):
        self._executor = executor
        self._block = block
        self._around = around

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        function = fn if self._around is None else partial(self._around, fn)
        job = self._executor.submit(function, *args, **kwargs)
        if self._block:
            job.exception()  # Waits.
        return job

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if isinstance(self._executor, PoolExecutor):
            self._executor.shutdown(wait=wait, cancel_futures=cancel_futures)


class _Here(PoolExecutor):
    """Runs functions in the thread that submits them, or does not run them."""

    def __init__(self, is_active: bool):
        self._is_active = is_active

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        job: Future[Any] = Future()
        try:
            job.set_result(fn(*args, **kwargs) if self._is_active else None)
        except Exception as error:
            job.set_exception(error)
        return job


def _limited(seconds: float, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function, in the main thread of a process, and interrupts it after some time."""

    def interrupt(number: int, frame: Any) -> NoReturn:
        raise TimeoutError(f"The job took longer than {seconds:g} seconds")

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function(*args, **kwargs)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
