"""Replay of recorded episodes and of saved states, also to validate them.

An episode records its requests. They are sent again after a session was lost, and to emulate forks
in services without fork support. A saved state has only the text of its actions, so an environment
applies them step by step.
"""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.errors import ServiceError, ValidationError
from compiler_gym.service.environment.episode import Episode
from compiler_gym.service.proto import Event
from compiler_gym.service.session.session_manager import SessionManager
from compiler_gym.service.session.session_start import (
    ENOUGH_ACTIONS,
    REFUSALS,
    Deadline,
    repeat_step,
)
from compiler_gym.validation_result import ValidationResult

_REPLAY_SECONDS = 300


def replay_episode(
    sessions: SessionManager, episode: Episode, action_space: int, indices: Sequence[int]
) -> Sequence[Event]:
    """Starts a session and repeats the requests of an episode.

    Session parameters are all sent at the beginning. No rewards are computed.

    Args:
        sessions: The manager that gets the session. It has none yet.
        episode: The episode.
        action_space: The number of the action space at its beginning.
        indices: The numbers of the observation spaces to compute at the end.

    Returns:
        The observations.

    Raises:
        ServiceError: If the service fails, or behaves differently than in the episode.
        OSError: If the service fails.
    """
    deadline = Deadline(_REPLAY_SECONDS)
    sessions.start(episode.benchmark, action_space, (), deadline)
    if episode.params:
        sessions.require_session().send_params(episode.params, deadline.left())
    for events, was_refused in _requests(episode):
        if not was_refused:
            repeat_step(sessions, events, deadline)
            continue
        # The actions before the refused one are applied again.
        with suppress(*REFUSALS):
            sessions.step(events, (), deadline.left())
    return sessions.step((), indices, deadline.left()).observation if indices else ()


def _requests(episode: Episode) -> Iterator[tuple[list[Event], bool]]:
    """Yields the actions of each request, and True if the service refused the request."""
    merged: list[Event] = []
    for i, events in enumerate(episode.requests):
        was_refused = i in episode.refused
        if merged and (was_refused or len(merged) >= ENOUGH_ACTIONS):
            yield merged, False
            merged = []
        if was_refused:
            yield events, True
        else:
            merged = [*merged, *events]
    if merged:
        yield merged, False


def replay_state(env: CompilerEnv, state: CompilerEnvState) -> None:
    """Makes the steps of a state in an environment that is in an episode.

    Raises:
        ValueError: If the actions are not valid, or the episode ends before all are applied.
    """
    actions = env.commandline_to_actions(state.commandline)
    for i, action in enumerate(actions, start=1):
        _, _, done, info = env.step(action)
        if "error_type" in info or (done and i < len(actions)):
            raise ValueError(
                f"The episode ended with action {i} of {len(actions)} of the state. "
                f"{info.get('error_type', 'The service ended it')}: "
                f"{info.get('error_details', '')}"
            )


# Validation of a state by replaying it.

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
