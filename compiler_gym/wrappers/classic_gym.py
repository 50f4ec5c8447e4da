"""What ``gym.make()`` puts around environments, for those of four results.

``compiler_gym.util.gym_adaptation`` makes gym 0.26 use it.
"""

from collections.abc import Iterable
from typing import Any

from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper


class AutoReset(CompilerEnvWrapper):
    """Begins the next episode in the step that ends one.

    That step returns the first observation of the new episode; ``info`` then has the last one of
    the old as ``final_observation``, and the information about the step as ``final_info``.
    """

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        observation, reward, done, info = super().multistep(
            actions, observation_spaces, reward_spaces, *args, **kwargs
        )
        if done:
            info = {"final_observation": observation, "final_info": info}
            observation = self.reset()
        return observation, reward, done, info


class RenderMode(CompilerEnvWrapper):
    """Renders in a mode of its own unless another is asked for.

    Raises:
        ValueError: If there is no such mode.
    """

    def __init__(self, env: CompilerEnv, render_mode: str):
        super().__init__(env)
        modes = env.metadata["render_modes"]
        if render_mode not in modes:
            raise ValueError(f"Unknown render mode {render_mode!r}. There are: {', '.join(modes)}")
        self.render_mode = render_mode

    @override
    def render(self, mode: str | None = None) -> str | None:
        return self.env.render(mode or self.render_mode)


def refuse_checker(env: CompilerEnv, *args: Any) -> CompilerEnv:
    """Stands in for ``PassiveEnvChecker``.

    Raises:
        ValueError: Always, after closing the environment.
    """
    env.close()
    raise ValueError(
        "The checker of gym 0.26 is for environments whose steps have five results. Make one of "
        "them by gym.make(..., apply_api_compatibility=True), or leave the checker out by "
        "disable_env_checker=True"
    )
