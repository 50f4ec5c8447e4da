"""Tasks of a pool, and their results."""

import hashlib
import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

_DIGEST_BYTES = 16

# A task that fails with one of these would fail again.
_FINAL_ERRORS = (LookupError, ValueError, TypeError)


def digest_of(data: bytes) -> str:
    """Returns the hash by which data is known to a pool: 32 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def name_of(content: Mapping[str, Any]) -> str:
    """Returns the name of a task: the hash of everything that its result depends on."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return digest_of(text.encode())


class Task(Protocol):
    """Work that a worker can do, and repeat with the same result. It can be pickled."""

    @property
    def name(self) -> str:
        """The hash of the content. Two tasks of the same name have the same result."""

    def run(self, worker: Any) -> Any:
        """Does the work.

        Args:
            worker: The :class:`compiler_gym.distributed.worker.Worker`, which has the
                environments and the data of the task.

        Returns:
            The result, which can be pickled.

        Raises:
            Exception: If it fails. A task that fails with a ``LookupError``, ``ValueError`` or
                ``TypeError`` is not run again.
        """


@dataclass(frozen=True)
class Job:
    """A task with the data that it needs.

    Attributes:
        task: The task.
        blobs: The data by its digest, such as programs. Workers find it by
            :meth:`Worker.blob`. Each node gets it once.
    """

    task: Task
    blobs: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The result of a task.

    Attributes:
        task: The task.
        value: What the task returned; None if it failed.
        error: Why it failed; None if it did not.
        details: The traceback of the last failure, if there is one.
        tries: How often it was started.
        node: The address of the machine that ran it last.
        seconds: How long the last run took.
        exception: The exception of a task that failed in this process; else None.
    """

    task: Task
    value: Any = None
    error: str | None = None
    details: str = ""
    tries: int = 1
    node: str = ""
    seconds: float = 0.0
    exception: Exception | None = None

    def result(self) -> Any:
        """Returns what the task returned.

        Raises:
            Exception: The exception of a task that failed in this process.
            RuntimeError: If it failed in another one.
        """
        if self.exception is not None:
            raise self.exception
        if self.error is not None:
            raise RuntimeError(self.error)
        return self.value


@dataclass(frozen=True)
class Reply:
    """The reply of a worker about one task; the attributes are those of :class:`Outcome`.

    Attributes:
        is_final: Whether the task would fail again.
    """

    value: Any = None
    error: str | None = None
    details: str = ""
    is_final: bool = False
    seconds: float = 0.0
    exception: Exception | None = None

    @classmethod
    def of_error(cls, error: Exception, seconds: float = 0.0) -> "Reply":
        """Returns the reply about a task that raised an exception, which is being handled."""
        return cls(
            error=reason_of(error),
            details=traceback.format_exc(),
            is_final=isinstance(error, _FINAL_ERRORS),
            seconds=seconds,
        )


def reason_of(error: Exception) -> str:
    """Returns an exception as the reason why a task failed."""
    return f"{type(error).__name__}: {error}"
