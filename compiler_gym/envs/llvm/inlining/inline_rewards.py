"""The rewards of the inlining environment: what decisions save, compared with LLVM's own."""

from typing import Any

from compiler_gym.envs.llvm.rewards.cost_rewards import CostFunctionReward, NormalizedReward
from compiler_gym.spaces import Reward

# What LLVM's own decisions lead to, for each cost. That is where an episode begins.
_COSTS = {
    "ObjectTextSizeBytes": "ObjectTextSizeOz",
    "IrInstructionCount": "IrInstructionCountDefault",
}


def make_inline_rewards() -> list[Reward]:
    """Makes four rewards: for bytes of code and for IR instructions, the reduction and its share.

    ``ObjectTextSizeBytes`` and ``IrInstructionCount`` are what a step saves.
    ``ObjectTextSizeNorm`` and ``IrInstructionCountNorm`` are that as a share of what LLVM's own
    decisions lead to, so that the rewards of an episode add up to what is saved of ``clang -Oz``.
    """
    rewards: list[Reward] = []
    for cost, default in _COSTS.items():
        common: dict[str, Any] = {
            "cost_function": cost,
            "init_cost_function": default,
            "default_negates_returns": True,
            "deterministic": True,
            "platform_dependent": cost == "ObjectTextSizeBytes",
        }
        rewards.append(CostFunctionReward(name=cost, **common))
        prefix = cost.removesuffix("Bytes")
        rewards.append(NormalizedReward(name=f"{prefix}Norm", max=1, **common))
    return rewards
