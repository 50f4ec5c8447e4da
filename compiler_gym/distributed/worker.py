"""The part of a pool that runs in its processes."""

import json
import logging
import os
import pickle
import platform
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cachetools import LRUCache

from compiler_gym.datasets import Benchmark
from compiler_gym.distributed.task import Reply, Task
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.util.registration import make
from compiler_gym.util.version import package_version

logger = logging.getLogger(__name__)

# A service keeps memory for programs that it has seen. So each serves that many tasks at most.
_TASKS_PER_SERVICE = 10_000
_KEPT_PROGRAMS = 64
_making = threading.Lock()


@dataclass(frozen=True)
class Hello:
    """The facts about a worker that has started.

    Attributes:
        version: That of ``compiler_gym``.
        python: That of Python, without the patch level.
        node: The address of the machine.
        pid: The process.
    """

    version: str
    python: str
    node: str
    pid: int


def hello() -> Hello:
    """Returns the facts about this process."""
    python = ".".join(platform.python_version_tuple()[:2])
    return Hello(package_version(), python, socket.gethostname(), os.getpid())


class Worker:
    """Runs tasks, one at a time, with environments that it keeps open.

    Args:
        is_here: Whether it is a thread of the pool's process. Results need not be sent then.

    Attributes:
        stop: Set when the task under way shall end, if the worker is a thread. Other workers are
            interrupted.
    """

    def __init__(self, is_here: bool = False) -> None:
        self.stop = threading.Event()
        self._is_here = is_here
        self._envs: dict[Any, Any] = {}
        self._blobs: Mapping[str, bytes] = {}
        self._programs: LRUCache[str, Benchmark] = LRUCache(_KEPT_PROGRAMS)
        self._tasks = 0

    def hello(self) -> Hello:
        """Returns the facts about this process."""
        return hello()

    def run(self, tasks: Sequence[Task], blobs: Mapping[str, bytes], seconds: float) -> list[Reply]:
        """Runs tasks one after the other.

        Args:
            tasks: The tasks.
            blobs: Their data by its digest.
            seconds: When no further task begins: they may take longer than expected. Then there
                are fewer replies than tasks, but at least one.

        Returns:
            A reply for each. An exception of a task is a reply too.
        """
        self._blobs = blobs
        begin = time.monotonic()
        replies = [self._run(tasks[0])]
        for task in tasks[1:]:
            if time.monotonic() - begin > seconds:
                break
            replies.append(self._run(task))
        return replies

    def env(self, id: str, arguments: Mapping[str, Any]) -> Any:
        """Returns an environment, which stays open for later tasks.

        Args:
            id: Its id.
            arguments: Of :func:`compiler_gym.make`; JSON can say them.
        """
        key = json.dumps([id, arguments], sort_keys=True)
        if key not in self._envs:
            self._envs[key] = make(id, **arguments)
        return self._envs[key]

    def env_of(self, make_env: Callable[[], Any]) -> Any:
        """Returns an environment, which stays open for later tasks of the process.

        Args:
            make_env: Makes the environment. Threads call it one after the other.
        """
        if make_env not in self._envs:
            with _making:
                self._envs[make_env] = make_env()
        return self._envs[make_env]

    def blob(self, digest: str) -> bytes:
        """Returns data of the tasks under way."""
        return self._blobs[digest]

    def program(self, digest: str) -> Benchmark:
        """Returns the program whose message is the data of a digest."""
        if digest not in self._programs:
            self._programs[digest] = Benchmark(BenchmarkProto.FromString(self.blob(digest)))
        return self._programs[digest]

    def close(self) -> None:
        """Ends the environments. The next task starts others."""
        envs, self._envs = self._envs, {}
        for env in envs.values():
            env.close()

    def _run(self, task: Task) -> Reply:
        begin = time.monotonic()
        logger.info("task %s begins", task.name)
        try:
            value = task.run(self)
            if not self._is_here:
                _check_picklable(value)
            reply = Reply(value, seconds=time.monotonic() - begin)
        except Exception as error:
            # Nobody knows in what state the environments are now.
            self.close()
            logger.info("task %s failed", task.name, exc_info=True)
            reply = Reply.of_error(error, time.monotonic() - begin)
            return replace(reply, exception=error) if self._is_here else reply
        self._tasks += 1
        if self._tasks % _TASKS_PER_SERVICE == 0:
            self.close()
        return reply


def _check_picklable(value: Any) -> None:
    """Raises TypeError if a result cannot be pickled: to send it would end the worker."""
    try:
        pickle.dumps(value)
    except Exception as error:
        raise TypeError(
            f"expected a result that can be pickled, got {type(value).__name__}: {error}"
        ) from error
