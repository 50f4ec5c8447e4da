"""Programs written for CompilerGym 0.2: how they use wrappers, utilities and searches.

Each test is a program, shortened. With ``gym`` they have classic environments.
"""

import textwrap

import pytest

from tests.document_code import run_python


@pytest.fixture
def run(tmp_path):
    """Runs a program in a folder of its own, and returns what it prints."""

    def run(program, *words):
        arguments = f"import sys\nsys.argv[1:] = {words!r}\n"
        return run_python(arguments + textwrap.dedent(program), tmp_path)

    return run


def test_random_walk(run):
    program = """
    from absl import app

    from compiler_gym.envs import CompilerEnv
    from compiler_gym.util.flags.benchmark_from_flags import benchmark_from_flags
    from compiler_gym.util.flags.env_from_flags import env_from_flags
    from compiler_gym.util.shell_format import emph
    from compiler_gym.util.timer import Timer

    def run_random_walk(env: CompilerEnv, step_count: int) -> None:
        rewards = []
        with Timer() as episode_time:
            env.reset()
            for step_num in range(1, step_count + 1):
                action_index = env.action_space.sample()
                with Timer() as step_time:
                    observation, reward, done, info = env.step(action_index)
                print(f"{emph('Step')} {step_num}: {env.action_space.names[action_index]}")
                print(f"Reward: {reward}, {info['action_had_no_effect']}, {step_time}")
                rewards.append(reward)
                if done:
                    break
        print(f"Completed {step_num} steps in {episode_time}, {sum(rewards):.6f}")
        print(env.commandline())


    def main(argv):
        assert len(argv) == 1, f"Unrecognized flags: {argv[1:]}"
        with env_from_flags(benchmark_from_flags()) as env:
            run_random_walk(env=env, step_count=4)

    app.run(main)
    """
    lines = run(program, "--env=llvm-ic-v0", "--reward=IrInstructionCount").splitlines()
    assert len([line for line in lines if line.startswith("Reward:")]) == 4
    assert lines[-2].startswith("Completed 4 steps in ")
    assert lines[-1].startswith("opt ")


def test_actor_critic(run):
    """Fifteen passes, episodes of five steps, and learning of preferences."""
    program = """
    import gym
    import numpy as np

    import compiler_gym
    from compiler_gym.wrappers import ConstrainedCommandline, TimeLimit

    FLAGS = ["-mem2reg", "-sroa", "-instcombine", "-simplifycfg", "-gvn", "-newgvn", "-reg2mem",
             "-early-cse-memssa", "-jump-threading", "-loop-rotate", "-instsimplify", "-dce",
             "-loop-reduce", "-break-crit-edges", "-loop-versioning"]

    env = gym.make("llvm-autophase-ic-v0", benchmark="benchmark://kernels-v0/fft",
                   action_space="Legacy124")
    env = ConstrainedCommandline(env, flags=FLAGS)
    env = TimeLimit(env, max_episode_steps=5)
    env.seed(7)
    rng = np.random.default_rng(7)
    preferences = np.zeros(env.action_space.n)
    returns = []
    for episode in range(20):
        env.reset()
        done, chosen = False, []
        while not done:
            weights = np.exp(preferences)
            action = int(rng.choice(env.action_space.n, p=weights / weights.sum()))
            observation, reward, done, info = env.step(action)
            chosen.append(action)
        preferences[chosen] += env.episode_reward
        returns.append(env.episode_reward)
        assert env.actions == chosen
    print(len(chosen), info["TimeLimit.truncated"], np.mean(returns[-5:]) > 0)
    env.close()
    """
    assert run(program) == "5 True True\n"


def test_environments_of_a_learner(run):
    """Training programs at random, validation programs in order, both of limited length."""
    program = """
    from itertools import islice

    import compiler_gym
    from compiler_gym.wrappers import (
        ConstrainedCommandline, CycleOverBenchmarks, CycleOverBenchmarksIterator,
        IterateOverBenchmarks, ObservationWrapper, RandomOrderBenchmarks, TimeLimit,
    )
    from gymnasium.spaces import Box
    import numpy as np


    class AutophaseNormalizedFeatures(ObservationWrapper):
        TotalInsts_index = 51

        def __init__(self, env):
            super().__init__(env=env)
            self.env.observation_space = "Autophase"
            self.observation_space = Box(0, np.inf, shape=(56,), dtype=np.float32)

        def convert_observation(self, observation):
            if observation[self.TotalInsts_index] <= 0:
                return np.zeros((56,), dtype=np.float32)
            return (observation / observation[self.TotalInsts_index]).astype(np.float32)


    def make_env():
        env = compiler_gym.make("llvm-autophase-ic-v0")
        env = ConstrainedCommandline(env, flags=["-mem2reg", "-gvn", "-simplifycfg"])
        return TimeLimit(AutophaseNormalizedFeatures(env), max_episode_steps=2)


    programs = [f"benchmark://kernels-v0/{name}" for name in ("fft", "json", "life")]
    wrappers = [
        lambda env: RandomOrderBenchmarks(env, programs, np.random.default_rng(0)),
        lambda env: CycleOverBenchmarks(env, programs),
        lambda env: CycleOverBenchmarksIterator(env, lambda: islice(iter(programs), 2)),
        lambda env: IterateOverBenchmarks(env, env.datasets["kernels-v0"].benchmark_uris()),
    ]
    for wrapper in wrappers:
        with wrapper(make_env()) as env:
            for _ in range(3):
                observation, done = env.reset(), False
                while not done:
                    observation, reward, done, info = env.step(env.action_space.sample())
                assert env.observation_space.contains(observation)
                print(str(env.benchmark).rpartition("/")[2], len(env.actions), end=" ")
            print()
    """
    random, cycle, iterator, iterate = run(program).splitlines()
    assert len(random.split()) == 6
    assert cycle == "fft 2 json 2 life 2 "
    assert iterator == "fft 2 json 2 fft 2 "
    assert len(iterate.split()) == 6


