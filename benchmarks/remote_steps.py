"""Measures the steps per second of RLlib on two nodes, with eight environments in four ways.

PyTorch and RLlib are needed: ``.venv-learning/bin/python benchmarks/remote_steps.py``, after
``tools/test_examples.sh``. The nodes are processes of this machine, so calls between them are
faster than those of a network.
"""

import os
import statistics
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import ray
from ray.cluster_utils import Cluster
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env

import compiler_gym

sys.path.insert(0, str(Path(__file__).absolute().parents[1] / "examples"))
# Processes of Ray find the modules there too.
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)

import held_back

ENVS, NODES = 8, 2


def vector_of(count: int):
    return compiler_gym.make_vec(held_back.ENV_ID, count, **held_back.LEARNING)


class Part:
    """Half of the environments, on another node."""

    def __init__(self, count: int):
        self.envs = vector_of(count)

    def reset(self, **arguments):
        return self.envs.reset(**arguments)

    def step(self, actions):
        return self.envs.step(actions)


class RemoteEnvs(gymnasium.vector.VectorEnv):
    """A vector environment whose parts are on other nodes. Each step is a call of each part."""

    def __init__(self, count: int):
        with gymnasium.make(held_back.ENV_ID, **held_back.LEARNING) as env:
            self.single_observation_space = env.observation_space
            self.single_action_space = env.action_space
        self.num_envs = count
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, count)
        self.action_space = batch(self.single_action_space, count)
        self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}
        actor = ray.remote(num_cpus=1, resources={"remote": 1})(Part)
        self.parts = [actor.remote(count // NODES) for _ in range(NODES)]

    def reset(self, **arguments):
        replies = ray.get([part.reset.remote() for part in self.parts])
        return np.concatenate([each[0] for each in replies]), {}

    def step(self, actions):
        halves = np.split(np.asarray(actions), NODES)
        calls = [part.step.remote(half) for part, half in zip(self.parts, halves, strict=True)]
        replies = zip(*ray.get(calls), strict=True)
        return *(np.concatenate(each) for each in list(replies)[:4]), {}


def config_of(name: str, runners: int):
    mode = "sync" if name == "single" else "vector_entry_point"
    return (
        PPOConfig()
        .environment(name)
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=ENVS // max(runners, 1))
        .env_runners(custom_resources_per_env_runner={name: 1})  # One on each node.
        .env_runners(gym_env_vectorize_mode=mode, rollout_fragment_length=60)
        .training(train_batch_size=480, minibatch_size=120, num_epochs=1)
    )


def rate(algorithm, seconds: float) -> float:
    """Returns sampled steps per second."""
    group = algorithm.env_runner_group
    each = 60 * ENVS // max(group.num_remote_workers(), 1)

    def sample(runner) -> int:
        return sum(map(len, runner.sample(num_timesteps=each)))

    begin, steps = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        is_here = group.num_remote_workers() == 0
        steps += sum(group.foreach_env_runner(sample, local_env_runner=is_here))
    return steps / (time.perf_counter() - begin)


def main() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(NODES):
        cluster.add_node(num_cpus=3, resources={"single": 1, "vector": 1, "remote": 1})
    ray.init(cluster.address, log_to_driver=False)
    register_env("single", lambda _: gymnasium.make(held_back.ENV_ID, **held_back.LEARNING))
    register_env("vector", lambda config: vector_of(config["num_envs"]))
    register_env("remote", lambda config: RemoteEnvs(config["num_envs"]))
    ways = {
        "two runners, RLlib's own vectors": ("single", NODES),
        "two runners, make_vec in each": ("vector", NODES),
        "one runner, make_vec": ("vector", 0),
        "one runner, parts on two nodes": ("remote", 0),
    }
    algorithms = {title: config_of(*way).build_algo() for title, way in ways.items()}
    rates = {title: [] for title in ways}
    for _ in range(6):  # The first does not count.
        for title, algorithm in algorithms.items():
            rates[title].append(rate(algorithm, 5))
    for title, found in rates.items():
        print(f"{title:34} {statistics.median(found[1:]):7.0f} steps/s")
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
