import pytest

from compiler_gym.envs.llvm.llvm_rewards import CLEAR_CHANGE, make_llvm_rewards

NAMES = [reward.name for reward in make_llvm_rewards()]
PASSES = ["mem2reg", "simplifycfg", "inline", "instcombine", "globaldce"]


def cost_of(env, name):
    """The present value of the cost that a reward is about."""
    return env.observation[env.reward.spaces[name].observation_spaces[0]]


@pytest.mark.parametrize("name", NAMES)
def test_rewards_add_up_to_the_total_reduction(env, name):
    env.reset(reward_space=name)
    reward = env.reward.spaces[name]
    unoptimised = env.observation[reward.init_cost_function]
    for action in PASSES:
        env.step(env.action_space[action])
    gain = unoptimised - cost_of(env, name)
    norm = 1
    if name.endswith("Norm"):
        norm = unoptimised
    elif name.endswith(("O3", "Oz")):
        change = abs(unoptimised - env.observation[reward.baseline_cost_function])
        norm = max(change, CLEAR_CHANGE * unoptimised)
    assert env.episode_reward == pytest.approx(gain / norm)


@pytest.mark.parametrize("name", NAMES)
def test_first_reward_in_the_middle_of_an_episode(env, name):
    env.reset(reward_space=name)
    for action in PASSES:
        env.step(env.action_space[action])
    expected = env.episode_reward
    env.reset(reward_space=None)
    env.multistep([env.action_space[action] for action in PASSES])
    assert env.reward[name] == pytest.approx(expected)


def test_several_rewards_in_one_step(env):
    env.reset()
    _, rewards, _, _ = env.step(
        env.action_space["mem2reg"], reward_spaces=["IrInstructionCount", "IrInstructionCountNorm"]
    )
    assert rewards[0] > 0
    assert rewards[1] == pytest.approx(rewards[0] / env.observation["IrInstructionCountO0"])


def test_rewards_of_a_fork_go_on(env):
    env.reset(reward_space="IrInstructionCountOz")
    env.step(env.action_space["mem2reg"])
    with env.fork() as fork:
        action = env.action_space["simplifycfg"]
        assert fork.step(action)[1] == env.step(action)[1]
        assert fork.episode_reward == env.episode_reward


def test_action_without_effect_has_no_reward(env):
    env.reset(reward_space="IrInstructionCountOz")
    env.step(env.action_space["mem2reg"])
    _, reward, _, info = env.step(env.action_space["mem2reg"])
    assert info["action_had_no_effect"]
    assert reward == 0


def test_reward_of_another_benchmark(env, small):
    """Results for the first program must not be used for the second."""
    env.reset(benchmark="benchmark://kernels-v0/sha256", reward_space="IrInstructionCountNorm")
    env.step(env.action_space["mem2reg"])
    env.reset(benchmark=small)
    unoptimised = env.observation["IrInstructionCount"]
    _, reward, _, _ = env.step(env.action_space["mem2reg"])
    reduction = unoptimised - env.observation["IrInstructionCount"]
    assert reward == pytest.approx(reduction / unoptimised)
