"""Conversion of spaces of numbers to arrays of at least one dimension, for learning libraries."""

from typing import Any

import numpy as np
from gymnasium import spaces


def array_space(space: spaces.Space[Any], dtype: Any = None) -> spaces.Space[Any]:
    """Returns a space whose numbers are arrays of at least one dimension.

    Numbers, also those in dictionaries and tuples, become boxes of shape ``(1,)``. Other spaces,
    such as those of texts, stay as they are.

    Args:
        space: The space.
        dtype: The dtype of all boxes; by default each keeps its own.

    Returns:
        The new space, or the same object if there is nothing to change.
    """
    if isinstance(space, spaces.Box):
        shape = space.shape or (1,)
        target = space.dtype if dtype is None else np.dtype(dtype)
        if (shape, target) == (space.shape, space.dtype):
            return space
        low, high = (np.reshape(each, shape).astype(target) for each in (space.low, space.high))
        return spaces.Box(low, high, dtype=target.type)
    if isinstance(space, spaces.Dict):
        by_key = {key: array_space(child, dtype) for key, child in space.spaces.items()}
        return space if by_key == space.spaces else spaces.Dict(by_key)
    if isinstance(space, spaces.Tuple):
        children = tuple(array_space(child, dtype) for child in space.spaces)
        return space if children == tuple(space.spaces) else spaces.Tuple(children)
    return space


def array_value(space: spaces.Space[Any], value: Any) -> Any:
    """Converts a value to the space that :func:`array_space` returned for its space.

    Args:
        space: The result of :func:`array_space`.
        value: A value of its argument.
    """
    if isinstance(space, spaces.Box):
        return np.asarray(value, dtype=space.dtype).reshape(space.shape)
    if isinstance(space, spaces.Dict):
        return {key: array_value(child, value[key]) for key, child in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(map(array_value, space.spaces, value))
    return value
