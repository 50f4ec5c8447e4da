"""The settings of environments: spaces of actions, observations and rewards, and benchmarks."""

import warnings
from collections.abc import Iterable
from typing import Any

from gymnasium.spaces import Space
from typing_extensions import override

from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset, Datasets
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.service.environment.benchmark_selection import BenchmarkSelection
from compiler_gym.service.environment.episode_runner import EpisodeRunner
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationSpaceSpec, ObservationView, RewardView


class EnvironmentSettings(CompilerEnv):
    """The choice of spaces and benchmarks, for the current episode and those after it.

    The base class of :class:`ClientServiceCompilerEnv`, which plays the episodes.
    """

    _selection: BenchmarkSelection

    def _hold(self, runner: EpisodeRunner) -> None:
        self._runner = runner
        self._sessions = runner.sessions
        self._action_spaces = runner.action_spaces
        self._choices = runner.choices

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
        self._action_spaces.select(space, self.in_episode)
        next_space = self._action_spaces.next_space
        if next_space is not self.action_space:
            warnings.warn(
                f"This episode keeps its action space {self.action_space.name!r}. Call env.reset() "
                f"to use {next_space.name!r}",
                stacklevel=2,
            )

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
    def benchmark(self, benchmark: str | Benchmark | BenchmarkUri) -> None:
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
