"""One of the environments of a vector environment."""

from collections.abc import Iterable
from typing import Any

from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.envs.running_step import RunningStep
from compiler_gym.service.client_service_compiler_env import ClientServiceCompilerEnv
from compiler_gym.spaces.neutral import neutral_value


class Slot:
    """An environment, and where it is in its episode.

    Can be waited for by :class:`ReplyWaiting` while it makes a step.

    Args:
        number: Its position among all slots.
        env: The environment.
        max_episode_steps: The step at which an episode is truncated; None for no limit.

    Attributes:
        number: As above, and so is ``env``.
        has_begun: Whether there was an episode ever.
        is_over: Whether an episode has to begin before the next step.
        step: The step that is being made, or None.
        observation: The last observation.
        infos: What is to be said about the last step or reset, in parts.
    """

    def __init__(self, number: int, env: GymnasiumEnv, max_episode_steps: int | None):
        self.number = number
        self.env = env
        self.has_begun = False
        self.is_over = True
        self.step: RunningStep | None = None
        self.observation = neutral_value(env.observation_space)
        self.infos: list[dict[str, Any]] = []
        self._max_episode_steps = max_episode_steps
        self._elapsed_steps = 0

    @property
    def deadline(self) -> float | None:
        """When to stop waiting for the step."""
        return self.step.deadline

    def fileno(self) -> int:
        """Returns a descriptor that is readable as soon as there is something of the result."""
        return self.step.fileno()

    def begin(self, action: Any, timeout: float) -> None:
        """Begins a step. Raises as :meth:`CompilerEnv.begin_multistep`."""
        self.step = self.env.compiler_env.begin_multistep((action,), timeout)

    def finish(self) -> tuple[float, bool, bool]:
        """Waits for the end of the step, and keeps its observation and information.

        Returns:
            The reward, and whether the episode was terminated or truncated.

        Raises:
            Exception: As of :meth:`CompilerEnv.multistep`.
        """
        step, self.step = self.step, None
        result = self.env.step_result(step.result())
        self.observation, reward, terminated, truncated, info = result
        self.infos = [info]
        self._elapsed_steps += 1
        if self._elapsed_steps == self._max_episode_steps:
            truncated = True
        self.is_over = terminated or truncated
        return reward, terminated, truncated

    def reset(self, seed: int | None, options: dict[str, Any], others: Iterable["Slot"]) -> None:
        """Begins an episode; gives up the step that is being made.

        Args:
            seed: As of :meth:`GymnasiumEnv.reset`.
            options: Likewise.
            others: Slots whose service is to be used if that of this one has ended.

        Raises:
            Exception: As of :meth:`GymnasiumEnv.reset`. There is no episode then.
        """
        self.is_over = True
        self.cancel()
        env = self.env.compiler_env.unwrapped
        if isinstance(env, ClientServiceCompilerEnv):
            relatives = (other.env.compiler_env.unwrapped for other in others)
            env.share_service(each for each in relatives if type(each) is type(env))
        self.observation, info = self.env.reset(seed=seed, options=options)
        self.infos = [info]
        self._elapsed_steps = 0
        self.has_begun = True
        self.is_over = False

    def reset_in_same_step(self, others: Iterable["Slot"]) -> None:
        """Begins the episode after one that has just ended, and keeps what was its end."""
        final = {"final_obs": self.observation, "final_info": self.infos[0]}
        self.reset(None, {}, others)
        self.infos = [final, *self.infos]

    def cancel(self) -> None:
        """Gives up the step that is being made, if there is one, and with it the episode."""
        step, self.step = self.step, None
        if step is not None:
            self.is_over = True
            step.cancel()

    def close(self) -> None:
        """Closes the environment."""
        self.cancel()
        self.env.close()
