"""Environments whose compiler runs in a service."""

import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset, Datasets
from compiler_gym.envs.compiler_env import UNCHANGED, StepResult
from compiler_gym.errors import ServiceError
from compiler_gym.service.configurable_env import as_datasets
from compiler_gym.service.connected_env import ConnectedEnv
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.connection_opts import ConnectionOpts
from compiler_gym.service.environment.action_spaces import ActionSpaces
from compiler_gym.service.environment.benchmark_selection import BenchmarkSelection
from compiler_gym.service.environment.episode import Episode
from compiler_gym.service.environment.replay import replay_episode
from compiler_gym.service.environment.reward_copy import copy_reward
from compiler_gym.service.environment.state_validation import validate_by_replay
from compiler_gym.service.environment.step_plan import StepPlan
from compiler_gym.service.proto import Event
from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.service.session.session_manager import SessionManager
from compiler_gym.service.session.session_start import Deadline
from compiler_gym.spaces import Reward
from compiler_gym.util.shallow_copy import shallow_copy
from compiler_gym.validation_result import ValidationResult
from compiler_gym.views import ObservationSpaceSpec, ObservationView, RewardView

logger = logging.getLogger(__name__)

_FORK_SECONDS = 300

_SEQUENCE_TYPES = (list, tuple, np.ndarray)

_FORMER_NAMES_WARNING = (
    "The arguments observations and rewards are deprecated. Use observation_spaces and "
    "reward_spaces"
)


