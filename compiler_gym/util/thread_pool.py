"""A process-wide thread pool."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache


@cache
def get_thread_pool_executor() -> ThreadPoolExecutor:
    """Returns the pool of threads of this process, one for each processor.

    Every call returns the same pool. Tasks of the pool must not wait for other tasks of the pool.
    """
    return ThreadPoolExecutor(os.cpu_count() or 1, "compiler_gym")
