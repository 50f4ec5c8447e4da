"""PPO of RLlib learns to choose passes, on PyTorch."""

import held_back
import judging
import numpy as np
import torch
import typer
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env


def train(steps: int = 48_000, seed: int = 0) -> None:
    """Learn from some programs to save IR instructions, and show it on others."""
    envs, fragment = 8, 2 * held_back.EPISODE_STEPS
    batch = envs * fragment
    register_env("training", lambda config: held_back.training_env())
    config = (
        PPOConfig()
        .environment("training")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=envs)
        .env_runners(rollout_fragment_length=fragment)
        .training(train_batch_size=batch, minibatch_size=120, num_epochs=4)
        .training(lr=5e-4, entropy_coeff=0.01)
        .debugging(seed=seed)
    )
    algorithm = config.build_algo()

    def log_probabilities(observations: np.ndarray) -> np.ndarray:
        batch = {"obs": torch.from_numpy(observations)}
        return algorithm.get_module().forward_inference(batch)["action_dist_inputs"].numpy()

    policy = judging.drawing(log_probabilities, np.random.default_rng(seed))
    for made in range(batch, steps + 1, batch):
        algorithm.train()
        judging.show(made, policy)
    algorithm.stop()


if __name__ == "__main__":
    typer.run(train)
