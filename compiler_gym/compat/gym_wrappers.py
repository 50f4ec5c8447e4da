"""The wrappers that ``gym.make()`` applies, for environments whose steps return four values.

``compiler_gym.compat.gym_adaptation`` makes gym 0.26 use it.
"""

from collections.abc import Iterable
from typing import Any

from typing_extensions import override

from compiler_gym.compat.gym_spaces import as_classic_gym
from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper

# By which a step of four results says that its episode was cut short.
_TRUNCATED = "TimeLimit.truncated"


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


class FiveResults:
    """An environment as the code of gym's wrappers expects it, for as long as that runs.

    What is inside, an environment of ours or a wrapper of gym around one, may have five results
    already: then the results stay as they are.

    Args:
        env: What is inside. All its attributes are there.
    """

    def __init__(self, env: Any):
        self._env = env
        self._is_step_converted = False
        self._is_reset_converted = False

    @property
    def observation_space(self) -> Any:
        """A space of gym's own classes, where it has one."""
        return as_classic_gym(self._env.observation_space)

    @property
    def action_space(self) -> Any:
        """Likewise."""
        return as_classic_gym(self._env.action_space)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Makes a step, with a limit of steps told from the other ends of episodes."""
        result = self._env.step(action)
        if len(result) != 4:
            return result
        self._is_step_converted = True
        observation, reward, done, info = result
        truncated = done and bool(info.get(_TRUNCATED))
        return observation, reward, done and not truncated, truncated, info

    def step_result(self, result: Any) -> Any:
        """Returns what a wrapper returns of which gym's code has returned this."""
        if not self._is_step_converted:
            return result
        observation, reward, terminated, truncated, info = result
        if truncated:
            info = {**info, _TRUNCATED: not terminated}
        return observation, reward, terminated or truncated, info

    def reset(self, **kwargs: Any) -> Any:
        """Begins an episode; returns an observation and information, of which there is none."""
        result = self._env.reset(**kwargs)
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict):
            return result
        self._is_reset_converted = True
        return result, {}

    def reset_result(self, result: Any) -> Any:
        """Adapts the result of ``reset()``, see :meth:`step_result`."""
        return result[0] if self._is_reset_converted else result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)


def refuse_pictures(env: CompilerEnv, *args: Any, **kwargs: Any) -> CompilerEnv:
    """Stands in for wrappers of gym that show or keep pictures.

    Raises:
        ValueError: Always.
    """
    raise ValueError(
        "There are no pictures of programs. Make the environment with render_mode='ansi', and "
        "gym.wrappers.RenderCollection collects what render() returns as text"
    )


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
