import re

import pytest

from compiler_gym.envs.llvm.llvm_rewards import CLEAR_CHANGE, make_llvm_rewards
from compiler_gym.views import ObservationView

NAMES = [reward.name for reward in make_llvm_rewards()]
PASSES = ["mem2reg", "simplifycfg", "inline", "instcombine", "globaldce"]


@pytest.mark.parametrize("name", NAMES)
def test_rewards_add_up_to_the_total_reduction(env, name):
    env.reset(reward_space=name)
    cost, norm_name = re.fullmatch("(.*?)(|Bytes|Norm|O3|Oz)", name).groups()
    unoptimised = env.observation[f"{cost}O0"]
    for action in PASSES:
        env.step(env.action_space[action])
    gain = unoptimised - env.observation[f"{cost}Bytes" if "TextSize" in cost else cost]
    norm = 1
    if norm_name == "Norm":
        norm = unoptimised
    elif norm_name in ("O3", "Oz"):
        change = abs(unoptimised - env.observation[name])
        norm = max(change, CLEAR_CHANGE * unoptimised)
    assert env.episode_reward == pytest.approx(gain / norm)


def test_several_rewards_in_one_step(env):
    env.reset()
    _, rewards, _, _ = env.step(
        env.action_space["mem2reg"], reward_spaces=["IrInstructionCount", "IrInstructionCountNorm"]
    )
    assert rewards[0] > 0
    assert rewards[1] == pytest.approx(rewards[0] / env.observation["IrInstructionCountO0"])


def test_another_view_of_observations_changes_no_reward(env):
    env.reset(reward_space="IrInstructionCountOz")
    view = env.observation
    env.observation = ObservationView(view._raw_step, view.spaces.values())
    _, reward, _, info = env.step(env.action_space["mem2reg"])
    assert reward > 0, info
