"""Environments whose compiler runs in a service."""

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import Self, override

from compiler_gym.compat.former_arguments import former_names
from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets import AnyBenchmark, Benchmark, Dataset, Datasets
from compiler_gym.envs.compiler_env import UNCHANGED, CompilerEnv, StepResult
from compiler_gym.envs.running_step import RunningStep
from compiler_gym.errors.service_errors import NoEpisode
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.environment.benchmark_selection import BenchmarkSelection
from compiler_gym.service.environment.episode import (
    Episode,
    known_compiler_version,
    made_by_another,
    replay_state,
    validate_by_replay,
)
from compiler_gym.service.environment.episode_runner import (
    EpisodeRunner,
    RunResult,
    make_runner,
)
from compiler_gym.service.proto import GetVersionReply
from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.service.session.session_manager import SessionManager
from compiler_gym.service.session.transition_cache import DEFAULT_BYTES, TransitionCache
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import TIMEOUT, Deadline
from compiler_gym.util.gym_type_hints import OptionalArgumentValue
from compiler_gym.util.random_state import shallow_copy
from compiler_gym.validation_result import ValidationResult
from compiler_gym.views import ObservationSpaceSpec, ObservationView, RewardView

_SEQUENCE_TYPES = (list, tuple, np.ndarray)
_ACTIONS_WARNING = "Giving several actions to env.step() is deprecated. Use env.multistep()"


