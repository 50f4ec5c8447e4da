"""The public interface from end to end, in little time.

Needs nothing but the installed package and pytest: ``tools/test_versions.sh`` runs it with the
lowest and the highest versions of the libraries that the package says it works with.
"""

import json
import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import compiler_gym
from compiler_gym import CompilerEnvStateReader, CompilerEnvStateWriter
from compiler_gym.envs.llvm import make_benchmark_from_source
from compiler_gym.service.proto import Event, Space
from compiler_gym.service.proto.py_converters import (
    event_to_value,
    space_from_proto,
    space_to_proto,
    value_to_event,
)
from compiler_gym.spaces import Box, Commandline, CommandlineFlag, Dict, Discrete, Reward, Scalar
from compiler_gym.wrappers import AutophaseNorm, ConstrainedCommandline, TimeLimit

FFT = "benchmark://kernels-v0/fft"
# What takes long, needs a file that has to be downloaded, or measures the machine.
SKIPPED = ("Buildtime", "Inst2vec", "Ir2vec", "Runtime")


@pytest.fixture(scope="module")
def env():
    with compiler_gym.make(
        "llvm-v0", benchmark=FFT, observation_space="Autophase", reward_space="IrInstructionCountOz"
    ) as env:
        yield env


def test_episode(env):
    observation = env.reset()
    assert observation.shape == (56,) and observation.dtype == np.int64
    assert env.observation_space.contains(observation)
    observation, reward, done, info = env.step(env.action_space["mem2reg"])
    assert reward > 0 and not done and not info["action_had_no_effect"]
    _, further, done, _ = env.multistep([env.action_space["gvn"], env.action_space["dce"]])
    assert not done
    assert env.episode_reward == pytest.approx(reward + further)
    assert len(env.actions) == 3
    assert env.commandline().startswith("opt ")
    assert env.commandline_to_actions(env.commandline()) == env.actions


def test_every_observation_is_in_its_space(env):
    env.reset()
    names = [name for name in env.observation.spaces if not name.startswith(SKIPPED)]
    assert len(names) > 25
    for name in names:
        assert env.observation.spaces[name].space.contains(env.observation[name]), name


def test_every_reward(env):
    env.reset()
    for name in env.reward.spaces:
        if "TextSize" not in name or name.startswith("Object"):
            assert isinstance(env.reward[name], float), name


def test_forks_states_and_files(env, tmp_path):
    env.reset()
    env.step("mem2reg")
    with env.fork() as fork:
        fork.step("gvn")
        assert len(fork.actions) == 2 and len(env.actions) == 1
    assert env.validate().okay()
    path = tmp_path / "states.csv"
    with CompilerEnvStateWriter(path.open("w")) as writer:
        writer.write_state(env.state)
    (state,) = CompilerEnvStateReader.read_paths([path])
    assert state == env.state
    assert pickle.loads(pickle.dumps(state)) == state
    assert env.write_bitcode(tmp_path / "program.bc").stat().st_size > 1000


def test_own_program_and_reward(env):
    class Blocks(Reward):
        def reset(self, benchmark, observation_view):
            self.blocks = observation_view["InstCountDict"]["TotalBlocksCount"]

        def update(self, actions, observations, observation_view):
            before, self.blocks = self.blocks, observations[0]["TotalBlocksCount"]
            return float(before - self.blocks)

    env.reward.add_space(Blocks(name="Blocks", observation_spaces=["InstCountDict"]))
    source = "int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }"
    env.reset(benchmark=make_benchmark_from_source(source, lang="c"))
    _, (blocks,), _, _ = env.step("simplifycfg", reward_spaces=["Blocks"])
    assert blocks >= 0
    env.reset(benchmark=FFT)


def test_messages():
    values = [
        *(7, 0.5, True, "text", {"a": [1, 2.5]}),
        *(np.arange(3), np.zeros((2, 2)), np.array(["a", "b"]), np.array([True])),
    ]
    for value in values:
        event = Event.FromString(value_to_event(value).SerializeToString())
        assert np.array_equal(event_to_value(event), value), value
    spaces = [
        Scalar("s", 0, 5, np.int64),
        Box(0, 1, "b", shape=(2, 3), dtype=np.float64),
        Discrete(4, "d"),
        Dict({"x": Discrete(2), "y": Box(-1, 1, shape=(1,), dtype=np.float32)}, "t"),
        Commandline([CommandlineFlag("a", "-a", "A")], "c"),
    ]
    for space in spaces:
        message = Space.FromString(space_to_proto(space).SerializeToString())
        assert space_from_proto(message, space.name) == space
        space.seed(0)
        assert space.contains(space.sample())
        assert json.dumps(space.to_jsonable([space.sample()]))


@pytest.mark.filterwarnings("ignore:.*precision lowered by casting")
def test_gymnasium():
    env = gymnasium.make("llvm-autophase-ic-v0", benchmark=FFT, max_episode_steps=3)
    check_env(env.unwrapped, skip_render_check=True)
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.wrappers.FlattenObservation(env))
    observation, info = env.reset(seed=1)
    for _ in range(3):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    assert np.isfinite(reward) and not terminated
    assert truncated and info["episode"]["l"] == 3
    assert env.observation_space.contains(observation)
    env.close()


def test_vector_environment():
    with compiler_gym.make_vec("llvm-autophase-ic-v0", 3, benchmark=FFT) as envs:
        observations, _ = envs.reset(seed=0)
        assert observations.shape == (3, 56)
        envs.action_space.seed(0)
        for _ in range(3):
            observations, rewards, terminations, truncations, _ = envs.step(
                envs.action_space.sample()
            )
        assert rewards.shape == terminations.shape == truncations.shape == (3,)


def test_wrappers(env):
    wrapped = TimeLimit(
        AutophaseNorm(ConstrainedCommandline(env, ["mem2reg", "gvn"])), max_episode_steps=2
    )
    observation = wrapped.reset()
    assert observation.dtype == np.float32
    assert wrapped.observation_space.contains(observation)
    assert not wrapped.step(0)[2]
    _, _, done, info = wrapped.step(1)
    assert done and info["TimeLimit.truncated"]
    assert wrapped.actions == [0, 1]


def test_by_grpc_alone(monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_DIRECT_CHANNEL", "0")
    with compiler_gym.make("llvm-ic-v0", benchmark=FFT) as env:
        env.reset()
        assert env.step("mem2reg")[1] > 0
        with pytest.raises(LookupError, match="no_such_observation"):
            _ = env.observation["no_such_observation"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["observe", "fft", "IrInstructionCount"], "3862"),
        (["replay", "--program", "fft", "sroa", "--json"], '"steps":'),
        (["describe", "llvm-v0", "rewards"], "IrInstructionCountOz"),
        *([[name, "--help"], "Usage:"] for name in ("search", "shell", "datasets", "validate")),
    ],
)
def test_command_line(arguments, expected):
    command = [sys.executable, "-m", "compiler_gym", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


def test_random_search(tmp_path):
    env = compiler_gym.random_search(
        lambda: compiler_gym.make("llvm-ic-v0", benchmark=FFT),
        outdir=tmp_path,
        total_runtime=2,
        patience=5,
        nproc=1,
    )
    with env:
        assert env.in_episode
    assert json.loads((tmp_path / "random_search.json").read_text())["benchmark"] == FFT
