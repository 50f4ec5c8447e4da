"""Environments whose actions are decisions inside a pass of LLVM."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from compiler_gym.envs.compiler_env import StepResult
from compiler_gym.envs.llvm.llvm_command_line import LlvmCommandline
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.llvm.llvm_rewards import CostFunctionReward, NormalizedReward
from compiler_gym.envs.running_step import ConvertedStep, RunningStep
from compiler_gym.service.proto import ActionSpace
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import TIMEOUT


def make_game_rewards(costs: Mapping[str, str]) -> list[Reward]:
    """Makes two rewards for each cost: the saving of a step, and its share.

    The share is of what LLVM's own decisions cost, with which an episode begins. Rewards of an
    episode add up to what is saved of ``clang -Oz``. Their names are those of the costs, and the
    same with ``Norm`` in place of ``Bytes``.

    Args:
        costs: The observation of each cost, and that of the cost of LLVM's own decisions.
    """
    rewards: list[Reward] = []
    for cost, default in costs.items():
        common: dict[str, Any] = {
            "cost_function": cost,
            "init_cost_function": default,
            "default_negates_returns": True,
            "deterministic": True,
            "platform_dependent": cost != "IrInstructionCount",
        }
        rewards.append(CostFunctionReward(name=cost, **common))
        prefix = cost.removesuffix("Bytes")
        rewards.append(NormalizedReward(name=f"{prefix}Norm", max=1, **common))
    return rewards


class GameEnv(LlvmEnv):
    """An environment whose actions are decisions of one part of LLVM.

    The result of each step has ``info["action_mask"]``, the value of :meth:`action_masks`.

    Args:
        *args: Arguments of :class:`LlvmEnv`.
        game: The name of the game in ``llvm_service/games/Games.def``. By default that of the
            class.
        **kwargs: As ``*args``.

    Raises:
        ValueError: If no game is named, or a running service is given that plays another game.
        Exception: Any error of :class:`LlvmEnv`.
    """

    game: str = ""
    """The name of the game."""

    action_space_names: ClassVar[tuple[str, ...]] = ()
    """The action spaces of a service that plays the game; empty if they are not checked."""

    def __init__(self, *args: Any, game: str = "", **kwargs: Any):
        self.game = game or self.game
        if not self.game:
            raise ValueError('expected the name of a game, such as game="inlining"')
        self.service_options = (f"--game={self.game}",)
        super().__init__(*args, **kwargs)

    @override
    @classmethod
    def _make_action_space(cls, proto: ActionSpace) -> LlvmCommandline:
        if cls.action_space_names and proto.name not in cls.action_space_names:
            raise ValueError(
                "The service is for another environment. Start it with the option "
                f"--game={cls.game}"
            )
        return super()._make_action_space(proto)

    @override
    def _default_action_space(self) -> None:
        return None  # The variable for the default is about passes.

    def action_masks(self) -> np.ndarray:
        """Returns the actions that can be taken, as bool[n]: all, unless the class knows better.

        Raises:
            SessionNotFound: If there is no episode.
        """
        self._require_episode()
        return np.ones(len(self.action_space.names), dtype=bool)

    @override
    def write_input(self, path: str | Path) -> Path:
        """Writes the program that the decisions are about, as bitcode.

        Returns:
            The path.

        Raises:
            SessionNotFound: If there is no episode.
            OSError: If the file cannot be written.
        """
        path = Path(path).expanduser()
        path.write_bytes(self.observation["BitcodeInput"].tobytes())
        return path

    @override
    def step(self, *args: Any, **kwargs: Any) -> StepResult:
        return self._with_mask(super().step(*args, **kwargs))

    @override
    def multistep(self, *args: Any, **kwargs: Any) -> StepResult:
        return self._with_mask(super().multistep(*args, **kwargs))

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        return ConvertedStep(super().begin_multistep(actions, timeout), self._with_mask)

    def _with_mask(self, result: StepResult) -> StepResult:
        observation, reward, done, info = result
        if "error_type" not in info:
            info["action_mask"] = self.action_masks()
        return observation, reward, done, info
