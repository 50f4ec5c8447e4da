"""PPO of Stable-Baselines3 learns to choose passes; all environments are stepped at once."""

import held_back
import judging
import typer
from stable_baselines3 import PPO

from compiler_gym.vector.stable_baselines import StableBaselinesVecEnv


def train(steps: int = 48_000, seed: int = 0) -> None:
    """Learn from some programs to save IR instructions, and show it on others."""
    # An episode that is cut ends as any other, see held_back.LimitIsAnEnd.
    envs = StableBaselinesVecEnv(held_back.training_envs(8), limit_is_an_end=True)
    model = PPO("MlpPolicy", envs, n_steps=60, batch_size=120, n_epochs=4, ent_coef=0.01, seed=seed)
    for made in range(judging.SHOWN_EVERY, steps + 1, judging.SHOWN_EVERY):
        model.learn(judging.SHOWN_EVERY, reset_num_timesteps=False)
        judging.show(made, lambda observations: model.predict(observations)[0])
    envs.close()


if __name__ == "__main__":
    typer.run(train)
