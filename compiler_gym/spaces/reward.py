"""Rewards computed from observations."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from compiler_gym.errors import BenchmarkInitError, ServiceError
from compiler_gym.spaces.scalar import Scalar


class Reward(Scalar):
    """A reward for a step, computed from observations.

    Subclasses override :meth:`update`, and :meth:`reset` if they keep state between steps. Rewards
    compare equal to their name.

    Attributes:
        name: The name of the reward.
        observation_spaces: The names of the observations that :meth:`update` is called with.
        default_value: The reward of a step for which none can be computed.
        default_negates_returns: In that case, also take back all rewards of the episode.
        min: The least reward.
        max: The greatest reward.
        success_threshold: The sum of rewards from which on an episode counts as a success, e.g.
            1 for rewards relative to what a baseline gains; None if there is no such value.
        deterministic: The same actions on the same benchmark give the same rewards.
        platform_dependent: Rewards depend on the machine that the service runs on.
        copies_are_shallow: Set this to True in a class whose attributes are all immutable, except
            :attr:`observation_spaces`. It makes forks faster. Subclasses do not inherit it.
    """

    copies_are_shallow = False

    name: str  # Unlike other spaces, it always has one.

    def __init__(
        self,
        name: str,
        observation_spaces: Iterable[str] | None = None,
        default_value: float = 0,
        min: float | None = None,
        max: float | None = None,
        default_negates_returns: bool = False,
        success_threshold: float | None = None,
        deterministic: bool = False,
        platform_dependent: bool = True,
    ):
        super().__init__(name=name, min=min, max=max, dtype=np.float64)
        self.observation_spaces = list(observation_spaces or [])
        self.default_value = default_value
        self.default_negates_returns = default_negates_returns
        self.success_threshold = success_threshold
        self.deterministic = deterministic
        self.platform_dependent = platform_dependent

    def reset(self, benchmark: Any, observation_view: Any) -> None:
        """Prepares for an episode; called by ``env.reset()``.

        Args:
            benchmark: The benchmark of the episode; compares equal to its URI.
            observation_view: Gives any observation by name, e.g. ``observation_view["Ir"]``.
        """

    def parameters_changed(self) -> None:
        """Discards cached costs, e.g. of baselines; called by ``env.send_params()``.

        Observations may depend on session parameters.
        """

    def update(self, actions: list[Any], observations: list[Any], observation_view: Any) -> float:
        """Computes the reward of a step.

        Args:
            actions: The actions of the step.
            observations: One value for each of :attr:`observation_spaces`, after the actions.
            observation_view: Gives any other observation by name.

        Returns:
            The reward.
        """
        raise NotImplementedError(
            f"Reward {self.name!r} has no formula; override update() in {type(self).__name__}"
        )

    def reward_on_error(self, episode_reward: float | None) -> float:
        """Returns the reward of a step that failed.

        Args:
            episode_reward: The sum of the rewards of the episode before that step; None if
                there are none.
        """
        if self.default_negates_returns:
            return self.default_value - (episode_reward or 0)
        return self.default_value

    def known_costs(self) -> str:
        """Describes the cached costs of the program. Computes nothing."""
        return ""

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest reward."""
        return self.min, self.max

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.name == other
        return (
            type(self) is type(other)
            and self.observation_spaces == other.observation_spaces
            and super().__eq__(other)
        )

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, min={self.min}, max={self.max})"


class DefaultRewardFromObservation(Reward):
    """The change of an observation: its value after a step minus its value before.

    The value before the first step of an episode counts as 0, so that the rewards of an episode
    add up to the last value. When the service fails, the rewards are taken back.

    Attributes:
        previous_value: The value after the last step.
    """

    def __init__(self, observation_name: str, **kwargs: Any):
        """Makes a reward with the name of an observation; ``kwargs`` are those of Reward."""
        options = {"default_value": 0, "default_negates_returns": True, **kwargs}
        super().__init__(name=observation_name, observation_spaces=[observation_name], **options)
        self.previous_value: float = 0

    def reset(self, benchmark: Any, observation_view: Any) -> None:
        """Forgets the previous value."""
        self.previous_value = 0

    def update(self, actions: list[Any], observations: list[Any], observation_view: Any) -> float:
        """Returns the increase of the observation."""
        value = float(observations[0])
        reward = value - self.previous_value
        self.previous_value = value
        return reward


