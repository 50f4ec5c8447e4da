"""Tests of the text form of environments, and of ``render()``."""

import gymnasium
import pytest

import compiler_gym
from compiler_gym.errors import SessionNotFound
from compiler_gym.wrappers import TimeLimit

SHA256 = "benchmark://kernels-v0/sha256"


@pytest.fixture(name="env")
def fixture_env():
    with compiler_gym.make("llvm-ic-v0") as env:
        yield env


def test_repr_of_an_episode(env):
    assert repr(env) == str(env) == "<llvm-ic-v0: not reset yet>"
    env.reset()
    assert repr(env) == f"<llvm-ic-v0: {SHA256}, 0 actions>"
    env.step("sroa")
    count, oz = env.observation.observe(["IrInstructionCount", "IrInstructionCountOz"])
    costs = f"IrInstructionCount {count}, {count / oz:.1%} of -Oz ({oz})"
    assert repr(env) == f"<llvm-ic-v0: {SHA256}, 1 action, {costs}>"
    with env.fork() as fork:
        assert repr(fork) == repr(env)
    assert repr(fork) == "<llvm-ic-v0: closed after 1 action>"
    # What was known before is not said of another state.
    env.multistep([env.action_space["gvn"]], reward_spaces=[])
    assert repr(env) == f"<llvm-ic-v0: {SHA256}, 2 actions>"
    env.step("instcombine")
    assert "IrInstructionCount " in repr(env)
    env.reset(benchmark="benchmark://kernels-v0/json")
    assert repr(env) == "<llvm-ic-v0: benchmark://kernels-v0/json, 0 actions>"
    env.close()
    assert repr(env) == "<llvm-ic-v0: closed after 0 actions>"


def test_repr_of_other_rewards(env):
    env.reset(reward_space="IrInstructionCount")
    env.step("sroa")
    count = env.observation["IrInstructionCount"]
    assert repr(env).endswith(f", 1 action, IrInstructionCount {count}>")
    env.reward_space = None
    assert repr(env).endswith(", 1 action>")


def test_repr_computes_nothing(env, monkeypatch):
    env.reset()
    env.step("sroa")

    def fail(*args, **kwargs):
        raise AssertionError("Something is computed")

    monkeypatch.setattr(type(env.service), "__call__", fail)
    monkeypatch.setattr(type(env), "raw_step", fail)
    monkeypatch.setattr(type(env._sessions.session), "step", fail)
    assert "IrInstructionCount" in repr(env)
    monkeypatch.undo()


def test_repr_of_wrappers(env):
    env.reset()
    inner = f"<llvm-ic-v0: {SHA256}, 0 actions>"
    assert repr(TimeLimit(env, 3)) == f"TimeLimit({inner})"
    with gymnasium.make("llvm-ic-v0") as adapter:
        assert repr(adapter) == str(adapter) == "<GymnasiumEnv<llvm-ic-v0: not reset yet>>"
        adapter.reset()
        assert repr(adapter) == f"<GymnasiumEnv{inner}>"


def test_summary(env, capsys):
    with pytest.raises(SessionNotFound):
        env.render("summary")
    env.reset()
    env.step("sroa")
    assert env.render("summary") is None
    program, heading, instructions, size, actions, reward = capsys.readouterr().out.splitlines()
    assert program == SHA256
    assert heading.split() == ["now", "-O0", "-Oz", "of", "-Oz"]
    names = ["IrInstructionCount", "IrInstructionCountO0", "IrInstructionCountOz"]
    counts = env.observation.observe(names)
    assert instructions.split() == [
        "instructions",
        *map(str, counts),
        f"{counts[0] / counts[2]:.1%}",
    ]
    assert size.split()[3] == str(env.observation["ObjectTextSizeBytes"])
    assert actions == "1 action, the last function(sroa)"
    assert reward == f"IrInstructionCountOz {env.episode_reward:.4f}"


def test_diff_to_the_step_before(env, capsys):
    with pytest.raises(SessionNotFound):
        env.render("diff")
    env.reset()
    env.render("diff")
    assert capsys.readouterr().out == "No step yet\n"
    env.multistep([env.action_space["sroa"], env.action_space["simplifycfg"]])
    before = env.ir
    env.render("diff")  # A step of two actions.
    assert "-  %old3 = alloca" in capsys.readouterr().out
    env.step("reassociate")
    after = env.ir
    env.render("diff")
    lines = capsys.readouterr().out.splitlines()
    removed = [line[1:] for line in lines[2:] if line.startswith("-")]
    added = [line[1:] for line in lines[2:] if line.startswith("+")]
    assert removed and set(added) <= set(after.splitlines())
    # A pass that swaps operands is seen to do so: nothing else is listed.
    assert len(removed) < 0.1 * len(before.splitlines())
    assert env.ir == after
    env.step("reassociate")
    env.render("diff")
    assert capsys.readouterr().out == "No difference\n"


def test_modes_of_gymnasium(capsys):
    modes = {"summary": "instructions", "human": "of -Oz", "diff": "-  %old3 = alloca"}
    for mode, expected in modes.items():
        with gymnasium.make("llvm-ic-v0", render_mode=mode) as env:
            env.reset()
            env.step(env.unwrapped.action_space["sroa"])
            assert env.render() is None
            assert expected in capsys.readouterr().out
    with pytest.raises(ValueError, match="human, ansi, summary, diff"):
        gymnasium.make("llvm-ic-v0", render_mode="hologram")
