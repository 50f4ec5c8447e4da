"""The number of tasks that a worker gets at once."""

import time

# A call costs the process of the pool about a millisecond, and its worker a few. So short tasks
# share one. Long runs have longer calls, because workers wait for the last calls of others only at
# the end. So have large pools, because their process has half of its time for calls.
_SECONDS_PER_CALL = 0.25
_SHARE_OF_RUN = 0.02
_SECONDS_PER_CALL_OF_LONG_RUNS = 1.0
_SECONDS_PER_CALL_AND_WORKER = 0.002
_MOST_SECONDS_PER_CALL = 60.0
_MOST_TASKS_PER_CALL = 4096
# Tasks may take longer than those before, by which their number is chosen.
_PATIENCE = 4
_SMOOTHING = 0.2


class CallSize:
    """Chooses the number of tasks of a call from the times of the tasks of the run so far.

    Args:
        task_seconds: The longest time for a task.
    """

    def __init__(self, task_seconds: float):
        self._longest = min(_MOST_SECONDS_PER_CALL, task_seconds / (2 * _PATIENCE))
        self.begin_run()

    def begin_run(self) -> None:
        """Forgets the tasks of the former run."""
        self._began = time.monotonic()
        # The mean time of the first tasks, then a moving average.
        self._seconds_per_task = _SECONDS_PER_CALL
        self._timed = 0

    def add_task(self, seconds: float) -> None:
        """Takes a finished task into account."""
        self._timed += 1
        weight = max(1 / self._timed, _SMOOTHING)
        self._seconds_per_task += weight * (seconds - self._seconds_per_task)

    def tasks(self, workers: int) -> int:
        """Returns the number of tasks for the next call of a pool with that many workers."""
        count = round(self._seconds(workers) / max(self._seconds_per_task, 1e-6))
        return max(1, min(count, _MOST_TASKS_PER_CALL))

    def time_limit(self, workers: int) -> float:
        """Returns the seconds after which a worker shall begin no further task of the call."""
        return self._seconds(workers) * _PATIENCE

    def _seconds(self, workers: int) -> float:
        """Returns how long a call should take."""
        elapsed = time.monotonic() - self._began
        wanted = max(
            _SECONDS_PER_CALL,
            min(elapsed * _SHARE_OF_RUN, _SECONDS_PER_CALL_OF_LONG_RUNS),
            workers * _SECONDS_PER_CALL_AND_WORKER,
        )
        return min(wanted, self._longest)
