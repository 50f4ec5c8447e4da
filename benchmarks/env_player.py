"""Plays through the Python environment, as users do."""

from collections.abc import Sequence

from typing_extensions import override

from benchmarks.player import Player, timed
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.service.connection import CompilerGymServiceConnection


class EnvPlayer(Player):
    """Plays through an :class:`LlvmEnv`.

    Args:
        connection: The service to use.
        observation: What each step observes, or None.
        reward: The reward of each step, or None.

    Attributes:
        changed: Whether the last actions changed the program.
    """

    def __init__(
        self,
        connection: CompilerGymServiceConnection,
        observation: str | None = None,
        reward: str | None = None,
    ):
        self.changed = False
        self._env = LlvmEnv(
            service=connection.endpoint,
            service_connection=connection,
            observation_space=observation,
            reward_space=reward,
        )

    @override
    def reset(self) -> float:
        return timed(self._env.reset)[0]

    @override
    def reset_to(self, benchmark: Benchmark) -> float:
        return timed(lambda: self._env.reset(benchmark=benchmark))[0]

    @override
    def play(self, actions: Sequence[int]) -> float:
        env = self._env
        if len(actions) == 1:
            action = actions[0]
            duration, (_, _, _, info) = timed(lambda: env.step(action))
        else:
            duration, (_, _, _, info) = timed(lambda: env.multistep(actions))
        if "error_type" in info:
            raise RuntimeError(
                f"{info['error_type']}: {info['error_details']}\nafter {env.commandline()}"
            )
        self.changed = not info["action_had_no_effect"]
        return duration

    @override
    def observe(self, observation: str) -> float:
        return timed(lambda: self._env.observation[observation])[0]

    @override
    def fork(self) -> float:
        duration, fork = timed(self._env.fork)
        fork.close()
        return duration

    def fork_and_step(self, action: int) -> float:
        """Forks, and makes a first step of the copy, which has to wait for the copy."""

        def play() -> LlvmEnv:
            fork = self._env.fork()
            fork.step(action)
            return fork

        duration, fork = timed(play)
        fork.close()
        return duration

    @override
    def close(self) -> None:
        self._env.close()
