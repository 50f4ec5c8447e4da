"""Episodes on many processes and machines.

A :class:`Pool` runs tasks on the processors of this machine, or on those of a Ray cluster, and
returns the same results either way. Tasks are whole episodes: they are named by their content, can
be repeated, and give the same result each time. Ray and PyArrow are imported only when a pool or a
file needs them; ``pip install 'compiler_gym[ray]'`` installs both.
"""

from typing import TYPE_CHECKING

from compiler_gym.util.lazy_names import lazy_names

if TYPE_CHECKING:
    from compiler_gym.distributed.backend import PoolError
    from compiler_gym.distributed.episode import Episode
    from compiler_gym.distributed.opening import open_pool
    from compiler_gym.distributed.pool import Limits, Pool
    from compiler_gym.distributed.task import Job, Outcome, Task

__all__ = [
    "Episode",
    "Job",
    "Limits",
    "Outcome",
    "Pool",
    "PoolError",
    "Task",
    "open_pool",
]

# Each use of the pool loads the modules that it needs.
_MODULES = {
    "Episode": ".episode",
    "Job": ".task",
    "Limits": ".pool",
    "Outcome": ".task",
    "Pool": ".pool",
    "PoolError": ".backend",
    "Task": ".task",
    "open_pool": ".opening",
}


if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES)
