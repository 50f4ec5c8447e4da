import gymnasium
import pytest

import compiler_gym

EPISODES = {
    "llvm-v0": (None, None),
    "llvm-ic-v0": (None, "IrInstructionCountOz"),
    "llvm-codesize-v0": (None, "ObjectTextSizeOz"),
    "llvm-autophase-ic-v0": ("Autophase", "IrInstructionCountOz"),
    "llvm-autophase-codesize-v0": ("Autophase", "ObjectTextSizeOz"),
    "llvm-ir-ic-v0": ("Ir", "IrInstructionCountOz"),
    "llvm-ir-codesize-v0": ("Ir", "ObjectTextSizeOz"),
    "llvm-inline-v0": ("InlineFeatures", "ObjectTextSizeNorm"),
    "llvm-regalloc-v0": ("EvictionFeatures", "ObjectTextSizeNorm"),
    "llvm-inline-regalloc-v0": ("DecisionFeatures", "ObjectTextSizeNorm"),
}


def test_ids():
    ids = [id for id in compiler_gym.COMPILER_GYM_ENVS if id.startswith("llvm-")]
    assert sorted(ids) == sorted(EPISODES)


@pytest.mark.parametrize("id", EPISODES)
def test_spaces(id):
    observation, reward = EPISODES[id]
    with compiler_gym.make(id) as env:
        spec = env.observation_space_spec
        assert (spec.id if spec else None) == observation
        assert (env.reward_space.name if env.reward_space else None) == reward


def test_one_episode():
    with compiler_gym.make("llvm-autophase-ic-v0") as env:
        assert env.observation_space.contains(env.reset())
        observation, reward, done, info = env.step(env.action_space["mem2reg"])
        assert env.observation_space.contains(observation)
        assert reward > 0
        assert not done
        assert not info["action_had_no_effect"]


def test_gymnasium():
    env = gymnasium.make("llvm-autophase-ic-v0")
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert len(env.step(env.action_space.sample())) == 5
    env.close()