# A reward for faster programs, in seconds of runtime.


class RuntimeReward(Reward):
    """The runtime that a step saves, in seconds.

    An observation of ``Runtime`` holds several measurements, which an estimator combines. The
    initial runtime is measured once, and again when the program or its run command changes.

    Attributes:
        runtime_count: The number of measurements of an observation.
        warmup_count: The number of warm-up runs before them, which are not measured.
        estimator: Combines the measurements, e.g. ``numpy.median``.
        starting_runtime: The runtime before the first step, in seconds; None before a reset.
        previous_runtime: The runtime before the last step, in seconds; None outside of episodes.
    """

    def __init__(
        self,
        runtime_count: int,
        warmup_count: int,
        estimator: Callable[[Sequence[float]], float] = np.median,
        default_value: float = 0,
    ):
        super().__init__(
            name="runtime",
            observation_spaces=["Runtime"],
            default_value=default_value,
            default_negates_returns=True,
            deterministic=False,
            platform_dependent=True,
        )
        self.runtime_count = runtime_count
        self.warmup_count = warmup_count
        self.estimator = estimator
        self.starting_runtime: float | None = None
        self.previous_runtime: Any = None
        self._program: Any = None

    def reset(self, benchmark: Any, observation_view: Any) -> None:
        """Measures the program before the first step.

        Raises:
            BenchmarkInitError: The benchmark is not runnable.
            ServiceError: An observation does not hold as many measurements as were asked for.
        """
        program = _identity(benchmark)
        if self.starting_runtime is None or self._program != program:
            # Discard the former program first, in case this one cannot be measured.
            self.starting_runtime = None
            if not observation_view["IsRunnable"]:
                raise BenchmarkInitError(
                    f"Benchmark {benchmark} is not runnable, so it has no runtime to reward. "
                    "Choose a benchmark with a build and a run command"
                )
            self.starting_runtime = self._estimate(observation_view["Runtime"])
            self._program = program
        self.previous_runtime = self.starting_runtime

    def update(self, actions: list[Any], observations: list[Any], observation_view: Any) -> float:
        """Returns the runtime before the step minus that after it, in seconds.

        Raises:
            ServiceError: The observation does not hold as many measurements as were asked for.
        """
        runtime = self._estimate(observations[0])
        reward = self.previous_runtime - runtime
        self.previous_runtime = runtime
        return reward

    def _estimate(self, runtimes: Sequence[float]) -> float:
        if len(runtimes) != self.runtime_count:
            raise ServiceError(
                f"Expected {self.runtime_count} runtimes but the service observed "
                f"{len(runtimes)}; set env.runtime_observation_count to match the reward"
            )
        return float(self.estimator(runtimes))


def number_from(value: Any, giver: object, method: str) -> float:
    """Returns what a method has computed, such as a NumPy scalar, as a number of Python.

    Args:
        value: The value.
        giver: The object with the method, for the text of an error.
        method: The name of the method.

    Raises:
        TypeError: It is no number.
    """
    if isinstance(value, float | int):
        return value
    try:
        return float(value.__float__())
    except (AttributeError, TypeError, ValueError):
        name = f"{type(giver).__name__}.{method}()"
        raise TypeError(f"expected a number from {name}, got {value!r}") from None


def _identity(benchmark: Any) -> Any:
    """Returns a key that is equal for equal programs with equal run commands.

    The benchmark's message is mutable and may be large, so the key does not contain it. The key of
    a name is the name.
    """
    proto = getattr(benchmark, "proto", None)
    if proto is None:
        return benchmark
    parts = (proto.program, proto.dynamic_config)
    texts = (part.SerializeToString(deterministic=True) for part in parts)
    return tuple(hashlib.sha256(text).digest() for text in texts)
