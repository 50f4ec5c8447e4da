"""The wrappers that ``gym.make()`` applies, for environments whose steps return four values.

``compiler_gym.compat.classic_gym.adaptation`` makes gym 0.26 use it.
"""

from collections.abc import Iterable
from typing import Any

from typing_extensions import override

from compiler_gym.compat.classic_gym.spaces import as_classic_gym
from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.util.gym_type_hints import five_results, four_results
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper


class AutoReset(CompilerEnvWrapper):
    """Begins the next episode in the step that ends one.

    The step returns the first observation of the new episode. ``info["final_observation"]`` is the
    last observation of the old one, ``info["final_info"]`` the info of its last step.
    """

    @override
    def multistep(self, actions: Iterable[Any], *args: Any, **kwargs: Any) -> StepResult:
        observation, reward, done, info = super().multistep(actions, *args, **kwargs)
        if done:
            info = {"final_observation": observation, "final_info": info}
            observation = self.reset()
        return observation, reward, done, info


class RenderMode(CompilerEnvWrapper):
    """Sets the default mode of ``render()``.

    Raises:
        ValueError: If the mode is unknown.
    """

    def __init__(self, env: CompilerEnv, render_mode: str):
        super().__init__(env)
        modes = env.metadata["render_modes"]
        if render_mode not in modes:
            raise ValueError(f"Unknown render mode {render_mode!r}. There are: {', '.join(modes)}")
        self._mode = render_mode

    @property
    @override
    def render_mode(self) -> str:  # type: ignore[override]  # Elsewhere, it is an attribute.
        return self._mode

    @override
    def render(self, mode: str | None = None) -> str | None:
        return self.env.render(mode or self._mode)


class FiveResults:
    """An adapter that gives an environment five results, for vectors of gym.

    Wrappers of gym have it around the environment inside while their code runs.

    If the environment inside has five results already, they are not changed.

    Args:
        env: The environment inside: one of ours, or a wrapper of gym around one. The adapter has
            all its attributes.
    """

    def __init__(self, env: Any):
        self._env = env
        self._is_step_converted = False
        self._is_reset_converted = False

    @property
    def observation_space(self) -> Any:
        """The observation space, as a space of gym where possible."""
        return as_classic_gym(self._env.observation_space)

    @property
    def action_space(self) -> Any:
        """The action space, as a space of gym where possible."""
        return as_classic_gym(self._env.action_space)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Makes a step, and tells truncation from termination."""
        result = self._env.step(action)
        if len(result) != 4:
            return result
        self._is_step_converted = True
        return five_results(result)

    def step_result(self, result: Any) -> Any:
        """Converts the result of a wrapper's ``step()`` back to four values, if needed."""
        return four_results(result) if self._is_step_converted else result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None, **kwargs: Any
    ) -> Any:
        """Begins an episode. Returns the observation and an empty info."""
        if seed is not None:
            self._env.seed(seed)
        result = self._env.reset(**(options or {}), **kwargs)
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict):
            return result
        self._is_reset_converted = True
        return result, {}

    def reset_result(self, result: Any) -> Any:
        """Converts the result of a wrapper's ``reset()`` back to an observation, if needed."""
        return result[0] if self._is_reset_converted else result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)


def refuse_pictures(env: CompilerEnv, *args: Any, **kwargs: Any) -> CompilerEnv:
    """Replaces wrappers of gym that show or record pictures.

    Raises:
        ValueError: Always.
    """
    raise ValueError(
        "Programs cannot be rendered as pictures. Use render_mode='ansi', and "
        "gym.wrappers.RenderCollection to collect the texts"
    )


def refuse_checker(env: CompilerEnv, *args: Any) -> CompilerEnv:
    """Replaces ``PassiveEnvChecker``.

    Raises:
        ValueError: Always, after closing the environment.
    """
    env.close()
    raise ValueError(
        "The checker of gym 0.26 expects five results of a step. Use "
        "gym.make(..., apply_api_compatibility=True) to get them, or disable_env_checker=True to "
        "skip the checker"
    )
