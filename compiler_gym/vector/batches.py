"""What vector environments return: a row for each environment."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array

from compiler_gym.vector.slot import Slot

# What the information of most steps consists of. The values are of type bool.
_STEP_KEYS = ("action_had_no_effect", "new_action_space")
_KEYS = set(_STEP_KEYS)
# The same in the information of all: the values, and who has them.
_INFO_KEYS = [name for key in _STEP_KEYS for name in (key, f"_{key}")]

VectorStepResult = tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]


class Batches:
    """The last results of all slots, in arrays that are used again and again.

    Args:
        slots: The slots.
        observation_space: The space of the observations of a single one.

    Attributes:
        rewards: float64[number of slots].
        terminations: bool[number of slots].
        truncations: Likewise.
    """

    def __init__(self, slots: Sequence[Slot], observation_space: Space[Any]):
        count = len(slots)
        self.rewards = np.zeros(count, np.float64)
        # All truth values, so that they are copied at once: terminations, truncations, then for
        # each key of the information its values, and that everybody has it.
        self._table = np.zeros((2 + 2 * len(_STEP_KEYS), count), np.bool_)
        self._table[3::2] = True
        self.terminations, self.truncations, *rows = self._table
        self._flags = list(zip(_STEP_KEYS, rows[::2], strict=True))
        self._slots = slots
        # Whose information consists of these alone.
        self._is_plain = [False] * count
        self._space = observation_space
        # What the array, or the arrays put together, are depends on the space.
        self._observations: Any = create_empty_array(observation_space, count, fn=np.zeros)
        # These are copied as soon as they are there; others are put together when they are wanted.
        self._has_rows = isinstance(observation_space, spaces.Box | spaces.Discrete)

    def keep(self, slot: Slot, reward: float, terminated: bool, truncated: bool) -> None:
        """Keeps the result of a slot, whose observation it has itself."""
        number = slot.number
        self.rewards[number] = reward
        self.terminations[number] = terminated
        self.truncations[number] = truncated
        if self._has_rows:
            self._observations[number] = slot.observation
        info = slot.infos[-1]
        self._is_plain[number] = is_plain = info.keys() == _KEYS and len(slot.infos) == 1
        if is_plain:
            for key, values in self._flags:
                values[number] = info[key]

    def observations(self, copies: bool) -> Any:
        """Returns the observations of all slots.

        Args:
            copies: Whether to return what does not change later.
        """
        if self._has_rows:
            return self._observations.copy() if copies else self._observations
        observations = [slot.observation for slot in self._slots]
        self._observations = concatenate(self._space, observations, self._observations)
        return deepcopy(self._observations) if copies else self._observations

    def all(self, copies: bool) -> VectorStepResult:
        """Returns the results of a step of all slots."""
        terminations, truncations, *flags = self._table.copy()
        infos = self._infos(self._slots, flags, False not in self._is_plain)
        if copies:
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
        infos = self._infos(slots, flags, all([self._is_plain[number] for number in numbers]))
        infos["env_id"] = ids
        return observations, self.rewards.take(ids), terminations, truncations, infos

    @staticmethod
    def _infos(
        slots: Sequence[Slot], flags: Sequence[np.ndarray], are_plain: bool
    ) -> dict[str, Any]:
        """Returns the information of some slots: if there is no more to say, these arrays."""
        if are_plain:
            return dict(zip(_INFO_KEYS, flags, strict=True))  # In a tenth of the time.
        return vector_infos([slot.infos for slot in slots])


def vector_infos(rows: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    """Returns information in the form of gymnasium's vector environments.

    Args:
        rows: What there is to say of each environment, in parts.

    Returns:
        An array for each key, and one of type bool with an underscore before the key that says
        who has it.
    """
    infos: dict[str, Any] = {}
    table = _InfoTable(len(rows))
    for position, row in enumerate(rows):
        for info in row:
            infos = table._add_info(infos, info, position)
    return infos


class _InfoTable(VectorEnv):
    """Has what gymnasium does with information, for any number of environments."""

    def __init__(self, count: int):
        self.num_envs = count
