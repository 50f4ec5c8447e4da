"""One of the environments of a vector environment."""

from collections.abc import Iterable
from typing import Any

from compiler_gym.envs.compiler_env import StepResult
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
        deadline: When to stop waiting for the step; None for never.
        fd: The descriptor by which to wait for it.
    """

    def __init__(self, number: int, env: GymnasiumEnv, max_episode_steps: int | None):
        self.number = number
        self.env = env
        self.has_begun = False
        self.is_over = True
        self.step: RunningStep | None = None
        self.observation = neutral_value(env.observation_space)
        self.infos: list[dict[str, Any]] = []
        self.deadline: float | None = None
        self.fd = -1
        self._max_episode_steps = max_episode_steps
        self._elapsed_steps = 0

    def begin(self, action: Any, timeout: float) -> None:
        """Begins a step. Raises as :meth:`CompilerEnv.begin_multistep`."""
        self.step = step = self.env.compiler_env.begin_multistep((action,), timeout)
        self.deadline = step.deadline
        self.fd = step.fd

    def make(self, action: Any, timeout: float) -> tuple[float, bool, bool]:
        """Makes a step and waits for it: :meth:`begin` and :meth:`finish`, but faster.

        After an interrupt, the next step truncates the episode.
        """
        return self._note(self.env.compiler_env.multistep((action,), timeout=timeout))

    def finish(self) -> tuple[float, bool, bool]:
        """Waits for the end of the step, and keeps its observation and information.

        Returns:
            The reward, and whether the episode was terminated or truncated.

        Raises:
            Exception: As of :meth:`CompilerEnv.multistep`.
        """
        step: Any = self.step  # There is one since begin().
        self.step = None
        return self._note(step.result())

    def _note(self, result: StepResult) -> tuple[float, bool, bool]:
        self.observation, reward, terminated, truncated, info = self.env.step_result(result)
        self.infos = [info]
        self._elapsed_steps += 1
        if self._elapsed_steps == self._max_episode_steps:
            truncated = True
        self.is_over = terminated or truncated
        return reward, terminated, truncated

    def prepare_reset(self, benchmark: Any = None, timeout: float = 300) -> None:
        """Begins what :meth:`reset` does without a seed, and with these options."""
        self.is_over = True
        self.cancel()
        self.env.compiler_env.prepare_reset(benchmark, timeout=timeout)

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
