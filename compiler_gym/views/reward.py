"""The view of an environment's rewards."""

import warnings
from collections.abc import Callable, Iterable
from functools import partial

from compiler_gym.datasets import Benchmark
from compiler_gym.errors.nearest_names import did_you_mean, unknown_name
from compiler_gym.spaces import Reward
from compiler_gym.views.observation import ObservationView

# The view of an environment's rewards.


class RewardView:
    """Gives any reward of an environment, computed on demand.

    ``env.reward["IrInstructionCountOz"]`` and ``env.reward.IrInstructionCountOz()`` are the same.

    Most rewards are differences to the last time that they were computed, whether by
    ``env.step()`` or here: asking for a reward advances it, and asking again at once gives 0.

    Args:
        spaces: The reward spaces.
        observation_view: Gives the observations that rewards are computed from.

    Attributes:
        spaces: The reward spaces by name.
    """

    def __init__(self, spaces: Iterable[Reward], observation_view: ObservationView):
        self.spaces: dict[str, Reward] = {space.name: space for space in spaces}
        self._observation_view = observation_view

    def __getitem__(self, reward_space: str) -> float:
        """Computes a reward: the change since its last computation.

        Args:
            reward_space: The name of the reward space.

        Raises:
            ValueError: There are no reward spaces.
            KeyError: There is no such space; the text suggests similar names.
            SessionNotFound: ``env.reset()`` has not been called.
            ServiceError: The service cannot compute an observation that is needed.
        """
        space = self._space(reward_space)
        observations = self._observation_view.observe(space.observation_spaces)
        return space.update([], observations, self._observation_view)

    def add_space(self, space: Reward) -> None:
        """Adds a reward space. Warns if it replaces one of the same name."""
        if space.name in self.spaces:
            warnings.warn(f"Replacing the reward space {space.name}", stacklevel=2)
        self.spaces[space.name] = space

    def reset(self, benchmark: Benchmark, observation_view: ObservationView) -> None:
        """Prepares all reward spaces for an episode; called by ``env.reset()``.

        Args:
            benchmark: The benchmark of the episode.
            observation_view: Gives the observations of the new episode.
        """
        self._observation_view = observation_view
        for space in self.spaces.values():
            space.reset(benchmark, observation_view)

    def _space(self, name: str) -> Reward:
        """Returns the space of that name; raises an error if there is none."""
        if not self.spaces:
            raise ValueError("There are no reward spaces; add one with env.reward.add_space()")
        space = self.spaces.get(name)
        if space is None:
            raise unknown_name("reward space", name, self.spaces)
        return space

    def __getattr__(self, name: str) -> Callable[[], float]:
        """Returns a function that computes the reward of that name."""
        # Names with underscores are asked for by copy and pickle, before there is an instance.
        if name.startswith("_") or name == "spaces" or name not in self.spaces:
            spaces = self.__dict__.get("spaces", {})
            raise AttributeError(f"RewardView has no attribute {name}.{did_you_mean(name, spaces)}")
        return partial(self.__getitem__, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.spaces]

    def __repr__(self) -> str:
        return f"RewardView[{', '.join(sorted(self.spaces))}]"


__all__ = ["RewardView"]