class ClientServiceCompilerEnv(ConnectedEnv):
    """An environment whose compiler runs in a service.

    Args:
        service: The path of a service executable to start, or the address ``"host:port"`` of a
            running service.
        rewards: The rewards to choose from. By default the change of each observation that has a
            numeric default value.
        datasets: The datasets to choose benchmarks from.
        benchmark: The benchmark to use while none is chosen explicitly. By default the first of
            the datasets.
        observation_space: The default observation, or None.
        reward_space: The default reward, or None.
        action_space: The name of the action space; by default the first one.
        derived_observation_spaces: Observations computed in this process from others, each given
            by the arguments of ``ObservationView.add_derived_space``: ``id``, ``base_id``,
            ``translate``, and optionally ``space``, ``default_value``, ``deterministic``,
            ``platform_dependent`` and ``to_string``.
        service_message_converters: How to understand the service's action spaces, and how to send
            actions.
        connection_settings: Time limits and more.
        service_connection: A connection to use at first, in place of a new one; environments may
            share it. The last of them to be closed closes it.
        recover: Go on after a step that failed, see :attr:`recover`.

    Attributes:
        recover: Whether an episode goes on after a step in which the compiler crashed, hung, ran
            out of memory, or failed otherwise. If so, a new session is started on the same
            benchmark and all actions before that step are applied again. The step then returns
            the observations of that state, the rewards of no change, ``done=False``, and an
            ``info`` with ``recovered: True`` besides ``error_type`` and ``error_details``. The
            actions of the step are not among :attr:`actions`; if :meth:`multistep` fails, these
            are all the actions given to it, as it is not known which of them did. Should the
            other actions fail this time, the episode ends as it does without recovery. Can be
            set at any time, and is inherited by forks.

    Raises:
        FileNotFoundError: If there is no such executable.
        ServiceInitError: If the service cannot be started.
        ServiceTransportError: If a running service cannot be reached.
        LookupError: If there is nothing of a given name.
        TypeError: If an argument is of a wrong type.

    Subclasses that hold objects which refer to the environment override :meth:`_init_fork`.
    """

    def __init__(
        self,
        service: str | Path,
        rewards: Iterable[Reward] | None = None,
        datasets: Datasets | Iterable[Dataset] | None = None,
        benchmark: str | Benchmark | BenchmarkUri | None = None,
        observation_space: str | ObservationSpaceSpec | None = None,
        reward_space: str | Reward | None = None,
        action_space: str | None = None,
        derived_observation_spaces: Iterable[Mapping[str, Any]] | None = None,
        service_message_converters: ServiceMessageConverters | None = None,
        connection_settings: ConnectionOpts | None = None,
        service_connection: CompilerGymServiceConnection | None = None,
        recover: bool = False,
    ):
        self.recover = recover
        selection = BenchmarkSelection(as_datasets(datasets))
        if benchmark is not None:
            selection.set_default(benchmark)
        self._sessions = SessionManager(
            service, connection_settings or ConnectionOpts(), service_connection
        )
        try:
            action_spaces = ActionSpaces(
                self._sessions.action_spaces,
                service_message_converters or ServiceMessageConverters(),
            )
            view = ObservationView(self._raw_step(), self._sessions.observation_spaces)
            for derived in derived_observation_spaces or ():
                view.add_derived_space(**derived)
            super().__init__(selection, action_spaces, view, rewards)
            self.action_space = action_space
            self.observation_space = observation_space
            self.reward_space = reward_space
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------------------------------------
    # Episodes.

    @override
    def reset(
        self,
        benchmark: str | Benchmark | BenchmarkUri | None = None,
        action_space: str | None = None,
        observation_space: Any = UNCHANGED,
        reward_space: Any = UNCHANGED,
        timeout: float = 300,
    ) -> Any:
        deadline = Deadline(timeout)
        if benchmark is not None:
            self._selection.choose(benchmark)
        self._sessions.end(waits=False)
        self._episode = None
        if observation_space is not UNCHANGED:
            self.observation_space = observation_space
        if reward_space is not UNCHANGED:
            self.reward_space = reward_space
        if action_space is not None:
            self.action_space = action_space
        return self._begin_episode(self._selection.next(), deadline)

    def _begin_episode(self, benchmark: Benchmark, deadline: Deadline) -> Any:
        self._action_spaces.begin_episode()
        reply, events = self._sessions.start(
            benchmark, self._action_spaces.selected, self._initial_plan.indices, deadline
        )
        self._episode = Episode(
            benchmark, self.action_space, params=[*self._sessions.params.items()]
        )
        self._episode.reward = 0.0 if self._default_reward else None
        if reply.HasField("new_action_space"):
            self._action_spaces.replace(reply.new_action_space)
        try:
            observations, _ = self._initial_plan.evaluate(events, [], self._observation_view)
            self._reward_view.reset(benchmark, self._observation_view)
        except BaseException:
            self._sessions.end()
            raise
        return observations[0] if observations else None

    @override
    def step(
        self,
        action: Any,
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        observations: Iterable[str | ObservationSpaceSpec] | None = None,
        rewards: Iterable[str | Reward] | None = None,
        timeout: float = 300,
    ) -> StepResult:
        actions: Sequence[Any] = (action,)
        if isinstance(action, _SEQUENCE_TYPES) and not self.action_space.contains(action):
            _warn("Giving several actions to env.step() is deprecated. Use env.multistep()")
            actions = action
        if observations is not None or rewards is not None:
            _warn(_FORMER_NAMES_WARNING)
        return self._step(
            actions,
            observations if observation_spaces is None else observation_spaces,
            rewards if reward_spaces is None else reward_spaces,
            timeout,
        )

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        observations: Iterable[str | ObservationSpaceSpec] | None = None,
        rewards: Iterable[str | Reward] | None = None,
        timeout: float = 300,
    ) -> StepResult:
        if observations is not None or rewards is not None:
            _warn(_FORMER_NAMES_WARNING)
        return self._step(
            actions,
            observations if observation_spaces is None else observation_spaces,
            rewards if reward_spaces is None else reward_spaces,
            timeout,
        )

    def _step(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None,
        reward_spaces: Iterable[str | Reward] | None,
        timeout: float,
    ) -> StepResult:
        plan = self._plan_for(observation_spaces, reward_spaces)
        observations, rewards, done, info = self._run(plan, actions, timeout)
        observation: Any = observations
        if observation_spaces is None:
            observation = observations[0] if observations else None
        reward: Any = rewards
        if reward_spaces is None:
            reward = rewards[0] if rewards else None
            if rewards:
                self._episode.reward = (self._episode.reward or 0.0) + reward
        return observation, reward, done, info

    def raw_step(
        self,
        actions: Iterable[Any],
        observation_spaces: Sequence[ObservationSpaceSpec],
        reward_spaces: Sequence[Reward],
        timeout: float = 300,
    ) -> tuple[list[Any], list[float], bool, dict[str, Any]]:
        """As :meth:`multistep`, with all spaces given as objects; for subclasses.

        Does not change :attr:`episode_reward`.

        Returns:
            A value for each observation, one for each reward, whether the episode has ended, and
            information.
        """
        return self._run(self._make_plan(observation_spaces, reward_spaces), actions, timeout)

    def _run(
        self, plan: StepPlan, actions: Iterable[Any], timeout: float
    ) -> tuple[list[Any], list[float], bool, dict[str, Any]]:
        sessions = self._sessions
        sessions.require_session()
        actions, events = self._action_spaces.encoder.encode(actions)
        self._episode.record(actions, events)
        try:
            reply = sessions.step(events, plan.indices, timeout)
            observations, rewards = plan.evaluate(
                reply.observation, actions, self._observation_view
            )
        except (ServiceError, TimeoutError) as error:
            return self._fail(plan, error, events)
        except Exception:
            if events:
                self._episode.record_refusal()
            raise
        has_new_action_space = reply.HasField("new_action_space")
        if has_new_action_space:
            self._action_spaces.replace(reply.new_action_space)
        info = {
            "action_had_no_effect": reply.action_had_no_effect,
            "new_action_space": has_new_action_space,
        }
        return observations, rewards, reply.end_of_session, info

    def _fail(
        self, plan: StepPlan, error: Exception, events: list[Event]
    ) -> tuple[list[Any], list[float], bool, dict[str, Any]]:
        """Ends the episode after a failure of the service, unless it can be recovered."""
        self._sessions.abandon(error)
        info = {
            "action_had_no_effect": False,
            "new_action_space": False,
            "error_type": type(error).__name__,
            "error_details": str(error),
        }
        recovered = self._recover(plan, events) if self.recover else None
        if recovered is not None:
            return *recovered, False, info | {"action_had_no_effect": True, "recovered": True}
        return *plan.defaults(self.episode_reward), True, info

    def _recover(self, plan: StepPlan, events: list[Event]) -> tuple[list[Any], list[float]] | None:
        """Goes back to before a step that failed.

        Returns:
            The observations and rewards of that state, or None if it cannot be reached.
        """
        before = self._episode.before_last(events)
        action_space = self._action_spaces.index_of(before.action_space)
        try:
            values = replay_episode(self._sessions, before, action_space, plan.indices)
            result = plan.evaluate(values, [], self._observation_view)
        except (ServiceError, OSError) as error:
            logger.info("Cannot recover the episode: %s: %s", type(error).__name__, error)
            self._sessions.abandon(error)
            return None
        self._episode = before
        return result

    # ------------------------------------------------------------------------------------------
    # Forks.

    @override
    def fork(self) -> "ClientServiceCompilerEnv":
        if not self.in_episode:
            self.reset()
        clones: list[ClientServiceCompilerEnv] = []
        try:
            session = self._sessions.session.fork(meanwhile=lambda: clones.append(self._clone()))
        except NotImplementedError:
            return self._fork_by_replay()
        clone = clones[0] if clones else self._clone()
        clone._sessions.session = session
        clone._episode = self._episode.copy()
        return clone

    def _fork_by_replay(self) -> "ClientServiceCompilerEnv":
        """Makes a fork by doing all again; for services that cannot fork sessions."""
        clone = self._clone()
        try:
            clone._begin_episode(self._episode.benchmark, Deadline(_FORK_SECONDS))
            clone._sessions.session.send_params(self._episode.params)
            _, _, _, info = clone.raw_step(self._episode.actions, [], [], _FORK_SECONDS)
            if "error_type" in info:
                raise ServiceError(
                    f"Cannot fork by repeating the actions: {info['error_type']}: "
                    f"{info['error_details']}"
                )
            clone._copy_rewards(self)
        except BaseException:
            clone.close()
            raise
        clone._episode = self._episode.copy()
        return clone

    def _clone(self) -> "ClientServiceCompilerEnv":
        """Returns an environment like this one but without an episode."""
        clone = shallow_copy(self)
        clone._sessions = self._sessions.sibling()
        clone._episode = None
        clone._selection = self._selection.copy()
        clone._action_spaces = shallow_copy(self._action_spaces)
        clone._observation_view = self._observation_view.copy(clone._raw_step())
        clone._copy_rewards(self)
        clone._init_fork(self)
        return clone

    def _copy_rewards(self, parent: "ClientServiceCompilerEnv") -> None:
        """Takes over the rewards with all that they remember."""
        benchmark = parent._episode.benchmark if parent._episode else None
        copies = {
            name: copy_reward(reward, benchmark)
            for name, reward in parent._reward_view.spaces.items()
        }
        self._reward_view = RewardView(copies.values(), self._observation_view)
        if parent._default_reward is not None:
            self._default_reward = copies[parent._default_reward.name]
            self._default_plan = self._make_plan(
                self._default_plan.observation_spaces, [self._default_reward]
            )

    def _init_fork(self, parent: "ClientServiceCompilerEnv") -> None:
        """Called on a new fork, whose attributes are those of its parent unless changed here."""

    @override
    def validate(self, state: CompilerEnvState | None = None) -> ValidationResult:
        state = state or self.state
        with self._clone() as clone:
            if self._episode:
                clone.action_space = self._episode.action_space
            return validate_by_replay(clone, state, self._benchmark_of(state))


def _warn(message: str) -> None:
    """Warns the caller of the method that calls this."""
    warnings.warn(message, DeprecationWarning, stacklevel=3)
