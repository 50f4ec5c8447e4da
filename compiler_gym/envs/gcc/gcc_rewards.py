"""The rewards of the GCC environment: the bytes that a step saves."""

from compiler_gym.envs.llvm.rewards.cost_rewards import CostFunctionReward
from compiler_gym.spaces import Reward


def make_gcc_rewards() -> list[Reward]:
    """Makes ``asm_size`` and ``obj_size``: the size before a step less the size after it, in bytes.

    The first step of an episode is compared with ``-O0``, which is what GCC does without options.
    """
    return [
        CostFunctionReward(
            name=name,
            cost_function=name,
            init_cost_function=f"{name}_O0",
            default_value=0,
            default_negates_returns=True,
            deterministic=True,
            platform_dependent=True,
        )
        for name in ("asm_size", "obj_size")
    ]
