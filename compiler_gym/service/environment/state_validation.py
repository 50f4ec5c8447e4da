"""Validation of a state by replaying it."""

import math
import time
from typing import Any

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.errors import ServiceError, ValidationError
from compiler_gym.validation_result import ValidationResult

_REWARD_RELATIVE_TOLERANCE = 1e-5
_REWARD_ABSOLUTE_TOLERANCE = 1e-10


def validate_by_replay(
    env: CompilerEnv, state: CompilerEnvState, benchmark: str | Benchmark
) -> ValidationResult:
    """Replays a state in an environment, and checks the result.

    Args:
        env: The environment. Its episode ends. Its reward space must be that of the state's reward.
        state: The state to validate.
        benchmark: The benchmark of the state.

    Raises:
        LookupError: If the benchmark does not exist.
        BenchmarkInitError: If the benchmark cannot be used.
        OSError: If the service fails to start an episode.
    """
    start = time.monotonic()
    findings = _replay(env, state, benchmark)
    return ValidationResult(state=state, walltime=time.monotonic() - start, **findings)


def _replay(
    env: CompilerEnv, state: CompilerEnvState, benchmark: str | Benchmark
) -> dict[str, Any]:
    """Returns fields of a ValidationResult."""
    env.reset(benchmark=benchmark)
    try:
        env.apply(state)
    except ValueError as error:
        details = {"details": str(error)}
        return {
            "actions_replay_failed": True,
            "errors": [ValidationError(type="Action replay failed", data=details)],
        }
    reward = _check_reward(env, state)
    semantics = _check_semantics(env)
    return reward | semantics | {"errors": [*reward["errors"], *semantics["errors"]]}


def _check_reward(env: CompilerEnv, state: CompilerEnvState) -> dict[str, Any]:
    if env.reward_space is None or not env.reward_space.deterministic or not state.has_reward:
        return {"errors": []}
    same = math.isclose(
        state.reward,
        env.episode_reward,
        rel_tol=_REWARD_RELATIVE_TOLERANCE,
        abs_tol=_REWARD_ABSOLUTE_TOLERANCE,
    )
    details = {
        "reward_space": env.reward_space.name,
        "expected_reward": state.reward,
        "actual_reward": env.episode_reward,
    }
    return {
        "reward_validated": True,
        "reward_validation_failed": not same,
        "errors": [] if same else [ValidationError(type="Reward differs", data=details)],
    }


def _check_semantics(env: CompilerEnv) -> dict[str, Any]:
    if not env.benchmark.is_validatable():
        return {"errors": []}
    try:
        errors = env.benchmark.validate(env)
    except OSError:
        raise  # The service failed.
    except ServiceError as error:
        # There is no program to run, for example because LLVM's verifier rejects the module.
        details = {"details": str(error)}
        errors = [ValidationError(type="The program is not available", data=details)]
    return {
        "benchmark_semantics_validated": env.benchmark.is_run_to_validate(),
        "benchmark_semantics_validation_failed": bool(errors),
        "errors": errors,
    }
