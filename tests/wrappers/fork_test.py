import pytest

import compiler_gym
from compiler_gym.wrappers import ForkOnStep, TimeLimit, UndoLarger


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
        env.step(0)
        (before,) = env.stack
    assert not before.in_episode
    assert not env.in_episode


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


class TestUndoLarger:
    def test_larger_programs_are_undone(self, small):
        with UndoLarger(small) as env:
            env.reset(observation_space="IrSha1", reward_space="IrInstructionCount")
            mem2reg, reg2mem = env.action_space["mem2reg"], env.action_space["reg2mem"]
            smaller, *_, info = env.step(mem2reg)
            assert not info["undone"]
            observation, reward, done, info = env.step(reg2mem)
            assert (observation, reward, done, info["undone"]) == (smaller, 0, False, True)
            (named,), (reward,), _, _ = env.step(reg2mem, ["IrSha1"], ["IrInstructionCount"])
            assert (named, reward) == (smaller, 0)
            assert env.actions == [mem2reg]
            assert env.stack == []
            assert not env.step(mem2reg)[3]["undone"]  # As large as before.

    def test_another_cost(self, small):
        small.observation.add_derived_space(
            id="Removed", base_id="IrInstructionCount", translate=lambda count: -count
        )
        with UndoLarger(small, "Removed") as env:
            env.reset()
            undone = [env.step(env.action_space[name])[3]["undone"] for name in ("reg2mem", "dce")]
            assert undone == [False, True]

    def test_failed_steps_are_undone(self, small):
        class Ending(TimeLimit):
            def multistep(self, *args, **kwargs):
                observation, reward, _, info = super().multistep(*args, **kwargs)
                return observation, reward, True, {**info, "error_type": "SessionDied"}

        with UndoLarger(Ending(small, 9)) as env:
            env.reset()
            *_, info = env.step(env.action_space["mem2reg"])
            assert info["undone"]
            assert info["error_type"] == "SessionDied"
            assert env.actions == []

    def test_in_vector_environments(self, program):
        names = ["mem2reg", "reg2mem"]
        with compiler_gym.make_vec(
            "llvm-ic-v0", 2, wrappers=[UndoLarger], benchmarks=[program]
        ) as envs:
            envs.reset()
            envs.step(["mem2reg"] * 2)
            assert [*envs.step(names)[4]["undone"]] == [False, True]
            assert [len(env.compiler_env.actions) for env in envs.envs] == [2, 1]
            with pytest.raises(ValueError, match="not all in the range"):
                envs.step([10**6] * 2)
            assert [env.compiler_env.stack for env in envs.envs] == [[], []]
