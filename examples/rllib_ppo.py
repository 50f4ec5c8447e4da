"""PPO of RLlib learns to choose passes, on PyTorch. Environment runners may be on other nodes."""

from pathlib import Path

import held_back
import judging
import numpy as np
import ray
import torch
import typer
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env

ENVS, FRAGMENT = 8, 2 * held_back.EPISODE_STEPS


def envs_of(given: dict) -> held_back.LimitIsAnEnd:
    """Returns the environments of a runner, which are stepped at once."""
    return held_back.LimitIsAnEnd(held_back.training_envs(given["num_envs"], "NextStep"))


def config(seed: int, runners: int) -> PPOConfig:
    """Returns the settings. A runner that is lost is replaced."""
    register_env("training", envs_of)
    return (
        PPOConfig()
        .environment("training")
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=ENVS // max(runners, 1))
        .env_runners(gym_env_vectorize_mode="vector_entry_point", rollout_fragment_length=FRAGMENT)
        .fault_tolerance(restart_failed_env_runners=True)
        .training(train_batch_size=ENVS * FRAGMENT, minibatch_size=120, num_epochs=4)
        .training(lr=5e-4, entropy_coeff=0.01)
        .debugging(seed=seed)
    )


def train(steps: int = 48_000, seed: int = 0, runners: int = 2, address: str = "local") -> None:
    """Learn from some programs to save IR instructions, and show it on others.

    The runners, 0, 1, 2, 4 or 8, each need a processor of the Ray cluster at the address.
    """
    # Nodes get the modules beside this file. The package has to be installed there.
    folder = str(Path(__file__).absolute().parent)
    ray.init(address, runtime_env={"working_dir": folder}, log_to_driver=False)
    algorithm = config(seed, runners).build_algo()

    def log_probabilities(observations: np.ndarray) -> np.ndarray:
        batch = {"obs": torch.from_numpy(observations)}
        return algorithm.get_module().forward_inference(batch)["action_dist_inputs"].numpy()

    policy = judging.drawing(log_probabilities, np.random.default_rng(seed))
    for made in range(ENVS * FRAGMENT, steps + 1, ENVS * FRAGMENT):
        algorithm.train()
        judging.show(made, policy)
    algorithm.stop()


if __name__ == "__main__":
    typer.run(train)
