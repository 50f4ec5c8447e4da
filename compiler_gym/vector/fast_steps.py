"""Steps of vector environments past the layers of their wrappers, in whole batches.

A step through all layers takes several times as long as the work of the client in it. So this
module knows some wrappers and what they do to a plain step. :meth:`FastSteps.of` decides whether
the steps of an environment are made here. All other steps are made through the layers, and so are
the results of steps that turn out not to be plain.
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from typing_extensions import Self

from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.envs.running_step import RunningStep
from compiler_gym.service.client_service_compiler_env import ClientServiceCompilerEnv
from compiler_gym.service.environment.plain_steps import PlainSteps, StepLimit
from compiler_gym.service.transport.frame_batch import FrameBatch
from compiler_gym.util.gym_type_hints import StepType
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper
from compiler_gym.wrappers.observations import ActionHistogram, AutophaseNorm
from compiler_gym.wrappers.time_limit import TimeLimit

# What a wrapper must not override if it is not known here.
_OF_STEPS = (
    "action_space",
    "actions",
    "begin_multistep",
    "episode_reward",
    "multistep",
    "observation_space",
    "observation_space_spec",
)

Kind = tuple[Any, ...]
"""A conversion of observations: the class of the wrapper, and all it depends on."""

_NO_CONVERSION: Kind = ()


@cache
def _is_transparent(wrapper: type[CompilerEnvWrapper]) -> bool:
    """Returns true if steps pass through wrappers of a class unchanged."""
    base: Any = CompilerEnvWrapper
    return all(getattr(wrapper, name) is getattr(base, name) for name in _OF_STEPS)


def _kind_of(wrapper: Any) -> Kind | None:
    """Returns the conversion that a wrapper makes; None if it is not known here."""
    if type(wrapper) is AutophaseNorm:
        if not wrapper._is_in_use:
            return _NO_CONVERSION
        return None if wrapper._instruction_count is None else (AutophaseNorm,)
    if type(wrapper) is ActionHistogram:
        space, divisor = wrapper.env.observation_space, wrapper._divisor
        if not isinstance(space, Box) or len(space.shape) != 1:
            return None
        return (ActionHistogram, type(divisor), divisor, space.dtype, wrapper._size())
    kind: Any = type(wrapper)
    return _NO_CONVERSION if kind is TimeLimit or _is_transparent(kind) else None


def _is_plain(env: Any) -> bool:
    """Returns true if an environment is the innermost one, and makes its steps as all do."""
    base: Any = ClientServiceCompilerEnv
    return isinstance(env, base) and all(
        getattr(type(env), name) is getattr(base, name)
        for name in ("actions", "begin_multistep", "episode_reward", "multistep")
    )


class FastSteps(RunningStep):
    """The steps of an environment in an episode, one at a time.

    Args:
        env: The environment.
        layers: The layers of the environment, from the outermost to the innermost.
        kinds: The conversion of each wrapper, from the innermost to the outermost.
        steps: The steps of the innermost environment.

    Attributes:
        conversions: The conversions of observations, in order.
        converters: The wrappers that convert, in the same order.
        steps: Same as the argument.
        deadline: The time to stop waiting for the step in progress.
        fd: The descriptor that becomes readable when the step ends; -1 if there is none.
    """

    def __init__(
        self,
        env: GymnasiumEnv,
        layers: Sequence[Any],
        kinds: Sequence[Kind],
        steps: PlainSteps,
    ):
        wrappers = layers[-2::-1]
        self.conversions = tuple(kind for kind in kinds if kind)
        self.converters = [each for each, kind in zip(wrappers, kinds, strict=True) if kind]
        self.steps = steps
        self.deadline: float | None = None
        self.fd = -1
        self._env = env
        self._outermost = layers[0]
        self._links = [*pairwise(layers)]
        self._limits = [each for each in wrappers if type(each) is TimeLimit]

    @classmethod
    def of(cls, env: GymnasiumEnv, batch: FrameBatch, place: int) -> "FastSteps | None":
        """Returns the steps of the current episode. None if they must go through all layers.

        Args:
            env: The environment.
            batch: Sends the requests, and reads the replies.
            place: The place of the environment in the batch.
        """
        layers: list[Any] = [env.compiler_env]
        while isinstance(layers[-1], CompilerEnvWrapper):
            layers.append(layers[-1].env)
        inner = layers.pop()
        found = [_kind_of(each) for each in reversed(layers)]
        kinds = [kind for kind in found if kind is not None]
        if len(kinds) < len(found) or not _is_plain(inner) or type(env) is not GymnasiumEnv:
            return None
        # The adapter converts observations of other spaces.
        outside, inside = env.compiler_env.observation_space, inner.observation_space
        if not isinstance(inside, Box) or not inside.shape or env.observation_space is not outside:
            return None
        steps = PlainSteps.of(inner._runner, batch, place)
        return None if steps is None else cls(env, [*layers, inner], kinds, steps)

    def is_current(self) -> bool:
        """Returns true if the next step can be made here: nothing but steps has changed."""
        if self._env.compiler_env is not self._outermost or not self.steps.is_current():
            return False
        for outer, inner in self._links:
            if outer.env is not inner:
                return False
        # The step that reaches a limit is not plain.
        return not self._limits or all(
            each._elapsed_steps + 1 < each.max_episode_steps for each in self._limits
        )

    def begin(self, action: int, limit: StepLimit) -> Self:
        """Begins a step, whose request the batch sends. Returns the step.

        Call it only if :meth:`is_current` returns true.

        Raises:
            ValueError: If the action is out of range.
        """
        steps = self.steps
        steps.begin(action, limit)
        self.deadline, self.fd = steps.deadline, steps.fd
        return self

    def send(self) -> Self:
        """Sends what the batch could not send of the request. Returns the step."""
        self.steps.send()
        self.fd = self.steps.fd
        return self

    def receive(self) -> bool:
        """Receives the reply. Returns true if the step is plain, see :class:`PlainSteps`."""
        steps = self.steps
        if steps.is_plain:
            return True
        if not steps.receive():
            return False
        for each in self._limits:
            each._elapsed_steps += 1
        return True

    def result(self) -> StepType:
        """Waits for the end of the step. Returns the result of any step, plain or not."""
        is_plain = self.receive()
        result = self.steps.result()
        for wrapper in self.converters:
            result = wrapper._converted(result)
        if not is_plain:
            for each in self._limits:
                result = each._limited(1, result)
        return result

    def cancel(self) -> None:
        """Cancels the step, and so the episode."""
        self.steps.cancel()


class BatchConversion:
    """Converts observations of several environments at once, as their wrappers do one by one.

    Args:
        conversions: The conversions, the same for all environments.
        count: The number of environments.

    Attributes:
        conversions: Same as the argument.
    """

    def __init__(self, conversions: tuple[Kind, ...], count: int):
        self.conversions = conversions
        sizes = [kind[-1] for kind in conversions if kind[0] is ActionHistogram]
        # The number of each action in the episode of each environment, by its number.
        self._counts = np.zeros((count, sizes[0] if sizes else 0), np.int64)
        # The actions that were counted: the list, and its length at that time.
        self._counted: list[list[int] | None] = [None] * count
        self._lengths = [0] * count

    def rows(self, numbers: list[int], steps: Sequence[FastSteps]) -> np.ndarray:
        """Returns the observations of plain steps, a row for each.

        Args:
            numbers: The numbers of the environments.
            steps: Their steps.
        """
        values = [each.steps.observation for each in steps]
        rows = np.concatenate(values).reshape(len(values), *values[0].shape)
        for position, kind in enumerate(self.conversions):
            if kind[0] is AutophaseNorm:
                converters = [each.converters[position] for each in steps]
                sizes = np.array([each._instruction_count for each in converters])
                normalized = np.empty(rows.shape, np.float32)
                rows = np.divide(rows, sizes[:, np.newaxis], normalized, casting="same_kind")
            else:
                size = rows.shape[1]
                joined = np.empty((len(rows), size + kind[-1]), np.float32)
                # As the wrapper does: first to the type of the space inside, then to that of ours.
                joined[:, :size] = rows.astype(kind[3], copy=False)
                counts = self._updated_counts(numbers, steps)
                np.divide(counts, kind[2], joined[:, size:], casting="same_kind")
                rows = joined
        return rows

    def _updated_counts(self, numbers: list[int], steps: Sequence[FastSteps]) -> np.ndarray:
        counts, counted, lengths = self._counts, self._counted, self._lengths
        for number, each in zip(numbers, steps, strict=True):
            actions = each.steps.actions
            length, was_counted = len(actions), counted[number] is actions
            counted[number] = None  # In case of an interrupt (Ctrl-C) before the end.
            if was_counted and lengths[number] == length - 1:
                counts[number, actions[-1]] += 1
            elif not (was_counted and lengths[number] == length):
                counts[number] = np.bincount(actions, minlength=counts.shape[1])
            lengths[number] = length
            counted[number] = actions
        return counts[numbers]
