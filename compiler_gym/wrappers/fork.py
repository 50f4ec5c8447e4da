"""A wrapper that can undo actions."""

from collections.abc import Iterable
from typing import Any

from typing_extensions import Self, override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper


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
        count = len(self.env.actions)
        self.stack.append(self.env.fork())
        try:
            return super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)
        except BaseException:
            if len(self.env.actions) == count:  # The step did nothing.
                self.stack.pop().close()
            raise

    @override
    def close(self) -> None:
        self._clear()
        super().close()

    def _clear(self) -> None:
        while self.stack:
            self.stack.pop().close()

    @override
    def fork_attribute(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        if name == "stack":
            return [env.fork() for env in value]
        return super().fork_attribute(name, value, memo)
