"""Wrappers that undo actions."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from typing_extensions import Self, override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.envs.running_step import ConvertedStep, RunningStep
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper


class _ForkedStep(ConvertedStep):
    """A running step with something to do if it fails."""

    def __init__(self, step: RunningStep, on_failure: Callable[[], None]):
        super().__init__(step, lambda result: result)
        self._on_failure = on_failure

    @override
    def result(self) -> StepResult:
        try:
            return super().result()
        except BaseException:
            self._on_failure()
            raise


class ForkOnStep(CompilerEnvWrapper):
    """Keeps a fork of the environment from before each step, so that steps can be undone.

    Each fork is a session of the compiler until the next reset. A call of :meth:`multistep` is one
    step.

    Args:
        env: The environment.

    Attributes:
        stack: The environments from before each step of the episode, the oldest first.
    """

    def __init__(self, env: CompilerEnv):
        super().__init__(env)
        self.stack: list[CompilerEnv] = []

    def undo(self) -> Self:
        """Undoes the last step, even a failed one. Does nothing if there is none.

        Returns:
            This environment.
        """
        if self.stack:
            self.env.close()
            self.env = self.stack.pop()
        return self

    @override
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        self._clear()
        return super().reset(*args, **kwargs)

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        if not self.env.in_episode:  # Raises the error of the step.
            return super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)
        with self._forked():
            return super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        if not self.env.in_episode:  # Raises the error of the step.
            return super().begin_multistep(actions, timeout)
        count = len(self.env.actions)
        with self._forked():
            step = super().begin_multistep(actions, timeout)
        return _ForkedStep(step, lambda: self._drop_unless_longer(count))

    @override
    def close(self) -> None:
        self._clear()
        super().close()

    @contextmanager
    def _forked(self) -> Iterator[None]:
        """Keeps a fork during a step, and after it unless the step fails and did nothing."""
        count = len(self.env.actions)
        self.stack.append(self.env.fork())
        try:
            yield
        except BaseException:
            self._drop_unless_longer(count)
            raise

    def _drop_unless_longer(self, count: int) -> None:
        """Closes the last fork if the step after it did nothing."""
        if len(self.env.actions) == count:
            self.stack.pop().close()

    def _clear(self) -> None:
        while self.stack:
            self.stack.pop().close()

    @override
    def fork_attribute(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        if name == "stack":
            return [env.fork() for env in value]
        return super().fork_attribute(name, value, memo)


class UndoLarger(ForkOnStep):
    """Undoes steps that make the program larger, and those that fail.

    An episode then never gets worse, so a learner may try what helps seldom. A step that is undone
    has the observation and the reward of no action, and ``info["undone"]`` is true. It is not among
    :attr:`actions`. Limits of steps count it if they are around this wrapper, as those of
    ``make()`` are.

    Args:
        env: The environment.
        cost: The observation, a number, that steps may not increase.
    """

    def __init__(self, env: CompilerEnv, cost: str = "IrInstructionCount"):
        super().__init__(env)
        self._cost = cost
        self._least: float | None = None

    @override
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        self._least = None
        return super().reset(*args, **kwargs)

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        self._observe_first()
        spaces = observation_spaces, reward_spaces
        result = super().multistep(actions, *spaces, *args, **kwargs)
        repeated = partial(self._without_action, *spaces, *args, **kwargs)
        return self._kept_or_undone(repeated, result)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        self._observe_first()
        step = super().begin_multistep(actions, timeout)
        repeated = partial(self._without_action, timeout=timeout)
        return ConvertedStep(step, partial(self._kept_or_undone, repeated))

    def _without_action(self, *args: Any, **kwargs: Any) -> StepResult:
        return self.env.multistep([], *args, **kwargs)

    def _observe_first(self) -> None:
        if self._least is None and self.env.in_episode:
            self._least = float(self.env.observation[self._cost])

    def _kept_or_undone(self, repeated: Callable[[], StepResult], result: StepResult) -> StepResult:
        """Returns the result of a step, or that of no action if the step is undone."""
        _, _, done, info = result
        has_failed = done and "error_type" in info
        cost = None if has_failed else float(self.env.observation[self._cost])
        is_undone = cost is None or (self._least is not None and cost > self._least)
        if is_undone:
            self.undo()
            observation, reward, done, _ = repeated()
            result = observation, reward, done, info
        else:
            self._least = cost
        info["undone"] = is_undone
        self._clear()
        return result