def test_random_search_in_a_build(run):
    """A program is compiled by a Makefile, which searches for passes, and runs."""
    program = """
    import subprocess
    from functools import partial
    from pathlib import Path

    import compiler_gym
    import compiler_gym.util.flags.nproc  # noqa: F401
    from absl import app, flags
    from compiler_gym import random_search
    from compiler_gym.envs.llvm import make_benchmark
    from compiler_gym.third_party.llvm import clang_path

    Path("program.c").write_text("int main() { int x = 1; for (int i = 0; i < 9; ++i) x += i;"
                                 " return x; }")

    def make_env(benchmark):
        return compiler_gym.make("llvm-ic-v0", benchmark=benchmark)

    def main(argv):
        benchmark = make_benchmark("program.c")
        env = random_search(
            make_env=partial(make_env, benchmark), outdir=Path("logs"), patience=10,
            total_runtime=2, nproc=flags.FLAGS.nproc, skip_done=True,
        )
        with env:
            env.write_bitcode("program.bc")
            print(env.episode_reward > 0)
        assert Path("logs/random_search.json").is_file()
        subprocess.check_call([clang_path(), "program.bc", "-o", "program"])
        print(subprocess.run(["./program"]).returncode)

    app.run(main)
    """
    assert run(program, "--nproc=1") == "True\n37\n"


def test_autotuning_targets(run):
    """Code size, the size of the object and run time are tuned by the same random search."""
    program = """
    from enum import Enum

    import compiler_gym
    from compiler_gym.wrappers import RuntimePointEstimateReward


    class OptimizationTarget(str, Enum):
        CODESIZE = "codesize"
        BINSIZE = "binsize"
        RUNTIME = "runtime"

        def make_env(self, benchmark):
            env = compiler_gym.make("llvm-v0", benchmark=benchmark)
            if self.value == OptimizationTarget.RUNTIME:
                return RuntimePointEstimateReward(env, runtime_count=1, warmup_count=0)
            is_code = self.value == OptimizationTarget.CODESIZE
            env.reward_space = "IrInstructionCountOz" if is_code else "ObjectTextSizeOz"
            return env


    for target in OptimizationTarget:
        with target.make_env("benchmark://kernels-v0/fft") as env:
            env.action_space.seed(3)
            results = []
            for _ in range(2):
                env.reset()
                _, _, done, _ = env.multistep(env.action_space.sample() for _ in range(5))
                results.append(env.episode_reward)
            print(target.value, env.reward_space.name, max(map(abs, results)) > 0)
    """
    assert run(program).splitlines() == [
        "codesize IrInstructionCountOz True",
        "binsize ObjectTextSizeOz True",
        "runtime runtime True",
    ]


def test_database_of_graphs(run):
    """Walks are logged; the graphs are read for a cost model."""
    program = """
    import pickle
    import sqlite3
    import zlib
    from pathlib import Path

    import gym

    import compiler_gym
    from compiler_gym.wrappers import SynchronousSqliteLogger

    env = gym.make("llvm-autophase-ic-v0")
    env = SynchronousSqliteLogger(env=env, db_path=Path("example.db"))
    for benchmark in ("benchmark://kernels-v0/fft", "benchmark://kernels-v0/life"):
        env.reset(benchmark=benchmark)
        for name in ("mem2reg", "instcombine"):
            env.step(env.action_space[name])
    env.close()

    connection = sqlite3.connect("example.db")
    cursor = connection.cursor()
    cursor.execute('''
        SELECT States.benchmark_uri, Observations.ir_instruction_count,
            Observations.pickled_compressed_programl
        FROM States LEFT JOIN Observations ON States.state_id = Observations.state_id
        ORDER BY States.rowid
    ''')
    for uri, count, graph in cursor.fetchall():
        graph = pickle.loads(zlib.decompress(graph))
        print(uri, graph.number_of_nodes() > count > 0)
    """
    fft, life = "benchmark://kernels-v0/fft True\n", "benchmark://kernels-v0/life True\n"
    assert run(program) == fft * 3 + life * 3
