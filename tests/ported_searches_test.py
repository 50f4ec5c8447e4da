"""Programs written for CompilerGym 0.2: exhaustive searches, a table of values, an analysis.

As tests/ported_flows_test.py.
"""

import textwrap

import pytest

from tests.document_code import run_python


@pytest.fixture
def run(tmp_path):
    return lambda program: run_python(textwrap.dedent(program), tmp_path)


def test_brute_force(run):
    """All sequences of some actions; those whose prefix does nothing are left out."""
    program = """
    from itertools import product

    import compiler_gym
    from compiler_gym.util.permutation import convert_number_to_permutation
    from compiler_gym.util.runfiles_path import create_user_logs_dir

    with compiler_gym.make("llvm-autophase-ic-v0",
                           benchmark="benchmark://kernels-v0/life") as env:
        actions = [env.action_space[name] for name in ("mem2reg", "gvn", "simplifycfg")]
        results = {}
        for sequence in product(actions, repeat=3):
            env.reset()
            rewards = []
            for action in sequence:
                _, reward, done, info = env.step(action)
                rewards.append(reward)
                if done or info["action_had_no_effect"]:
                    break
            results[tuple(env.actions)] = sum(rewards)
        with open("results.csv", "w") as file:
            for sequence, reward in results.items():
                print(*sequence, reward, sep=",", file=file)
        best = max(results, key=results.get)
        orders = [convert_number_to_permutation(number, 3) for number in range(6)]
        print(len(results) < 27, best[0] == actions[0], results[best] > 0, len(orders))
    """
    assert run(program) == "True True True 6\n"


def test_tabular_q(run):
    """A table of values by the actions so far, as flags of absl set it up."""
    program = """
    import random

    import gym
    from absl import app, flags

    import compiler_gym.util.flags.episodes  # noqa: F401
    import compiler_gym.util.flags.learning_rate  # noqa: F401
    from compiler_gym.util.timer import Timer
    from compiler_gym.wrappers import ConstrainedCommandline, TimeLimit

    flags.DEFINE_float("discount", 1.0, "The discount factor.")
    flags.DEFINE_float("epsilon", 0.2, "How often to explore.")
    FLAGS = flags.FLAGS
    FLAGS.set_default("episodes", 40)
    FLAGS.set_default("learning_rate", 0.5)

    def play(env, table, epsilon):
        env.reset()
        done, state = False, ()
        while not done:
            values = table.setdefault(state, [0.0] * env.action_space.n)
            action = values.index(max(values))
            if random.random() < epsilon:
                action = env.action_space.sample()
            _, reward, done, _ = env.step(action)
            state += (action,)
            future = 0.0 if done else max(table.get(state, [0.0]))
            values[action] += FLAGS.learning_rate * (
                reward + FLAGS.discount * future - values[action]
            )
        return env.episode_reward

    def main(argv):
        random.seed(1)
        env = gym.make("llvm-ic-v0", benchmark="benchmark://kernels-v0/life",
                       action_space="Legacy124")
        env = ConstrainedCommandline(env, ["-adce", "-gvn", "-mem2reg", "-simplifycfg"])
        env = TimeLimit(env, max_episode_steps=2)
        env.action_space.seed(1)
        table = {}
        with Timer("Learning", lambda text: print(text.startswith("Learning in "))):
            for _ in range(FLAGS.episodes):
                play(env, table, FLAGS.epsilon)
        print(play(env, table, 0.0) > 0.3, env.action_space.names[env.actions[0]])
        env.close()

    app.run(main)
    """
    assert run(program) == "True\nTrue -mem2reg\n"


def test_sensitivity_analysis(run):
    """The effects of single actions after random ones, on random programs, in many threads."""
    program = """
    from concurrent.futures import as_completed

    import numpy as np

    import compiler_gym
    from compiler_gym.util.statistics import arithmetic_mean, stdev
    from compiler_gym.util.tabulate import tabulate
    from compiler_gym.util.thread_pool import get_thread_pool_executor

    def trial(name, seed):
        with compiler_gym.make("llvm-v0", reward_space="IrInstructionCount") as env:
            rng = np.random.default_rng(seed)
            env.reset(benchmark=env.datasets["kernels-v0"].random_benchmark(rng))
            env.multistep(rng.integers(env.action_space.n, size=3).tolist())
            if not env.in_episode:
                return None
            before = env.episode_reward
            env.step(env.action_space[name])
            return env.episode_reward - before

    names = ["function(dce)", "function(sroa)"]
    executor = get_thread_pool_executor()
    rows = []
    for name in names:
        jobs = [executor.submit(trial, name, seed) for seed in range(4)]
        deltas = [delta for job in as_completed(jobs) if (delta := job.result()) is not None]
        rows.append((name, len(deltas) > 1, arithmetic_mean(deltas) >= 0, stdev(deltas) >= 0))
    print(tabulate(rows, headers=("Action", "Trials", "Mean", "Std"), tablefmt="csv"))
    """
    assert run(program) == (
        "Action,Trials,Mean,Std\nfunction(dce),True,True,True\nfunction(sroa),True,True,True\n"
    )


def test_explore(run):
    """Breadth first, by forks; a program that was reached before is not looked at again."""
    program = """
    import compiler_gym
    from compiler_gym.envs import LlvmEnv
    from compiler_gym.util.logging import init_logging

    init_logging()

    def explore(env: LlvmEnv, actions, depth):
        env.reset()
        best, seen, frontier = 0.0, {env.observation["IrSha1"]}, [env.fork()]
        counts = []
        for _ in range(depth):
            found = []
            for node in frontier:
                for action in actions:
                    child = node.fork()
                    observation, reward, done, info = child.step(action)
                    sha1 = child.observation["IrSha1"]
                    if done or sha1 in seen:
                        child.close()
                        continue
                    seen.add(sha1)
                    best = max(best, child.episode_reward)
                    found.append(child)
                node.close()
            frontier = found
            counts.append(len(found))
        for node in frontier:
            node.close()
        return best, counts

    with compiler_gym.make("llvm-ic-v0", benchmark="benchmark://kernels-v0/life") as env:
        actions = [env.action_space[name] for name in ("mem2reg", "gvn", "simplifycfg", "sroa")]
        best, counts = explore(env, actions, depth=3)
        print(best > 0, counts[0] <= 4, counts[1] < 16, counts[2] < 64)
    """
    assert run(program) == "True True True True\n"
