"""A wrapper that counts calls of the environment's methods."""

from collections.abc import Iterable
from typing import Any

from typing_extensions import Self, override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.envs.running_step import RunningStep
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper


class Counter(CompilerEnvWrapper):
    """Counts calls of an environment's methods. A fork starts with copies of the counters.

    Args:
        env: The environment.

    Attributes:
        counters: The number of calls by name: ``"close"``, ``"reset"``, ``"step"`` (each action of
            :meth:`multistep` counts) and ``"fork"``. Counters are never reset.
    """

    def __init__(self, env: CompilerEnv):
        super().__init__(env)
        self.counters: dict[str, int] = {"close": 0, "reset": 0, "step": 0, "fork": 0}

    @override
    def close(self) -> None:
        self.counters["close"] += 1
        super().close()

    @override
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        self.counters["reset"] += 1
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
        actions = list(actions)
        self.counters["step"] += len(actions)
        return super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        actions = list(actions)
        self.counters["step"] += len(actions)
        return super().begin_multistep(actions, timeout)

    @override
    def fork(self) -> Self:
        self.counters["fork"] += 1
        return super().fork()