class ClientServiceCompilerEnv(CompilerEnv):
    """An environment whose compiler runs in a service.

    Args:
        service: The path of a service to start, an executable or a ``.py`` file, or the address
            ``"host:port"`` of a running service.
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
        service_message_converters: Converts the service's action spaces, and actions for the
            service.
        connection_settings: Time limits and more.
        service_connection: A connection to use in place of a new one; environments may share it.
            The last of them to be closed closes it. If it fails, the next reset connects to its
            endpoint again, with its options, and never to ``service``.
        recover: Continue the episode after a failed step, see :attr:`recover`.
        transition_cache: Cache the results of steps, and answer a repeated step from the cache, see
            :attr:`transitions`. True, or the memory limit in bytes.

    Raises:
        FileNotFoundError: If there is no such executable.
        ServiceInitError: If the service cannot be started.
        ServiceTransportError: If a running service cannot be reached.
        LookupError: If a given name does not exist.
        TypeError: If an argument is of a wrong type.

    Subclasses that hold objects which refer to the environment override :meth:`init_fork`.
    """

    def __init__(
        self,
        service: str | Path,
        rewards: Iterable[Reward] | None = None,
        datasets: Datasets | Iterable[Dataset] | None = None,
        benchmark: AnyBenchmark | None = None,
        observation_space: str | ObservationSpaceSpec | None = None,
        reward_space: str | Reward | None = None,
        action_space: str | None = None,
        derived_observation_spaces: Iterable[Mapping[str, Any]] | None = None,
        service_message_converters: ServiceMessageConverters | None = None,
        connection_settings: ConnectionOpts | None = None,
        service_connection: CompilerGymServiceConnection | None = None,
        recover: bool = False,
        transition_cache: bool | int = False,
    ):
        self._selection = BenchmarkSelection(() if datasets is None else datasets)
        if benchmark is not None:
            self._selection.set_default(benchmark)
        self._sessions = SessionManager(
            service,
            connection_settings or ConnectionOpts(),
            service_connection,
            DEFAULT_BYTES if transition_cache is True else int(transition_cache),
        )
        try:
            converters = service_message_converters or ServiceMessageConverters()
            derived = derived_observation_spaces or ()
            self._hold(make_runner(self._sessions, converters, derived, rewards, recover))
            self.action_space = action_space
            self.observation_space = observation_space
            self.reward_space = reward_space
        except BaseException:
            self.close()
            raise

    def _hold(self, runner: EpisodeRunner) -> None:
        self._runner = runner
        self._sessions = runner.sessions
        self._action_spaces = runner.action_spaces
        self._choices = runner.choices

    @property
    def recover(self) -> bool:
        """True if episodes continue after a failed step.

        If so, and the compiler crashes, hangs, runs out of memory or fails otherwise in a step, a
        new session is started on the same benchmark and all actions before that step are applied
        again. The step then returns the observations of that state, rewards as if nothing had
        changed, ``done=False``, and an ``info`` with ``recovered: True`` besides ``error_type`` and
        ``error_details``. The actions of the step are not among :attr:`actions`; if
        :meth:`multistep` fails, these are all the actions given to it, because the one that failed
        is unknown. If the repeated actions fail too, the episode ends as it does without recovery.
        Can be set at any time. Forks inherit it.
        """
        return self._runner.is_recovering

    @recover.setter
    def recover(self, is_recovering: bool) -> None:
        self._runner.is_recovering = is_recovering

    @property
    def transitions(self) -> TransitionCache | None:
        """The cache of transitions, or None if the environment was made without one.

        All environments that share a service share the cache: forks, and those that were made with
        the same ``service_connection``. A step is a cache hit if the same step was taken before on
        the same program after the same steps. The reply, with its observations and rewards, is then
        that of the first time, and the compiler does nothing. On the next miss, the compiler
        catches up. Observations that are not deterministic are never cached, nor are steps after
        :meth:`send_param`. ``info["transition_was_known"]`` is True if the step was a hit, and
        ``env.transitions.stats`` counts hits and misses.

        Raises:
            ServiceIsClosed: If the environment is closed.
        """
        return self._sessions.transitions

    # Spaces.

    @property
    @override
    def observation(self) -> ObservationView:
        return self._choices.observations

    @observation.setter
    def observation(self, view: ObservationView) -> None:
        self._choices.replace_observations(view)

    @property
    @override
    def reward(self) -> RewardView:
        return self._choices.rewards

    @reward.setter
    def reward(self, view: RewardView) -> None:
        self._choices.replace_rewards(view)

    @property
    @override
    def observation_space_spec(self) -> ObservationSpaceSpec | None:
        return self._choices.observation

    @observation_space_spec.setter
    def observation_space_spec(self, space: str | ObservationSpaceSpec | None) -> None:
        self._choices.choose_observation(space)

    @property
    @override
    def reward_space(self) -> Reward | None:
        return self._choices.reward

    @reward_space.setter
    def reward_space(self, space: str | Reward | None) -> None:
        self._choices.choose_reward(space, self._runner.benchmark)
        if self._runner.episode is not None:
            self._runner.episode.reward = 0.0 if self._choices.reward else None

    @property
    @override
    def action_space(self) -> Any:
        return self._action_spaces.current

    @action_space.setter
    def action_space(self, space: str | Space[Any] | None) -> None:
        space = self._default_action_space() if space is None else space
        self._action_spaces.select(space, self.in_episode)
        next_space = self._action_spaces.next_space
        if next_space is not self.action_space:
            warnings.warn(
                f"This episode keeps its action space {self.action_space.name!r}. Call env.reset() "
                f"to use {next_space.name!r}",
                stacklevel=2,
            )

    def _default_action_space(self) -> str | None:
        """Returns the name of the action space to use if none is chosen. None for the first."""
        return None

    @property
    @override
    def action_spaces(self) -> list[Any]:
        return self._action_spaces.spaces

    # Benchmarks.

    @property
    @override
    def benchmark(self) -> Benchmark | None:
        episode = self._runner.episode
        if episode and (self.in_episode or not self._selection.is_explicit):
            return episode.benchmark
        return self._selection.peek()

    @benchmark.setter
    def benchmark(self, benchmark: AnyBenchmark) -> None:
        self._selection.choose(benchmark)
        if self.in_episode:
            warnings.warn(
                f"{self._selection.peek()} is for the episode that the next env.reset() begins; "
                f"the present one goes on with {self._runner.benchmark}",
                stacklevel=2,
            )

    @property
    @override
    def datasets(self) -> Datasets:
        return self._selection.datasets

    @datasets.setter
    def datasets(self, datasets: Datasets | Iterable[Dataset]) -> None:
        self._selection.datasets = datasets

    @property
    @override
    def benchmarks(self) -> list[str]:
        return self._selection.installed_uris()

    @override
    def require_datasets(self, names: Iterable[str | Dataset]) -> None:
        self._selection.require(list(names))

    @override
    def seed(self, seed: int | None = None) -> list[int | None]:
        self._selection.seed(seed)
        self.action_space.seed(seed)
        return [seed]

    # Episodes.

    @override
    def reset(
        self,
        benchmark: AnyBenchmark | None = None,
        action_space: str | None = None,
        observation_space: str | ObservationSpaceSpec | OptionalArgumentValue | None = UNCHANGED,
        reward_space: str | Reward | OptionalArgumentValue | None = UNCHANGED,
        timeout: float = TIMEOUT,
    ) -> Any:
        deadline = Deadline(timeout)
        if benchmark is not None:
            self._selection.choose(benchmark)
        self._sessions.end(wait=False)
        self._runner.episode = None
        if observation_space is not UNCHANGED:
            self.observation_space = observation_space
        if reward_space is not UNCHANGED:
            self.reward_space = reward_space
        if action_space is not None:
            self.action_space = action_space
        return self._runner.begin(self._selection.next(), deadline)

    @override
    def prepare_reset(
        self, benchmark: AnyBenchmark | None = None, timeout: float = TIMEOUT
    ) -> None:
        selection = self._selection
        prepared = selection.peek() if benchmark is None else selection.resolve(benchmark)
        if prepared is not None:
            self._runner.prepare(prepared, timeout)

    @override
    def step(
        self,
        action: Any,
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        observations: Iterable[str | ObservationSpaceSpec] | None = None,
        rewards: Iterable[str | Reward] | None = None,
        timeout: float = TIMEOUT,
    ) -> StepResult:
        actions: Iterable[Any] = (action,)
        if isinstance(action, _SEQUENCE_TYPES) and not self.action_space.contains(action):
            warnings.warn(_ACTIONS_WARNING, DeprecationWarning, stacklevel=2)
            actions = action
        spaces = former_names(observation_spaces, reward_spaces, observations, rewards)
        return self._runner.step(actions, *spaces, timeout)

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        observations: Iterable[str | ObservationSpaceSpec] | None = None,
        rewards: Iterable[str | Reward] | None = None,
        timeout: float = TIMEOUT,
    ) -> StepResult:
        spaces = former_names(observation_spaces, reward_spaces, observations, rewards)
        return self._runner.step(actions, *spaces, timeout)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        if self._choices.step_plan.is_measuring:
            # The steps of other environments would use the processor at the same time.
            return super().begin_multistep(actions, timeout)
        return self._runner.begin_step(actions, timeout)

    def raw_step(
        self,
        actions: Iterable[Any],
        observation_spaces: Sequence[ObservationSpaceSpec],
        reward_spaces: Sequence[Reward],
        timeout: float = TIMEOUT,
    ) -> RunResult:
        """Makes a step with all spaces given as objects. For subclasses, see :meth:`multistep`.

        Returns lists of values, and does not change :attr:`episode_reward`.
        """
        plan = self._choices.make_plan(observation_spaces, reward_spaces)
        return self._runner.run(plan, actions, timeout)

    @property
    @override
    def in_episode(self) -> bool:
        return self._sessions.session is not None

    @property
    @override
    def episode_reward(self) -> float | None:
        episode = self._runner.episode
        return episode.reward if episode else None

    @episode_reward.setter
    def episode_reward(self, reward: float | None) -> None:
        self._require_episode().reward = reward

    @property
    @override
    def episode_walltime(self) -> float:
        return self._require_episode().walltime

    @property
    @override
    def actions(self) -> list[Any]:
        episode = self._runner.episode
        return episode.actions.copy() if episode else []

    def _require_episode(self) -> Episode:
        if self._runner.episode is None:
            raise NoEpisode("There was no episode yet. Call env.reset() first")
        return self._runner.episode

    # States.

    @property
    def _spelling(self) -> Any:
        """The action space of the actions of the current episode, or of the last one."""
        # An action space that replaced it during the episode may number actions differently.
        episode = self._runner.episode
        return episode.action_space if episode else self.action_space

    @override
    def commandline(self) -> str:
        return self._spelling.to_string(self.actions)

    @override
    def commandline_to_actions(self, commandline: str) -> list[Any]:
        return self._spelling.from_string(commandline)

    @property
    @override
    def state(self) -> CompilerEnvState:
        episode = self._require_episode()
        return CompilerEnvState(
            benchmark=str(episode.benchmark),
            commandline=self.commandline(),
            walltime=episode.walltime,
            reward=episode.reward,
            compiler_version=known_compiler_version(self),
        )

    def _benchmark_of(self, state: CompilerEnvState) -> Benchmark | str:
        """Returns the benchmark of a state. Users' own benchmarks are not in a dataset."""
        episode = self._runner.episode
        if episode and episode.benchmark == state.benchmark:
            return episode.benchmark
        return state.benchmark

    @override
    def apply(self, state: CompilerEnvState) -> None:
        if not self.in_episode:
            self.reset(benchmark=self._benchmark_of(state))
        benchmark = self._require_episode().benchmark
        if benchmark != state.benchmark:
            warnings.warn(
                f"Applying a state of {state.benchmark} to an episode of {benchmark}", stacklevel=2
            )
        if text := made_by_another(self, state):
            warnings.warn(f"{text}, and may lead elsewhere: {state}", stacklevel=2)
        replay_state(self, state)

    @override
    def validate(self, state: CompilerEnvState | None = None) -> ValidationResult:
        state = state or self.state
        with self.sibling() as clone:
            if self._runner.episode:
                clone.action_space = self._spelling
            return validate_by_replay(clone, state, self._benchmark_of(state))

    @override
    def _known_costs(self) -> str:
        return self._require_episode().known_costs(self._choices.reward)

    # Forks.

    @override
    def fork(self) -> Self:
        if self._runner.episode is None:
            self.reset()
        clones: list[Self] = []

        def make_clone() -> EpisodeRunner:
            clones.append(self.sibling())
            return clones[0]._runner

        try:
            self._runner.fork(make_clone)
        except BaseException:
            for clone in clones:
                clone.close()
            raise
        return clones[0]

    def sibling(self) -> Self:
        """Returns an independent environment like this one, but without an episode.

        Close both. They share a service.
        """
        sessions = self._sessions.sibling()
        clone = shallow_copy(self)
        # Before anything can fail, because closing the clone must not end the sessions of this one.
        clone._sessions = sessions
        try:
            clone._hold(self._runner.copy(sessions, {id(self): clone}))
            clone._selection = self._selection.copy()
            clone.init_fork(self)
        except BaseException:
            clone.close()
            raise
        return clone

    def share_service(self, others: Iterable["ClientServiceCompilerEnv"]) -> None:
        """Uses the service of a :meth:`sibling` environment if its own has ended."""
        self._sessions.share(other._sessions for other in others)

    def init_fork(self, parent: "ClientServiceCompilerEnv") -> None:
        """Called on a new fork, whose attributes are those of its parent unless changed here."""

    # The service.

    @property
    def service(self) -> CompilerGymServiceConnection:
        """The connection to the service, opened on first use. None after :meth:`close`."""
        if self._sessions.is_closed:
            return None  # type: ignore[return-value]  # As ever; nobody wants to check each time.
        return self._sessions.connection

    @property
    def versions(self) -> GetVersionReply:
        """The versions of service and compiler."""
        return self._sessions.versions

    @property
    @override
    def version(self) -> str:
        return self.versions.service_version

    @property
    @override
    def compiler_version(self) -> str:
        return self.versions.compiler_version

    def send_param(self, key: str, value: str, resend_on_reset: bool = False) -> str:
        """Sends one session parameter, and returns the reply."""
        return self.send_params((key, value), resend_on_reset=resend_on_reset)[0]

    def send_params(self, *params: tuple[str, str], resend_on_reset: bool = False) -> list[str]:
        """Sends parameters to the session.

        Args:
            params: Keys and values.
            resend_on_reset: Send them again at the start of each further episode. They are
                remembered even if this call then fails because there is no episode yet.

        Returns:
            The service's reply to each.

        Raises:
            SessionNotFound: If there is no episode.
            ValueError: If a key is unknown or a value malformed; those before it are set.
        """
        if resend_on_reset:
            self._sessions.params.update(params)
        for reward in self.reward.spaces.values():
            reward.parameters_changed()
        replies = self._sessions.require_session().send_params(params)
        self._require_episode().params.extend(params)
        return replies

    @override
    def close(self) -> None:
        self._sessions.close()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # The service is ended at exit anyway, and gRPC does not work any more by then; even the
        # names of this module may be gone, so that the function is an argument. There are no
        # sessions if the constructor failed.
        if not is_finalizing():
            with suppress(Exception):
                self.close()
