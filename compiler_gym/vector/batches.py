"""Batches of results: one row for each environment of a vector environment."""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, Protocol

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector.utils import concatenate, create_empty_array

# The keys of ``info`` after most steps. The values are of type bool.
_STEP_KEYS = ("action_had_no_effect", "new_action_space")
_KEYS = set(_STEP_KEYS)
# Their keys in the batched ``info``: the values, and the mask of environments that have them.
_INFO_KEYS = [name for key in _STEP_KEYS for name in (key, f"_{key}")]

# A column of the table of booleans after a plain step, and its row for the first of the keys.
_PLAIN = np.array([False, False, *([False, True] * len(_STEP_KEYS))])[:, np.newaxis]
_HAD_NO_EFFECT = 2

VectorStepResult = tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]


class Row(Protocol):
    """The last result of an environment.

    Attributes:
        number: The position of the environment among all.
        observation: The observation.
        infos: Parts of the ``info``.
    """

    number: int
    observation: Any
    infos: list[dict[str, Any]]


class Batches:
    """The last results of all slots, in reused arrays.

    Args:
        slots: The slots.
        observation_space: The observation space of a single slot.
        add_info: Adds the information of a slot, given by its number, to that of all, in the form
            of gymnasium's vector environments: ``VectorEnv._add_info``.

    Attributes:
        rewards: float64[number of slots].
        terminations: bool[number of slots].
        truncations: bool[number of slots].
    """

    def __init__(
        self,
        slots: Sequence[Row],
        observation_space: Space[Any],
        add_info: Callable[[dict[str, Any], dict[str, Any], int], dict[str, Any]],
    ):
        count = len(slots)
        self.rewards = np.zeros(count, np.float64)
        # All booleans in one array, which is copied at once: terminations, truncations, then for
        # each key of the information its values and its mask.
        self._table = np.zeros((2 + 2 * len(_STEP_KEYS), count), np.bool_)
        self._table[3::2] = True
        self.terminations, self.truncations, *rows = self._table
        self._flags = list(zip(_STEP_KEYS, rows[::2], strict=True))
        self._slots = slots
        self._numbers = [*range(count)]
        self._add_info = add_info
        # Slots whose ``info`` has only these keys.
        self._is_plain = [False] * count
        self._space = observation_space
        # The structure of the arrays depends on the space.
        self._observations: Any = create_empty_array(observation_space, count, fn=np.zeros)
        # Arrays are copied on arrival; other observations are assembled on request.
        self._has_rows = isinstance(observation_space, spaces.Box | spaces.Discrete)
        self._shape_of_row = observation_space.shape

    def keep(self, slot: Row, reward: float, terminated: bool, truncated: bool) -> None:
        """Stores the result of a slot.

        Raises:
            TypeError: The observation space has arrays of another shape, or of a type that cannot
                hold these numbers.
        """
        number = slot.number
        self.rewards[number] = reward
        self.terminations[number] = terminated
        self.truncations[number] = truncated
        if self._has_rows:
            self._keep_array(number, np.asarray(slot.observation))
        info = slot.infos[-1]
        self._is_plain[number] = is_plain = info.keys() == _KEYS and len(slot.infos) == 1
        if is_plain:
            for key, values in self._flags:
                values[number] = info[key]

    def _keep_array(self, number: int, array: np.ndarray) -> None:
        rows = self._observations
        fits = array.dtype == rows.dtype or np.can_cast(array.dtype, rows.dtype, "same_kind")
        if not fits or array.shape != self._shape_of_row:
            raise TypeError(
                f"expected observations of shape {self._shape_of_row} and type {rows.dtype}, as "
                f"the observation space says, got {array.shape} and {array.dtype}; a wrapper that "
                "changes them declares its observation_space"
            )
        rows[number] = array

    def keep_rows(
        self,
        numbers: list[int],
        observations: np.ndarray,
        rewards: Sequence[float],
        truncations: Sequence[bool],
        had_no_effect: Sequence[bool],
    ) -> None:
        """Stores the results of plain steps of some slots, a row for each.

        Args:
            numbers: The numbers of the slots.
            observations: The observations.
            rewards: The rewards.
            truncations: Whether the episodes were truncated. None was terminated.
            had_no_effect: Whether the actions had no effect.
        """
        rows = slice(None) if numbers == self._numbers else numbers
        self._observations[rows] = observations
        self.rewards[rows] = rewards
        self._table[:, rows] = _PLAIN
        self.truncations[rows] = truncations
        self._table[_HAD_NO_EFFECT, rows] = had_no_effect
        for number in numbers:
            self._is_plain[number] = True

    def observations(self, copy: bool) -> Any:
        """Returns the observations of all slots.

        Args:
            copy: Return copies, which later steps do not change.
        """
        if self._has_rows:
            return self._observations.copy() if copy else self._observations
        observations = [slot.observation for slot in self._slots]
        self._observations = concatenate(self._space, observations, self._observations)
        return deepcopy(self._observations) if copy else self._observations

    def all(self, copy: bool) -> VectorStepResult:
        """Returns the results of a step of all slots."""
        terminations, truncations, *flags = self._table.copy()
        if False in self._is_plain:
            infos = self.infos(self._slots)
        else:
            infos = dict(zip(_INFO_KEYS, flags, strict=True))  # Ten times faster than add_info().
        if copy:
            return self.observations(True), self.rewards.copy(), terminations, truncations, infos
        return self.observations(False), self.rewards, self.terminations, self.truncations, infos

    def some(self, numbers: Sequence[int]) -> VectorStepResult:
        """Returns copies of the results of some slots, in the order of their numbers here.

        Args:
            numbers: The numbers of the slots, which are also ``"env_id"`` of the information.
        """
        ids = np.array(numbers, np.int64)
        slots = [self._slots[number] for number in numbers]
        if self._has_rows:
            observations = self._observations.take(ids, 0)
        else:
            observations = concatenate(
                self._space,
                deepcopy([slot.observation for slot in slots]),
                create_empty_array(self._space, len(slots), fn=np.zeros),  # type: ignore[arg-type]
            )
        terminations, truncations, *flags = self._table.take(ids, 1)
        if all([self._is_plain[number] for number in numbers]):
            infos = dict(zip(_INFO_KEYS, flags, strict=True))
        else:
            infos = _rows_of(self.infos(slots), ids)
        infos["env_id"] = ids
        return observations, self.rewards.take(ids), terminations, truncations, infos

    def infos(self, slots: Iterable[Row]) -> dict[str, Any]:
        """Returns the information of some slots, with rows for all slots.

        Returns:
            An array for each key, and a mask with an underscore before the key, true for slots that
            have it.
        """
        infos: dict[str, Any] = {}
        for slot in slots:
            for info in slot.infos:
                infos = self._add_info(infos, info, slot.number)
        return infos


def _rows_of(infos: dict[str, Any], numbers: np.ndarray) -> dict[str, Any]:
    """Returns some rows of the information of all slots."""
    return {
        key: _rows_of(value, numbers) if isinstance(value, dict) else value.take(numbers, 0)
        for key, value in infos.items()
    }
