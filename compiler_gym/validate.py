"""Validation of many states in parallel."""

import logging
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.envs.thread_environments import ThreadEnvironments
from compiler_gym.errors import ServiceError, ValidationError
from compiler_gym.util.processors import processors
from compiler_gym.util.thread_pool import stream_in_threads
from compiler_gym.validation_result import ValidationResult

if TYPE_CHECKING:
    from compiler_gym.envs.compiler_env import CompilerEnv

logger = logging.getLogger(__name__)


def validate_states(
    make_env: Callable[[], "CompilerEnv"],
    states: Iterable[CompilerEnvState],
    nproc: int | None = None,
    inorder: bool = False,
) -> Iterator[ValidationResult]:
    """Validates states in parallel.

    Args:
        make_env: Makes an environment. It is called once for each of the parallel validations,
            from different threads, one call at a time. Rewards are validated if the environment
            has a reward space.
        states: The states. All are read before validation begins.
        nproc: The number of validations in parallel; None for the number of processors. The work
            is done by the processes of the compiler services.
        inorder: Whether to yield results in the order of the states. If not, states are
            validated in random order, which spreads expensive ones, and results are yielded as
            they come.

    Yields:
        A result for each state. A state whose validation raises an error, because there is no
        such benchmark for example, gives a result that says so.

    Raises:
        ValueError: ``nproc`` is less than one.
    """
    count = processors() if nproc is None else nproc
    if count < 1:
        raise ValueError(f"The number of validations in parallel must be positive, not {nproc}")
    return _validate_states(make_env, list(states), count, inorder)


def _validate_states(
    make_env: Callable[[], "CompilerEnv"],
    states: list[CompilerEnvState],
    count: int,
    inorder: bool,
) -> Iterator[ValidationResult]:
    """Yields the results of validation."""
    if not inorder:
        random.Random().shuffle(states)  # The global generator belongs to the user.
    environments = ThreadEnvironments(make_env)
    validate = partial(_validate, environments)
    try:
        with closing(stream_in_threads(validate, states, count, in_order=inorder)) as results:
            yield from results
    finally:
        environments.close()


def _validate(environments: ThreadEnvironments, state: CompilerEnvState) -> ValidationResult:
    """Validates a state in the environment of the calling thread."""
    env = environments.get()
    start = monotonic()
    try:
        return env.validate(state)
    except (ServiceError, OSError, LookupError, ValueError) as error:
        logger.warning("Validation of %s failed: %s", state.benchmark, error)
        return ValidationResult(
            state=state,
            walltime=monotonic() - start,
            actions_replay_failed=True,
            errors=[ValidationError(type=type(error).__name__, data={"details": str(error)})],
        )
