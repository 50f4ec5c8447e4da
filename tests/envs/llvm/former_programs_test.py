"""Tests of programs that were written for the LLVM environment of former releases.

These programs use the 124 actions of those releases.
"""

import numpy as np
import pytest

import compiler_gym
from compiler_gym.envs import LlvmEnv


@pytest.fixture
def env(shared_env):
    with compiler_gym.make(
        "llvm-autophase-ic-v0",
        action_space="Legacy124",
        benchmark="benchmark://kernels-v0/json",
        service_connection=shared_env.service,
    ) as env:
        yield env


def test_a_fixed_list_of_passes(env: LlvmEnv):
    """Actor-critic: 15 passes, looked up once, as the actions of an agent."""
    flags = [
        "-break-crit-edges",
        "-early-cse-memssa",
        "-gvn-hoist",
        "-gvn",
        "-instcombine",
        "-instsimplify",
        "-jump-threading",
        "-loop-reduce",
        "-loop-rotate",
        "-loop-versioning",
        "-mem2reg",
        "-newgvn",
        "-reg2mem",
        "-simplifycfg",
        "-sroa",
    ]
    choices = [env.action_space.flags.index(flag) for flag in flags]
    assert [env.action_space.names[choice] for choice in choices] == flags
    env.reset()
    total = 0
    for action in choices:
        observation, reward, done, _ = env.step(action)
        assert observation.shape == (56,)
        assert not done
        total += reward
    assert env.episode_reward == pytest.approx(total)
    assert total > 0


def test_states_and_command_lines(env: LlvmEnv, tmp_path):
    """Random walk and random replay."""
    env.reset()
    env.action_space.seed(3)
    while len(env.actions) < 5:
        env.step(env.action_space.sample())
    state = env.state
    assert env.commandline() == env.action_space.commandline(env.actions) == state.commandline
    commandline = env.commandline(textformat=True)
    assert commandline.endswith("input.ll -S -o output.ll")
    env.write_bitcode(tmp_path / "optimized.bc")
    env.write_ir(tmp_path / "optimized.ll")
    env.reset()
    env.multistep(env.commandline_to_actions(state.commandline))
    assert env.state == state
    assert env.validate(state).okay()


def test_statements_embedded_by_hand(env: LlvmEnv):
    """The three steps of the ``Inst2vec`` observation, one by one."""
    env.reset()
    encoder = env.inst2vec
    statements = encoder.preprocess(env.observation["Ir"])
    encoded = encoder.encode(statements)
    embedded = encoder.embed(encoded)
    assert embedded.shape == (len(statements), 200)
    np.testing.assert_array_equal(encoded, env.observation["Inst2vecEmbeddingIndices"])
    np.testing.assert_array_equal(embedded, env.observation["Inst2vec"])
    unknown = encoder.vocab["!UNK"]
    np.testing.assert_array_equal(encoder.embeddings[unknown], encoder.embed([unknown])[0])
