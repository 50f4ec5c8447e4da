"""A wrapper that validates the program after each step."""

from collections.abc import Generator, Iterable
from functools import partial
from typing import Any

from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.envs.running_step import ConvertedStep, RunningStep
from compiler_gym.errors import ValidationError
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper


class ValidateBenchmarkAfterEveryStep(CompilerEnvWrapper):
    """Ends the episode as soon as the program misbehaves.

    After each step the validators of the benchmark run, until one of them finds an error. The
    step then returns ``done``, the penalty as its reward, and an ``info`` with ``error_type`` and
    ``error_details``. A benchmark without validators never fails.

    Args:
        env: The environment.
        reward_penalty: The reward of the failing step, and each of its rewards if several are
            requested.
    """

    def __init__(self, env: CompilerEnv, reward_penalty: float = -1e3):
        super().__init__(env)
        self.reward_penalty = reward_penalty

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        former = self.env.episode_reward
        result = super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)
        return self._validated(former, result)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        former = self.env.episode_reward
        step = super().begin_multistep(actions, timeout)
        return ConvertedStep(step, partial(self._validated, former))

    def _validated(self, former: float | None, result: StepResult) -> StepResult:
        observation, reward, done, info = result
        error = None if done else self._first_error()
        if error is None:
            return observation, reward, done, info
        if isinstance(reward, list):
            reward = [self.reward_penalty] * len(reward)
        elif reward is not None:
            reward = self.reward_penalty
            self.env.episode_reward = (former or 0.0) + reward
        info["error_type"] = error.type
        info["error_details"] = str(error)
        return observation, reward, True, info

    def _first_error(self) -> ValidationError | None:
        # Validators fork and run the innermost environment.
        benchmark: Any = self.env.benchmark  # There is one in an episode.
        errors = iter(benchmark.ivalidate(self.env.unwrapped))
        try:
            return next(errors, None)
        finally:
            # Of a benchmark with its own ivalidate() it may be any iterator.
            if isinstance(errors, Generator):
                errors.close()
