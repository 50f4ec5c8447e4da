"""The record of an episode, and replays of episodes and saved states, also to validate them.

An episode records its requests. They are sent again after a session was lost, and to emulate forks
in services without fork support. A saved state has only the text of its actions, so an environment
applies them step by step.
"""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.errors import ServiceError, ValidationError
from compiler_gym.service.proto import Event
from compiler_gym.service.session.session_manager import SessionManager
from compiler_gym.service.session.session_start import ENOUGH_ACTIONS, REFUSALS, repeat_step
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import Deadline
from compiler_gym.util.random_state import shallow_copy
from compiler_gym.validation_result import ValidationResult
from compiler_gym.views import ObservationSpaceSpec


@dataclass
class Episode:
    """The record of an episode.

    Attributes:
        benchmark: The program.
        action_space: The action space at the beginning.
        actions: All actions, including those without effect and those that failed, but not those
            that the episode has recovered from.
        requests: The encoded actions of each step that had actions.
        counts: The number of actions in each request. A macro counts as several.
        refused: The positions in ``requests`` of requests that the service refused. The session
            continued.
        reward: The sum of the rewards, None if there is no default reward space.
        rewarded: The number of actions when ``reward`` was last updated.
        params: The session parameters that were sent, in order.
        observed: The observation spaces and values of the last step with the default ones, or of
            the reset.
        is_interrupted: True if a step was interrupted (Ctrl-C), so that the state of the session is
            unknown.
        beginning: The program before the actions, as text, if a session parameter has replaced it;
            else empty.
        start_time: The start of the episode, by :func:`time.monotonic`.
    """

    benchmark: Benchmark
    action_space: Any
    actions: list[Any] = field(default_factory=list)
    requests: list[list[Event]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)
    reward: float | None = None
    rewarded: int = 0
    params: list[tuple[str, str]] = field(default_factory=list)
    observed: tuple[tuple[ObservationSpaceSpec, ...], list[Any]] = ((), [])
    is_interrupted: bool = False
    beginning: str = ""
    start_time: float = field(default_factory=time.monotonic)

    @property
    def walltime(self) -> float:
        """Seconds since the episode began."""
        return time.monotonic() - self.start_time

    def copy(self) -> "Episode":
        """Returns an independent copy of the record."""
        clone = shallow_copy(self)
        clone.actions = self.actions.copy()
        clone.requests = self.requests.copy()
        clone.counts = self.counts.copy()
        clone.refused = self.refused.copy()
        clone.params = self.params.copy()
        return clone

    def add_reward(self, reward: float) -> None:
        """Adds the reward of a step to the sum."""
        self.reward = (self.reward or 0.0) + reward
        self.rewarded = len(self.actions)

    def known_costs(self, reward: Reward | None) -> str:
        """Returns the costs that a reward has computed, if they are those after the last action."""
        if reward is None or not self.actions or self.rewarded != len(self.actions):
            return ""
        return reward.known_costs()

    def begin_again(self, key: str, beginning: str) -> None:
        """Forgets the actions, because a session parameter has replaced their result.

        Args:
            key: The parameter that was sent. Its earlier values have no effect either.
            beginning: The program as text, see the attribute.
        """
        self.actions, self.requests, self.counts, self.refused = [], [], [], set()
        self.rewarded = 0
        self.beginning = beginning
        last = self.params[-1]
        self.params = [param for param in self.params if param[0] != key] + [last]

    def record(self, actions: list[Any], events: list[Event]) -> None:
        """Records the actions of a step, in both forms, before the step is made."""
        if events:
            self.actions.extend(actions)
            self.requests.append(events)
            self.counts.append(len(actions))

    def record_refusal(self) -> None:
        """Records that the service has refused the last step with actions."""
        self.refused.add(len(self.requests) - 1)

    def before_last(self, events: list[Event]) -> "Episode":
        """Returns a copy of the record from before the last step.

        Args:
            events: The encoded actions of that step.
        """
        record = self.copy()
        record.is_interrupted = False
        if events:
            del record.actions[-record.counts.pop() :]
            del record.requests[-1:]
        return record


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
    with naming_other_version(env, state):
        _replay_actions(env, state)


@contextmanager
def naming_other_version(env: CompilerEnv, state: CompilerEnvState) -> Iterator[None]:
    """Lets errors say so if another version of the compiler made the state.

    Raises:
        ValueError: As in the ``with`` block.
    """
    try:
        yield
    except ValueError as error:
        other = made_by_another(env, state)
        if not other:
            raise
        raise ValueError(f"{other}: {error}") from error


def made_by_another(env: CompilerEnv, state: CompilerEnvState) -> str:
    """Returns text that says so if another version of the compiler made the state, else ""."""
    return state.made_by_another(known_compiler_version(env) or "")


def known_compiler_version(env: CompilerEnv) -> str | None:
    """Returns the first line of the version, None if the service has none, or has ended."""
    try:
        return env.compiler_version.partition("\n")[0] or None
    except (ServiceError, OSError):
        return None


def _replay_actions(env: CompilerEnv, state: CompilerEnvState) -> None:
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
        # Without the version, about which users are only told if the result is another.
        env.apply(state.model_copy(update={"compiler_version": None}))
    except ValueError as error:
        other = made_by_another(env, state)
        details = {"details": f"{other}: {error}" if other else str(error)}
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
    kind = made_by_another(env, state) or "Reward differs"
    details = {
        "reward_space": env.reward_space.name,
        "expected_reward": state.reward,
        "actual_reward": env.episode_reward,
    }
    return {
        "reward_validated": True,
        "reward_validation_failed": not same,
        "errors": [] if same else [ValidationError(type=kind, data=details)],
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
