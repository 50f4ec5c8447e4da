"""What can be set about an environment between its steps: spaces and benchmarks."""

import warnings
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset, Datasets
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.service.environment.action_spaces import ActionSpaces
from compiler_gym.service.environment.benchmark_selection import BenchmarkSelection
from compiler_gym.service.environment.episode import Episode
from compiler_gym.service.environment.step_plan import StepPlan
from compiler_gym.spaces import DefaultRewardFromObservation, Reward
from compiler_gym.util.nearest_names import did_you_mean
from compiler_gym.views import ObservationSpaceSpec, ObservationView, RewardView

_MAX_LISTED_BENCHMARKS_PER_DATASET = 1000


class ConfigurableEnv(CompilerEnv):
    """The part of an environment that holds its settings.

    Subclasses keep :attr:`_episode`, the record of the present or else the last episode.

    Args:
        selection: Chooses benchmarks.
        action_spaces: The action spaces.
        observation_view: Computes observations.
        rewards: The rewards to choose from. By default the change of each observation that has a
            numeric default value.
    """

    def __init__(
        self,
        selection: BenchmarkSelection,
        action_spaces: ActionSpaces,
        observation_view: ObservationView,
        rewards: Iterable[Reward] | None,
    ):
        if rewards is None:
            rewards = _default_rewards(observation_view.spaces.values())
        self._selection = selection
        self._action_spaces = action_spaces
        self._observation_view = observation_view
        self._reward_view = RewardView(rewards, observation_view)
        self._observation_spec: ObservationSpaceSpec | None = None
        self._default_reward: Reward | None = None
        self._episode: Episode | None = None
        self._plan_default_step()

    def _plan_default_step(self) -> None:
        """To be called when a default space has changed."""
        specs = [self._observation_spec] if self._observation_spec else []
        rewards = [self._default_reward] if self._default_reward else []
        self._default_plan = self._make_plan(specs, rewards)
        self._initial_plan = self._make_plan(specs, [])

    def _make_plan(
        self, specs: Sequence[ObservationSpaceSpec], rewards: Sequence[Reward]
    ) -> StepPlan:
        return StepPlan(specs, rewards, self._observation_view.spaces)

    def _plan_for(
        self,
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None,
        reward_spaces: Iterable[str | Reward] | None,
    ) -> StepPlan:
        """Returns what a step does that is called with these arguments."""
        if observation_spaces is None and reward_spaces is None:
            return self._default_plan
        specs: Sequence[ObservationSpaceSpec] = self._default_plan.observation_spaces
        if observation_spaces is not None:
            specs = [self._find_observation(space) for space in _checked_list(observation_spaces)]
        rewards: Sequence[Reward] = self._default_plan.reward_spaces
        if reward_spaces is not None:
            rewards = [self._find_reward(space) for space in _checked_list(reward_spaces)]
        return self._make_plan(specs, rewards)

    # ------------------------------------------------------------------------------------------
    # Spaces.

    @property
    @override
    def observation(self) -> ObservationView:
        return self._observation_view

    @observation.setter
    def observation(self, view: ObservationView) -> None:
        self._observation_view = view
        self._plan_default_step()

    @property
    @override
    def reward(self) -> RewardView:
        return self._reward_view

    @reward.setter
    def reward(self, view: RewardView) -> None:
        self._reward_view = view
        if self._default_reward is not None and self._default_reward.name not in view.spaces:
            self.reward_space = None

    @property
    @override
    def observation_space(self) -> Space | None:
        return self._observation_spec.space if self._observation_spec else None

    @observation_space.setter
    def observation_space(self, space: str | ObservationSpaceSpec | None) -> None:
        self._observation_spec = None if space is None else self._find_observation(space)
        self._plan_default_step()

    @property
    @override
    def observation_space_spec(self) -> ObservationSpaceSpec | None:
        return self._observation_spec

    @observation_space_spec.setter
    def observation_space_spec(self, space: str | ObservationSpaceSpec | None) -> None:
        self.observation_space = space

    @property
    @override
    def reward_space(self) -> Reward | None:
        return self._default_reward

    @reward_space.setter
    def reward_space(self, space: str | Reward | None) -> None:
        self._default_reward = None if space is None else self._find_reward(space)
        self._plan_default_step()
        if self._episode is not None:
            self._episode.reward = 0.0 if self._default_reward else None

    @property
    @override
    def reward_space_spec(self) -> Reward | None:
        return self.reward_space

    @reward_space_spec.setter
    def reward_space_spec(self, space: str | Reward | None) -> None:
        self.reward_space = space

    @property
    @override
    def action_space(self) -> Space:
        return self._action_spaces.current

    @action_space.setter
    def action_space(self, space: str | Space | None) -> None:
        self._action_spaces.select(space, self.in_episode)

    @property
    @override
    def action_spaces(self) -> list[Space]:
        return self._action_spaces.spaces

    def _find_observation(self, space: str | ObservationSpaceSpec) -> ObservationSpaceSpec:
        if isinstance(space, ObservationSpaceSpec):
            return space
        spaces = self._observation_view.spaces
        if space not in spaces:
            raise LookupError(
                f"There is no observation space {space!r}.{did_you_mean(str(space), spaces)} "
                f"There are: {', '.join(spaces)}"
            )
        return spaces[space]

    def _find_reward(self, space: str | Reward) -> Reward:
        spaces = self._reward_view.spaces
        if isinstance(space, Reward):
            if spaces.get(space.name) is not space:
                self._make_plan([], [space])  # Raises LookupError before anything is changed.
                self._reward_view.add_space(space)
                if self.in_episode:
                    space.reset(self._episode.benchmark, self._observation_view)
            return space
        if space not in spaces:
            raise LookupError(
                f"There is no reward space {space!r}.{did_you_mean(str(space), spaces)} "
                f"There are: {', '.join(spaces) or 'none'}"
            )
        return spaces[space]

    # ------------------------------------------------------------------------------------------
    # Benchmarks.

    @property
    @override
    def benchmark(self) -> Benchmark | None:
        if self._episode and (self.in_episode or not self._selection.is_explicit):
            return self._episode.benchmark
        return self._selection.peek()

    @benchmark.setter
    def benchmark(self, benchmark: str | Benchmark | BenchmarkUri) -> None:
        self._selection.choose(benchmark)
        if self.in_episode:
            warnings.warn(
                "Changing the benchmark has no effect until env.reset() is called", stacklevel=2
            )

    @property
    @override
    def datasets(self) -> Datasets:
        return self._selection.datasets

    @datasets.setter
    def datasets(self, datasets: Datasets | Iterable[Dataset]) -> None:
        self._selection.datasets = as_datasets(datasets)

    @property
    @override
    def benchmarks(self) -> list[str]:
        return [
            uri
            for dataset in self.datasets.datasets(installed_only=True)
            for uri in islice(dataset.benchmark_uris(), _MAX_LISTED_BENCHMARKS_PER_DATASET)
        ]

    @override
    def require_datasets(self, names: Iterable[str | Dataset]) -> None:
        self._selection.require(list(names))

    @override
    def seed(self, seed: int | None = None) -> list[int | None]:
        self._selection.seed(seed)
        self.action_space.seed(seed)
        return [seed]


def as_datasets(datasets: Datasets | Iterable[Dataset] | None) -> Datasets:
    """Returns a collection of datasets, however it was given."""
    return datasets if isinstance(datasets, Datasets) else Datasets(datasets or ())


def _default_rewards(specs: Iterable[ObservationSpaceSpec]) -> list[Reward]:
    """Returns the rewards of an environment for which none were given."""
    return [
        DefaultRewardFromObservation(spec.id)
        for spec in specs
        if isinstance(spec.default_value, int | float | np.number)
        and not isinstance(spec.default_value, bool)
    ]


def _checked_list(names: Iterable[Any]) -> list[Any]:
    """Turns an argument that is to name several spaces into a list."""
    if isinstance(names, str | ObservationSpaceSpec | Reward):
        raise TypeError(f"Expected a list of spaces, not {names!r}. Write [{str(names)!r}]")
    return list(names)
