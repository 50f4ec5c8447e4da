"""A process-wide thread pool."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache


@cache
def get_thread_pool_executor() -> ThreadPoolExecutor:
    """Returns the pool of threads of this process, one for each processor.

    It is the same at each call. What runs there must not wait for something else that is to run
    there.
    """
    return ThreadPoolExecutor(os.cpu_count() or 1, "compiler_gym")
