"""Vector environments for Stable-Baselines3, which has its own interface."""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate

from compiler_gym.util.gym_type_hints import TRUNCATED
from compiler_gym.util.optional_packages import advice
from compiler_gym.vector.pending_steps import INTERRUPTED
from compiler_gym.vector.vector_env import CompilerVectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError(
        f"{advice('stable_baselines3')}. Without it, there is compiler_gym.make_vec()"
    ) from error


class StableBaselinesVecEnv(VecEnv):  # type: ignore[misc]  # It need not be installed.
    """A vector environment with the interface of Stable-Baselines3.

    >>> envs = compiler_gym.make_vec(
    ...     "llvm-autophase-ic-v0", 8, max_episode_steps=30, autoreset_mode="SameStep"
    ... )
    >>> PPO("MlpPolicy", StableBaselinesVecEnv(envs)).learn(10_000)

    At the end of an episode, the information of its environment has the ``terminal_observation``,
    and ``TimeLimit.truncated`` is True if it was truncated.

    A ``KeyboardInterrupt`` in a step loses the sessions. If learning goes on without a reset, the
    next step truncates all episodes, with the last observations and without a reward.

    Args:
        envs: The vector environment. This object takes it over.
        limit_is_an_end: Treat truncated episodes as terminated. This is right if observations
            include the number of steps left.

    Attributes:
        envs: The vector environment.

    Raises:
        ValueError: If ``envs`` have another autoreset mode than ``"SameStep"``, or no observation.
    """

    def __init__(self, envs: CompilerVectorEnv, limit_is_an_end: bool = False):
        if envs.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(
                "For Stable-Baselines3, the step that ends an episode begins the next: use "
                f'make_vec(..., autoreset_mode="SameStep"), not {envs.autoreset_mode.value!r}'
            )
        if envs.envs[0].compiler_env.observation_space is None:
            raise ValueError(
                "There is no default observation, so a learner sees nothing. Give "
                "observation_space=... to make_vec()"
            )
        self.envs = envs
        self._limit_is_an_end = limit_is_an_end
        self._actions: Any = None
        self._is_interrupted = False
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> Any:
        """Begins an episode in each environment, by the seeds of ``seed()``.

        Returns:
            The observations, a row for each environment.
        """
        seeds = None if None in self._seeds else self._seeds
        self._observations, _ = self.envs.reset(seed=seeds)
        self._is_interrupted = False
        self._reset_seeds()
        self.reset_infos = self.envs.single_infos()
        return self._observations

    def step_async(self, actions: np.ndarray) -> None:
        """Sets the actions of :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Makes a step in each environment.

        Returns:
            Observations, rewards float32[n], whether the episodes have ended bool[n], and
            information about each environment.
        """
        if self._is_interrupted:
            return self._cut_short()
        try:
            observations, rewards, terminated, truncated, _ = self.envs.step(self._actions)
        except KeyboardInterrupt:
            # Results of the interrupted steps may be pending, or have come to nobody.
            self._is_interrupted = True
            raise
        self._observations = observations
        ended = terminated | truncated
        infos = self.envs.single_infos()
        for number in ended.nonzero()[0]:
            self.reset_infos[number] = info = infos[number]
            last = {"terminal_observation": info.pop("final_obs")}
            infos[number] = {**info.pop("final_info"), **last}
        cut = truncated & ~terminated
        for info, is_cut in zip(infos, cut.tolist(), strict=True):
            is_lost = "error_type" in info  # No observation can foretell such ends.
            info[TRUNCATED] = is_cut and (is_lost or not self._limit_is_an_end)
        return observations, rewards.astype(np.float32), ended, infos

    def _cut_short(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Ends all episodes after an interrupted step. No action is to blame."""
        last = list(iterate(self.envs.observation_space, self._observations))
        infos = [{**INTERRUPTED, "terminal_observation": observation} for observation in last]
        observations = self.reset()
        rewards = np.zeros(self.num_envs, np.float32)
        return observations, rewards, np.ones(self.num_envs, bool), infos

    def close(self) -> None:
        """Closes the environments."""
        self.envs.close()

    def set_options(self, options: Any = None) -> None:
        """Raises ValueError unless ``options`` are empty: give programs to ``make_vec()``."""
        if options:
            raise ValueError(
                f"Options {options!r} cannot be given to single resets. Give benchmarks=... to "
                "make_vec()"
            )

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of each environment, or of those with these numbers."""
        return [getattr(self.envs.envs[i], attr_name) for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of each environment, or of those with these numbers."""
        for i in self._get_indices(indices):
            setattr(self.envs.envs[i], attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls a method of each environment, or of those with these numbers."""
        methods: list[Callable[..., Any]] = self.get_attr(method_name, indices)
        return [method(*method_args, **method_kwargs) for method in methods]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Returns, for each environment or those in ``indices``, whether it has such a wrapper."""
        return [
            _is_wrapped(self.envs.envs[i].compiler_env, wrapper_class)
            for i in self._get_indices(indices)
        ]


def _is_wrapped(env: Any, wrapper_class: type) -> bool:
    while not isinstance(env, wrapper_class):
        if env is env.unwrapped:
            return False
        env = env.env
    return True
