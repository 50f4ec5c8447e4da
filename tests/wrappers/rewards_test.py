import math

import pytest

from compiler_gym.wrappers import BestSoFar, LogReward

COST = "IrInstructionCount"


def play(env, names):
    """The rewards of actions, and the costs from the start on."""
    env.reset()
    costs, rewards = [env.observation[COST]], []
    for name in names:
        rewards.append(env.step(env.action_space[name])[1])
        costs.append(env.observation[COST])
    return rewards, costs


def test_log_reward(small):
    env = LogReward(small)
    for _ in range(2):  # Nothing is left of the first episode.
        rewards, costs = play(env, ["mem2reg", "reg2mem", "mem2reg", "dce"])
        assert rewards == [math.log(costs[i] / costs[i + 1]) for i in range(4)]
        assert env.episode_reward == pytest.approx(math.log(costs[0] / costs[-1]))
        assert min(rewards) < 0 < max(rewards)


def test_rewards_of_the_best_state(small):
    env = BestSoFar(LogReward(small))
    for _ in range(2):
        rewards, costs = play(env, ["mem2reg", "reg2mem", "mem2reg", "simplifycfg"])
        assert rewards[1] == 0
        assert min(rewards) >= 0
        assert env.episode_reward == sum(rewards)
        assert sum(rewards) == pytest.approx(math.log(costs[0] / min(costs)))


def test_a_cost_of_zero_counts_as_one(small):
    small.observation.add_derived_space(id="Zero", base_id=COST, translate=lambda count: 0)
    assert play(LogReward(small, "Zero"), ["mem2reg"])[0] == [0]
