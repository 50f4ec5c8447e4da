"""The vector environment."""

import contextlib
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, iterate

from compiler_gym.envs.compiler_env import CompilerEnv, waits_for_steps
from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.service.transport.frame_batch import FrameBatch
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.vector.batches import Batches, VectorStepResult
from compiler_gym.vector.pending_steps import PROGRAM_ERRORS, PendingSteps, Slot
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper

_RESET_OPTIONS = ("benchmark", "timeout", "reset_mask")


class CompilerVectorEnv(VectorEnv):
    """Environments that are stepped together, by one thread and without further Python processes.

    What ``compiler_gym.make_vec()`` returns. All environments share one service, in which each
    session is a process, so steps run in parallel. The client sends all actions, then takes results
    as they arrive. The behaviour is that of gymnasium's ``SyncVectorEnv``. In addition,
    :meth:`send` and :meth:`recv` continue with ready environments while others still make their
    step.

    A crash or a time limit only ends the episode of its environment, as in
    :class:`~compiler_gym.envs.gymnasium_adapter.GymnasiumEnv`. The next episode has a new session;
    if the service has ended, all share a new one.

    After a ``KeyboardInterrupt`` in :meth:`step` or :meth:`recv` no result is lost: take them by
    :meth:`recv`, or drop them by :meth:`reset`. The result of an environment whose request was
    being sent, or whose reply was being read, is a truncated episode. (With a single environment,
    the next step truncates the episode.) After any other exception in :meth:`step`, the results of
    the others are dropped, and further steps are possible.

    Args:
        envs: The environments, all with the same spaces. This object takes them over.
        autoreset_mode: The time at which the next episode begins: ``"NextStep"``, ``"SameStep"`` or
            ``"Disabled"``, see ``gymnasium.vector.AutoresetMode``.
        copy: Return copies from :meth:`reset` and :meth:`step`. Otherwise the next call changes the
            returned arrays.
        max_episode_steps: The number of steps after which an episode is truncated; None for none.

    Attributes:
        envs: The environments with the interface of gymnasium.
        num_envs: The number of environments.
        autoreset_mode: Same as the argument, like ``copy``.
        single_action_space: The action space of each, and so on as in gymnasium.

    Raises:
        ValueError: If there are no environments or no such mode, or the limit is not positive.
    """

    def __init__(
        self,
        envs: Sequence[GymnasiumEnv],
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        max_episode_steps: int | None = None,
    ):
        if not envs:
            raise ValueError("A vector environment needs at least one environment")
        if max_episode_steps is not None and max_episode_steps < 1:
            raise ValueError(f"max_episode_steps must be positive, not {max_episode_steps}")
        self.closed = True  # Until it is complete: gymnasium closes open ones on deletion.
        self.envs = tuple(envs)
        self.num_envs = len(self.envs)
        self.autoreset_mode = _checked_mode(autoreset_mode)
        if self.num_envs > 1:
            _warn_of_serial_steps(self.envs[0].compiler_env)
        self.copy = copy
        self.metadata = {**self.envs[0].metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = self.envs[0].render_mode
        self.single_action_space: Any = self.envs[0].action_space
        self._single_observation_space = self.envs[0].observation_space
        # The project's proxies stand in for their space.
        self._plain_action_space = getattr(self.single_action_space, "wrapped", None) or (
            self.single_action_space
        )
        # The first number and the one after the last, if actions are numbers.
        self._range_of_actions = _range_of(self._plain_action_space)
        self.action_space = batch_space(self._plain_action_space, self.num_envs)
        self._observation_space = batch_space(self._single_observation_space, self.num_envs)
        for env in self.envs:
            env.observes_for_learning = False
        batch = FrameBatch(self.num_envs)
        self._slots = [
            Slot(number, env, max_episode_steps, batch) for number, env in enumerate(self.envs)
        ]
        self._batches = Batches(self._slots, self._single_observation_space, self._add_info)
        is_same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        self._steps = PendingSteps(self._slots, batch, self._batches, is_same_step)
        self.closed = False

    @property
    def single_observation_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """The observation space of each environment."""
        self._warn_if_nothing_is_observed()
        return self._single_observation_space

    @property
    def observation_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """The batched space of the observations of all environments."""
        self._warn_if_nothing_is_observed()
        return self._observation_space

    def _warn_if_nothing_is_observed(self) -> None:
        # Searches need no observation, but learners read this space first.
        env = self.envs[0]
        if env.compiler_env.observation_space is None:
            env.warn_of_none("observation")

    # ------------------------------------------------------------------------------------------
    # Episodes.

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode in each environment, or in some of them.

        Their pending steps are cancelled.

        Args:
            seed: A seed for each environment; a number stands for itself and those that follow.
            options: Any of ``"benchmark"``, for all or a list with one for each environment;
                ``"timeout"`` in seconds, for each; ``"reset_mask"``, bool[num_envs], true where an
                episode begins.

        Returns:
            The observations of all environments, and information of those that were reset.

        Raises:
            ValueError: If an option does not exist, or a length is not ``num_envs``.
            TypeError: If the mask is not an array of bool.
            BenchmarkInitError: If a program cannot be used; the text names it and the environment.
                Episodes have begun in the others. Reset this one alone, with ``"reset_mask"``.
            LookupError: If there is no such benchmark; likewise.
            Exception: Any other error of :meth:`GymnasiumEnv.reset`.
        """
        self._check_open()
        seed = int(seed) if isinstance(seed, np.integer) else seed
        super().reset(seed=seed if isinstance(seed, int) else None)
        options = options or {}
        if unknown := sorted(set(options) - set(_RESET_OPTIONS)):
            raise ValueError(
                f"Unknown options of reset: {', '.join(unknown)}. There are: "
                f"{', '.join(_RESET_OPTIONS)}. Give spaces to make_vec()"
            )
        seeds = self._seeds(seed)
        slot_options = self._slot_options(options)
        mask = self._checked_mask(options.get("reset_mask"))
        slots = [slot for slot in self._slots if mask[slot.number]]
        self._steps.cancel(slots)
        if seed is None:
            for slot in slots:
                chosen = {k: v for k, v in slot_options[slot.number].items() if v is not None}
                with contextlib.suppress(*PROGRAM_ERRORS):  # The reset meets it again.
                    slot.prepare_reset(**chosen)
        errors: list[Exception] = []
        for slot in slots:
            try:
                slot.reset(seeds[slot.number], slot_options[slot.number], self._slots)
            except PROGRAM_ERRORS as error:
                errors.append(error)
            else:
                self._batches.keep(slot, 0.0, False, False)
        if errors:
            first, *others = errors
            first.args = ("\n".join([str(first), *map(str, others)]),)
            raise first
        return self._batches.observations(self.copy), self._batches.infos(slots)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int):
            return [seed + number for number in range(self.num_envs)]
        self._check_count("seeds", seed)
        return seed

    def _slot_options(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        common: dict[str, Any] = {
            key: options[key] for key in ("benchmark", "timeout") if key in options
        }
        benchmarks = common.get("benchmark")
        if not isinstance(benchmarks, list | tuple):
            return [common] * self.num_envs
        self._check_count("benchmarks", benchmarks)
        return [{**common, "benchmark": benchmark} for benchmark in benchmarks]

    def _checked_mask(self, mask: Any) -> np.ndarray:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] must be an array of bool, not {mask!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"options['reset_mask'] must be of shape ({self.num_envs},) and true somewhere, "
                f"not {mask!r}"
            )
        return mask

    def _check_count(self, what: str, values: Sequence[Any]) -> None:
        if len(values) != self.num_envs:
            raise ValueError(f"Expected {self.num_envs} {what}, not {len(values)}")

    # ------------------------------------------------------------------------------------------
    # Steps.

    def step(self, actions: Any, timeout: float = TIMEOUT) -> VectorStepResult:
        """Makes a step in each environment, and waits for all of them.

        Args:
            actions: An action for each environment, or the names of actions.
            timeout: The time limit of each step in seconds.

        Returns:
            Observations, rewards, terminations, truncations, each with a row for each environment,
            and information.

        Raises:
            AlreadyPendingCallError: If there are results that were not taken by :meth:`recv`.
            ResetNeeded: If there was no reset yet, or without autoreset after the end of an
                episode.
            ValueError: If an action is not in the action space, or refused.
            TypeError: If an action is of a wrong type.
        """
        steps, first = self._steps, self._slots[0]
        if steps.running or steps.ready or steps.ended:
            raise AlreadyPendingCallError(
                "There are steps whose results were not taken. Call recv() or reset() first",
                "step",
            )
        try:
            if self.num_envs == 1 and not (first.is_over or first.is_making):
                return self._make_single_step(actions, timeout)
            self.send(actions, timeout=timeout)
            steps.gather_all()
        except Exception:
            steps.drop_results()
            raise
        result = self._batches.all(self.copy)
        steps.ready = {}  # Last, and without a call, so that no interrupt comes after it.
        return result

    def _make_single_step(self, actions: Any, timeout: float) -> VectorStepResult:
        """Steps a vector of one environment without the bookkeeping of several."""
        self._check_open()
        steps, slot = self._steps, self._slots[0]
        outcome = slot.make(self._unbatched(actions, 1)[0], timeout)
        if slot.is_over:
            steps.store(slot, outcome)
            steps.reset_ended()
        else:
            self._batches.keep(slot, *outcome)
        result = self._batches.all(self.copy)
        # Last, as in step().
        steps.ready = {}
        slot.is_making = False
        return result

    def send(
        self, actions: Any, env_ids: Sequence[int] | None = None, timeout: float = TIMEOUT
    ) -> None:
        """Begins a step in some environments; :meth:`recv` returns the results.

        If an episode has ended, the next one begins instead of a step, depending on the autoreset
        mode.

        Args:
            actions: An action for each of these environments, or the names of actions.
            env_ids: The numbers of the environments; None for all.
            timeout: The time limit of each step in seconds.

        Raises:
            AlreadyPendingCallError: If one of them has a step whose result was not taken.
            IndexError: If there is no environment of such a number.
            Exception: Any error of :meth:`step`.
        """
        self._check_open()
        slots = self._slots if env_ids is None else self._chosen_slots(env_ids)
        unbatched = self._unbatched(actions, len(slots))
        self._check_may_begin(slots)
        self._steps.begin(slots, unbatched, timeout)

    def _chosen_slots(self, env_ids: Sequence[int]) -> list[Slot]:
        numbers = [operator.index(number) for number in env_ids]
        if any(not 0 <= number < self.num_envs for number in numbers):
            raise IndexError(f"Expected environments from 0 to {self.num_envs - 1}, got {numbers}")
        return [self._slots[number] for number in numbers]

    def _unbatched(self, actions: Any, count: int) -> list[Any]:
        """Returns a list of single actions, after quick checks."""
        space = self._plain_action_space
        if self._range_of_actions is not None:
            return self._unbatched_numbers(self._range_of_actions, actions, count)
        batched = self.action_space if count == self.num_envs else batch_space(space, count)
        unbatched = list(iterate(batched, actions))
        if len(unbatched) != count:
            raise ValueError(f"Expected {count} actions, not {len(unbatched)}")
        return unbatched

    def _unbatched_numbers(self, valid: tuple[int, int], actions: Any, count: int) -> list[int]:
        array = np.asarray(actions)
        if array.dtype.kind == "U" and array.ndim == 1:
            array = np.array([self.single_action_space[name] for name in array.tolist()])
        if array.dtype.kind not in "iu":
            raise TypeError(f"Expected actions that are integers, not {actions!r}")
        if array.shape != (count,):
            raise ValueError(f"Expected {count} actions, not an array of shape {array.shape}")
        numbers = array.tolist()
        start, end = valid
        if min(numbers) < start or max(numbers) >= end:
            raise ValueError(f"Actions {numbers} are not all in the range [{start}, {end})")
        return numbers

    def _check_may_begin(self, slots: Sequence[Slot]) -> None:
        steps = self._steps
        if slots is not self._slots and len({slot.number for slot in slots}) < len(slots):
            raise ValueError(f"Not all different: {[slot.number for slot in slots]}")
        are_pending = bool(steps.running or steps.done)
        for slot in slots:
            if are_pending and slot in steps:
                raise AlreadyPendingCallError(
                    f"Environment {slot.number} has a step whose result was not taken by recv()",
                    "send",
                )
            if not slot.is_over:
                continue
            if not slot.has_begun:
                raise ResetNeeded("Call reset() before the first step")
            if self.autoreset_mode is AutoresetMode.DISABLED:
                raise ResetNeeded(
                    f"The episode of environment {slot.number} has ended. Call "
                    "reset(options={'reset_mask': ...}) first"
                )

    def recv(self, min_ready: int = 1, max_ready: int | None = None) -> VectorStepResult:
        """Waits for results of steps that :meth:`send` has started.

        Args:
            min_ready: The number of results to wait for.
            max_ready: The maximum number to take; None for all that have arrived.

        Returns:
            The results of :meth:`step`, with a row for each result, in order of arrival;
            ``infos["env_id"]`` has the numbers of the environments, int64. Always copies.

        Raises:
            ValueError: If fewer than ``min_ready`` are pending, or it is not positive, or more than
                ``max_ready``; also if an action was refused.
        """
        self._check_open()
        steps = self._steps
        if not 1 <= min_ready <= len(steps.running) + steps.done:
            raise ValueError(
                f"Cannot wait for {min_ready} results where {len(steps.running)} steps are being "
                f"made and {steps.done} are done"
            )
        if max_ready is not None and max_ready < min_ready:
            raise ValueError(f"max_ready={max_ready} is less than min_ready={min_ready}")
        steps.gather(min_ready)
        numbers = [*steps.ready]
        result = self._batches.some(numbers[:max_ready])
        left = {} if max_ready is None else {i: steps.ready[i] for i in numbers[max_ready:]}
        steps.ready = left  # Last, as in step().
        return result

    # ------------------------------------------------------------------------------------------
    # What else environments can do.

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of each environment, or reads an attribute, and returns the results.

        Args:
            name: The name of the method or attribute.
            *args: Arguments of the method.
            **kwargs: Keyword arguments of the method.
        """
        values = [getattr(env, name) for env in self.envs]
        return tuple(value(*args, **kwargs) if callable(value) else value for value in values)

    def single_infos(self) -> list[dict[str, Any]]:
        """Returns the information of the last step or reset, for each environment.

        In mode ``"SameStep"``, at the end of an episode, it is that of the reset, with the end in
        ``"final_obs"`` and ``"final_info"``.
        """
        return [
            {key: value for info in slot.infos for key, value in info.items()}
            for slot in self._slots
        ]

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of each environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of each environment.

        Args:
            name: The name.
            values: A list or tuple with a value for each environment, or the value for all.

        Raises:
            ValueError: If the number of values is not that of environments.
        """
        if not isinstance(values, list | tuple):
            values = [values] * self.num_envs
        self._check_count("values", values)
        for env, value in zip(self.envs, values, strict=True):
            setattr(env, name, value)

    def render(self) -> tuple[Any, ...]:
        """Returns the results of ``render()`` of each environment."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Ends all episodes, and the service. Called by ``close()``."""
        self._steps.forget()
        for slot in self._slots:
            slot.close()

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("The vector environment was closed")

    def __enter__(self) -> "CompilerVectorEnv":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _checked_mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        choices = ", ".join(repr(each.value) for each in AutoresetMode)
        raise ValueError(f"Unknown autoreset_mode {mode!r}. There are: {choices}") from None


def _warn_of_serial_steps(env: CompilerEnv) -> None:
    """Warns if a wrapper makes the environments step one after the other."""
    while True:
        if waits_for_steps(env):
            warnings.warn(
                f"{type(env).__name__} overrides step() or multistep(), but not begin_multistep(): "
                "its environments step one after the other. See docs/guides/wrappers.md",
                stacklevel=4,
            )
        if not isinstance(env, CompilerEnvWrapper):
            return
        env = env.env


def _range_of(space: Any) -> tuple[int, int] | None:
    if not isinstance(space, spaces.Discrete):
        return None
    return int(space.start), int(space.start + space.n)
