"""PPO of Stable-Baselines3 learns to choose passes; all environments are stepped at once."""

import held_back
import judging
import numpy as np
import typer
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv


class Envs(VecEnv):
    """A vector environment of this package, in mode "SameStep", as Stable-Baselines3 wants it."""

    def __init__(self, envs):
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> np.ndarray:
        return self.envs.reset(seed=self._seeds)[0]

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions

    def step_wait(self) -> tuple:
        observations, rewards, failed, cut, _ = self.envs.step(self.actions)
        # An episode that is cut ends as any other, see held_back.LimitIsAnEnd.
        return observations, rewards, failed | cut, [{} for _ in observations]

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, name: str, indices=None) -> list:
        return [getattr(self.envs.envs[i], name) for i in self._get_indices(indices)]

    def set_attr(self, name: str, value, indices=None) -> None:
        for i in self._get_indices(indices):
            setattr(self.envs.envs[i], name, value)

    def env_method(self, name: str, *args, indices=None, **kwargs) -> list:
        return [method(*args, **kwargs) for method in self.get_attr(name, indices)]

    def env_is_wrapped(self, wrapper_class: type, indices=None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]


def train(steps: int = 48_000, seed: int = 0) -> None:
    """Learn from some programs to save IR instructions, and show it on others."""
    envs = Envs(held_back.training_envs(8))
    model = PPO("MlpPolicy", envs, n_steps=60, batch_size=120, n_epochs=4, ent_coef=0.01, seed=seed)
    for made in range(judging.SHOWN_EVERY, steps + 1, judging.SHOWN_EVERY):
        model.learn(judging.SHOWN_EVERY, reset_num_timesteps=False)
        judging.show(made, lambda observations: model.predict(observations)[0])
    envs.close()


if __name__ == "__main__":
    typer.run(train)
