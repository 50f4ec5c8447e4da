import pytest

from compiler_gym.wrappers import ForkOnStep


def test_undo(small):
    env = ForkOnStep(small)
    env.observation_space = "IrSha1"
    env.reward_space = "IrInstructionCount"
    hashes = [env.reset()]
    for name in ("mem2reg", "instcombine", "simplifycfg"):
        hashes.append(env.step(env.action_space[name])[0])
    assert len(env.stack) == 3
    for i in (2, 1, 0):
        assert env.undo() is env
        assert env.observation["IrSha1"] == hashes[i]
        assert len(env.actions) == len(env.stack) == i
    assert env.episode_reward == 0
    assert env.undo().actions == []
    assert env.step(env.action_space["mem2reg"])[0] == hashes[1]
    env.close()


def test_reset(small, program):
    with ForkOnStep(small) as env:
        assert env.reset(program, observation_space="IrInstructionCount") > 0
        env.step(0)
        (before,) = env.stack
        env.reset()
        assert env.stack == []
        assert not before.in_episode


def test_close(small):
    env = ForkOnStep(small)
    env.reset()
    env.step(0)
    (before,) = env.stack
    env.close()
    assert not before.in_episode
    assert not env.in_episode
    assert env.stack == []


def test_refused_action_is_no_step(small):
    with ForkOnStep(small) as env:
        env.reset()
        with pytest.raises(ValueError, match="action"):
            env.step(10**6)
        assert env.stack == []


def test_fork(small):
    with ForkOnStep(small) as env:
        env.reset()
        env.step(0)
        env.step(1)
        with env.fork() as fork:
            assert len(fork.stack) == 2
            fork.undo()
            fork.undo()
            assert fork.actions == []
            assert env.actions == [0, 1]
            assert env.undo().actions == [0]
