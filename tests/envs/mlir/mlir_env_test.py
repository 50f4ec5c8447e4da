import gymnasium
import numpy as np
import pytest

import compiler_gym
from compiler_gym.envs.mlir import MlirEnv, mlir_env
from compiler_gym.errors import EnvironmentNotSupported
from tests.envs.mlir.kernels import MATMUL

VECTORIZED = [
    "tile<0,4>",
    "tile<1,16>",
    "tile<2,4>",
    "canonicalize",
    "vectorize",
    "vector-contract",
    "canonicalize",
    "vector-hoist",
    "lower-contract<outerproduct>",
]


@pytest.fixture(scope="module")
def shared_env():
    with MlirEnv(benchmark=MATMUL) as env:
        yield env


@pytest.fixture
def env(shared_env):
    shared_env.reset(benchmark=MATMUL)
    return shared_env


def play(env, names):
    return env.multistep([env.action_space[name] for name in names])


def test_is_known_to_be_nondeterministic():
    assert gymnasium.spec("mlir-v0").nondeterministic  # Its reward is made of measured times.
    assert not gymnasium.spec("llvm-v0").nondeterministic


def test_make():
    with compiler_gym.make("mlir-v0") as env:
        env.reset()
        assert str(env.benchmark) == "benchmark://mlir-kernels-v0/matmul-256"
        assert env.observation_space is None
        assert env.compiler_version.startswith("22.")


def test_gymnasium():
    env = gymnasium.make("mlir-v0", benchmark=MATMUL)
    observation, _ = env.reset()
    assert env.observation_space.contains(observation)
    observation, reward, terminated, truncated, _ = env.step(0)
    assert env.observation_space.contains(observation)
    assert np.isfinite(reward)
    assert not terminated
    assert not truncated
    env.close()


def test_render(env, capsys):
    env.render()
    assert capsys.readouterr().out == f"{env.ir}\n"
    assert env.render("ansi") == env.ir
    with pytest.raises(ValueError, match="pdf"):
        env.render("pdf")


def test_no_effect(env):
    _, _, done, info = env.step(env.action_space["tile<6,8>"])
    assert not done
    assert info["action_had_no_effect"]
    assert not env.step(env.action_space["tile<2,8>"])[3]["action_had_no_effect"]
    assert env.step(env.action_space["vectorize"])[3]["action_had_no_effect"]


def test_vectorized(env):
    play(env, VECTORIZED)
    assert "vector.fma" in env.ir or "vector.outerproduct" in env.ir
    assert env.observation["OpCounts"]["linalg"] == 0
    assert env.observation["OpCounts"]["vector"] > 0
    assert env.observation["IsCorrect"]
    assert "x float>" in env.observation["LlvmIr"]
    assert env.observation["ObjectSizeBytes"] > 500


def test_loop_nest(env):
    start = env.observation["LoopNest"]
    assert start.tolist()[:5] == [0, 0, 0, 1, 32**3]
    assert start.tolist()[18:] == [32, 32, 32, 0, 0, 0]
    play(env, ["tile<0,4>", "tile<2,8>", "canonicalize"])
    nest = env.observation["LoopNest"].tolist()
    assert nest[:5] == [2, 2, 1, 1, 4 * 32 * 8]
    assert nest[12:18] == [8, 4, 0, 0, 0, 0]
    assert nest[18:] == [4, 32, 8, 0, 0, 0]


def test_runtime(env):
    env.runtime_observation_count = 5
    assert env.observation["Runtime"].shape == (5,)
    assert (env.observation["RuntimeOfStart"] > 0).all()
    env.runtime_observation_count = 1
    with pytest.raises(ValueError, match="at least 1"):
        env.runtime_observation_count = 0
    env.runtime_warmup_runs_count = 0
    assert env.observation["Runtime"].shape == (1,)


def test_rewards_add_up_to_the_speedup(env):
    env.reset(reward_space="SpeedUp")
    play(env, VECTORIZED)
    env.step(env.action_space["cse"])
    reward = env.reward.spaces["SpeedUp"]
    assert env.episode_reward == pytest.approx(reward.previous_speedup - 1)
    env.reward_space = None


def test_validation():
    with MlirEnv() as env:
        env.reset()
        play(env, VECTORIZED)
        assert env.validate().okay()


def test_machine_without_mlir(monkeypatch):
    def find(name, package):
        raise EnvironmentNotSupported("none")

    monkeypatch.setattr(mlir_env, "find_service_binary", find)
    with pytest.raises(EnvironmentNotSupported, match="none"):
        MlirEnv()
