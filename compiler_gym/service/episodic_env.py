"""What is known about the episode of an environment, and what can be done with it again."""

import warnings
from typing import Any

from typing_extensions import override

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.datasets import Benchmark
from compiler_gym.errors import SessionNotFound
from compiler_gym.service.configurable_env import ConfigurableEnv
from compiler_gym.service.environment.episode import Episode


class EpisodicEnv(ConfigurableEnv):
    """The part of an environment that tells about the episode.

    Subclasses make and extend the record that it tells from.
    """

    @property
    @override
    def episode_reward(self) -> float | None:
        return self._episode.reward if self._episode else None

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
        return self._episode.actions.copy() if self._episode else []

    def _require_episode(self) -> Episode:
        if self._episode is None:
            raise SessionNotFound("There was no episode yet. Call env.reset() first")
        return self._episode

    @override
    def render(self, mode: str = "human") -> str | None:
        if mode not in self.metadata["render_modes"]:
            raise ValueError(f"Unknown render mode {mode!r}. There are: human, ansi")
        spec = self._observation_spec
        if spec is None:
            raise ValueError("Cannot render without an observation space. Set one first")
        text = spec.to_string(self.observation[spec.id])
        if mode == "ansi":
            return text
        print(text)
        return None

    @override
    def commandline(self) -> str:
        # An action space that came up during the episode may number actions differently.
        space = self._episode.action_space if self._episode else self.action_space
        return space.to_string(self.actions)

    @override
    def commandline_to_actions(self, commandline: str) -> list[Any]:
        space = self._episode.action_space if self._episode else self.action_space
        return space.from_string(commandline)

    @property
    @override
    def state(self) -> CompilerEnvState:
        episode = self._require_episode()
        return CompilerEnvState(
            benchmark=str(episode.benchmark),
            commandline=self.commandline(),
            walltime=episode.walltime,
            reward=episode.reward,
        )

    def _benchmark_of(self, state: CompilerEnvState) -> Benchmark | str:
        """The benchmark of a state; users' own benchmarks cannot be looked up by their URI."""
        if self._episode and self._episode.benchmark == state.benchmark:
            return self._episode.benchmark
        return state.benchmark

    @override
    def apply(self, state: CompilerEnvState) -> None:
        if not self.in_episode:
            self.reset(benchmark=self._benchmark_of(state))
        if self._episode.benchmark != state.benchmark:
            warnings.warn(
                f"Applying a state of {state.benchmark} to an episode of {self._episode.benchmark}",
                stacklevel=2,
            )
        actions = self.commandline_to_actions(state.commandline)
        for i, action in enumerate(actions, start=1):
            _, _, done, info = self.step(action)
            if "error_type" in info or (done and i < len(actions)):
                raise ValueError(
                    f"The episode ended with action {i} of {len(actions)} of the state. "
                    f"{info.get('error_type', 'The service ended it')}: "
                    f"{info.get('error_details', '')}"
                )
