"""A reward for faster programs, in seconds of runtime."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler_gym.errors import BenchmarkInitError, ServiceError
from compiler_gym.spaces.reward import Reward


class RuntimeReward(Reward):
    """The runtime that a step saves, in seconds.

    An observation of ``Runtime`` holds several measurements, which an estimator combines. The
    initial runtime is measured once, and again when the program or its run command changes.

    Attributes:
        runtime_count: The number of measurements of an observation.
        warmup_count: The number of warm-up runs before them, which are not measured.
        estimator: Combines the measurements, e.g. ``numpy.median``.
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
        self.previous_runtime: Any = None  # In seconds; None outside of episodes.
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
