"""The interface of the settings of environments: spaces, and the choice of programs."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from gymnasium.spaces import Space

from compiler_gym.datasets import AnyBenchmark, Benchmark, Dataset, Datasets
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationSpaceSpec, ObservationView, RewardView


class EnvSettings(ABC):
    """The spaces and benchmarks of an environment, for the current episode and those after it.

    The base class of :class:`CompilerEnv`, whose methods play the episodes.
    """

    # Spaces.

    @property
    def observation_space(self) -> Space[Any] | None:
        """The space of the observations that steps return by default, or None.

        Set it by the name of an observation, by an ``ObservationSpaceSpec``, or to None for no
        default observation.

        Raises:
            LookupError: If set to a name that does not exist.
        """
        spec = self.observation_space_spec
        return spec.space if spec else None

    @observation_space.setter
    def observation_space(self, space: str | ObservationSpaceSpec | None) -> None:
        self.observation_space_spec = space

    @property
    @abstractmethod
    def observation_space_spec(self) -> ObservationSpaceSpec | None:
        """The description of the default observation. Set it like :attr:`observation_space`."""

    @observation_space_spec.setter
    @abstractmethod
    def observation_space_spec(self, space: str | ObservationSpaceSpec | None) -> None: ...

    @property
    @abstractmethod
    def reward_space(self) -> Reward | None:
        """The reward that steps return by default, or None.

        Set it by the name of a reward, by a ``Reward`` (which is added to the known ones), or to
        None for no reward. Setting it during an episode resets ``episode_reward``.

        Raises:
            LookupError: If set to a name that does not exist.
        """

    @reward_space.setter
    @abstractmethod
    def reward_space(self, space: str | Reward | None) -> None: ...

    @property
    def reward_space_spec(self) -> Reward | None:
        """Same as :attr:`reward_space`."""
        return self.reward_space

    @reward_space_spec.setter
    def reward_space_spec(self, space: str | Reward | None) -> None:
        self.reward_space = space

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest reward of a step; infinite if there is no reward space."""
        return self.reward_space.range if self.reward_space else (-float("inf"), float("inf"))

    @property
    @abstractmethod
    def action_space(self) -> Any:
        """The space of actions. Its ``to_string`` and ``from_string`` spell them as text.

        Set it by name, or to None for the first of :attr:`action_spaces`; takes effect with the
        next reset. Some compilers change it during an episode, see ``info["new_action_space"]``.

        Its type is Any because the kind of space is the compiler's choice, and most have more than
        ``gymnasium.Space``: a number of actions ``n``, ``names``, ``flags``.

        Raises:
            LookupError: If set to a name that does not exist.
        """

    @action_space.setter
    @abstractmethod
    def action_space(self, space: str | Space[Any] | None) -> None: ...

    @property
    @abstractmethod
    def action_spaces(self) -> list[Any]:
        """The action spaces to choose from, of any kind as :attr:`action_space`."""

    @property
    @abstractmethod
    def observation(self) -> ObservationView:
        """Any observation of the current state: ``env.observation["Ir"]``."""

    @observation.setter
    @abstractmethod
    def observation(self, view: ObservationView) -> None: ...

    @property
    @abstractmethod
    def reward(self) -> RewardView:
        """Any reward of the current state: ``env.reward["IrInstructionCount"]``."""

    @reward.setter
    @abstractmethod
    def reward(self, view: RewardView) -> None: ...

    # Benchmarks.

    @property
    @abstractmethod
    def benchmark(self) -> Benchmark | None:
        """The program of the episode; outside of one, that of the next episode if known.

        Set it by URI or as a ``Benchmark``; during an episode this warns, and takes effect with
        the next reset.

        Raises:
            LookupError: If set to a URI that does not exist.
            TypeError: If set to another type.
        """

    @benchmark.setter
    @abstractmethod
    def benchmark(self, benchmark: AnyBenchmark) -> None: ...

    @property
    @abstractmethod
    def datasets(self) -> Datasets:
        """The datasets to choose benchmarks from. Set it to a ``Datasets`` or a list."""

    @datasets.setter
    @abstractmethod
    def datasets(self, datasets: Datasets | Iterable[Dataset]) -> None: ...

    @property
    @abstractmethod
    def benchmarks(self) -> list[str]:
        """URIs of benchmarks that can be used at once: those of the installed datasets.

        At most the first thousand of each dataset, because some are infinite. Use ``env.datasets``
        for more.
        """

    @abstractmethod
    def require_datasets(self, names: Iterable[str | Dataset]) -> None:
        """Installs datasets if needed. Further episodes begin with a random program of them.

        A benchmark that was chosen explicitly, by ``reset(benchmark=...)`` or by setting
        :attr:`benchmark`, is kept.

        Raises:
            LookupError: If there is no dataset of a name.
            DatasetInitError: If a dataset cannot be installed.
        """

    def require_dataset(self, name: str | Dataset) -> None:
        """Installs a dataset, see :meth:`require_datasets`."""
        self.require_datasets([name])

    @abstractmethod
    def seed(self, seed: int | None = None) -> list[int | None]:
        """Makes the choice of random benchmarks and ``action_space.sample()`` repeatable.

        Returns:
            The seed, in a list.
        """
