import pytest

ACTIONS = ("mem2reg", "simplifycfg", "instcombine", "gvn", "dce")


@pytest.mark.parametrize("dataset", ["generator://csmith-v0", "generator://llvm-stress-v0"])
def test_episodes(env, dataset):
    assert dataset in env.datasets
    for seed in range(2):
        env.reset(benchmark=f"{dataset}/{seed}")
        before = env.observation["IrInstructionCount"]
        env.multistep([env.action_space[action] for action in ACTIONS])
        assert 0 < env.observation["IrInstructionCount"] < before
        assert str(env.benchmark) == f"{dataset}/{seed}"


def test_csmith_programs_are_validated_and_timed(env):
    env.reset(benchmark="generator://csmith-v0/5")
    env.multistep([env.action_space[action] for action in ACTIONS])
    assert env.validate().okay()
    env.runtime_observation_count = 1
    assert len(env.observation["Runtime"]) == 1
