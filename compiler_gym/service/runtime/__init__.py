"""The runtime of compiler services.

It is written in C++; this package is for compilers in Python:

.. code-block:: python

    from compiler_gym.service import CompilationSession
    from compiler_gym.service.runtime import create_and_run_compiler_gym_service


    class MyCompilationSession(CompilationSession): ...


    if __name__ == "__main__":
        create_and_run_compiler_gym_service(MyCompilationSession)

Import it before NumPy. This keeps NumPy from starting threads, with which a session's process
cannot be copied.
"""

import os

# Sessions are copied as processes, and a copy has none of the threads. Variables that are set keep
# their values.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from compiler_gym.service.runtime.python_service import (  # noqa: E402
    create_and_run_compiler_gym_service,
)

__all__ = ["create_and_run_compiler_gym_service"]
