"""Tests of programs that were written for the LLVM environment of former releases.

These programs use the 124 actions of those releases.
"""

from itertools import islice

import numpy as np
import pytest

import compiler_gym
from compiler_gym.datasets import Benchmark, Dataset, Datasets
from compiler_gym.envs import LlvmEnv
from compiler_gym.envs.llvm.datasets import get_llvm_datasets
from compiler_gym.spaces import Commandline, Dict, Discrete, NamedDiscrete, Tuple


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


def test_a_greedy_search(env: LlvmEnv):
    """Tries each of some actions in a fork, and keeps the best."""

    def evaluate(flag):
        with env.fork() as fork:
            return fork.step(fork.action_space.flags.index(flag))[1], flag

    env.reset()
    for _ in range(3):
        reward, flag = max(map(evaluate, ["-mem2reg", "-gvn", "-simplifycfg", "-instcombine"]))
        if reward <= 0:
            break
        env.step(flag)
    assert env.episode_reward > 0
    assert len(env.actions) == 3


def test_exploring_by_hash(env: LlvmEnv):
    """Explore: which sequences of two passes make the same program."""
    env.reset()
    states: dict[str, list[int]] = {}
    actions = [env.action_space[name] for name in ("-dce", "-die", "-mem2reg", "-sroa")]
    for first in actions:
        for second in actions:
            with env.fork() as fork:
                fork.multistep([first, second])
                states.setdefault(fork.observation["IrSha1"], []).append((first, second))
    assert 1 < len(states) < 16
    assert sum(map(len, states.values())) == 16


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


def test_datasets(env: LlvmEnv, tmp_path):
    assert isinstance(env.datasets, Datasets)
    names = [dataset.name for dataset in env.datasets]
    assert "benchmark://cbench-v1" in names
    assert names == [dataset.name for dataset in Datasets(get_llvm_datasets(tmp_path))]
    dataset = env.datasets["benchmark://kernels-v0"]
    assert isinstance(dataset, Dataset)
    assert len(dataset) == dataset.size == len(list(dataset.benchmark_uris()))
    first = next(dataset.benchmarks())
    assert isinstance(first, Benchmark)
    assert env.datasets.benchmark(str(first)) == first
    env.reset(benchmark=dataset.random_benchmark(np.random.default_rng(1)))
    assert str(env.benchmark).startswith("benchmark://kernels-v0/")
    uris = list(islice(env.datasets.benchmark_uris(installed_only=True), 3))
    # One after the other of each: the generators have no end.
    assert uris[0].startswith("benchmark://kernels-v0/")
    assert len({uri.rpartition("/")[0] for uri in uris}) == 3
    assert all(env.datasets[uri.rpartition("/")[0]].installed for uri in uris)
    with pytest.raises(LookupError):
        env.benchmark = "benchmark://kernels-v0/not-a-program"


def test_kinds_of_spaces(env: LlvmEnv):
    assert isinstance(env.action_space, Commandline)
    assert isinstance(env.action_space, NamedDiscrete)
    assert isinstance(env.action_space, Discrete)
    assert env.action_space.n == 124
    assert env.action_space.contains(123)
    assert not env.action_space.contains(124)
    assert isinstance(env.observation.spaces["AutophaseDict"].space, Dict)
    assert env.observation.spaces["Autophase"].space.shape == (56,)
    pair = Tuple([env.observation_space, env.action_space], name="pair")
    assert (env.reset(), env.action_space.sample()) in pair
