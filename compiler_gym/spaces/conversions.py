"""Conversions of spaces and observations for learning libraries."""

import copy
from typing import Any

import numpy as np
from gymnasium import spaces

from compiler_gym.spaces.permutation import Permutation
from compiler_gym.spaces.scalar import Scalar
from compiler_gym.spaces.sequence import Sequence
from compiler_gym.spaces.space_sequence import SpaceSequence

# Conversion of spaces of numbers to arrays of at least one dimension, for learning libraries.


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


# Placeholder values for observations that are not available.


def neutral_value(space: spaces.Space[Any]) -> Any:
    """Returns a constant value of a space: zeros, as few as the space allows.

    Numbers are zero, or the value nearest to zero. Texts and sequences have the minimum length.
    For other kinds of spaces, it is a sample.

    Raises:
        NotImplementedError: The space cannot be sampled.
    """
    if isinstance(space, Scalar):
        return space.dtype.type(min(max(0, space.min), space.max))
    if isinstance(space, spaces.Box):
        return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high)
    if isinstance(space, Sequence) and not isinstance(space, Permutation):
        return _neutral_sequence(space)
    if isinstance(space, SpaceSequence):
        return [neutral_value(space.space) for _ in range(space.size_range[0])]
    if isinstance(space, spaces.Dict):
        return {key: neutral_value(child) for key, child in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(neutral_value(child) for child in space.spaces)
    clone = copy.deepcopy(space)
    clone.seed(0)
    return clone.sample()


def _neutral_sequence(space: Sequence) -> Any:
    if space.opaque_data_format == "json://":
        return {}
    size = space.size_range[0]
    if space.dtype is str:
        return "0" * size
    if space.dtype is bytes:
        return bytes(size)
    if isinstance(space.dtype, spaces.Space):
        return [neutral_value(space.dtype) for _ in range(size)]
    if isinstance(space.dtype, np.dtype):
        bounds = space.scalar_range
        number = 0 if bounds is None else min(max(0, bounds.min), bounds.max)
        return np.full(size, number, dtype=space.dtype)
    return [] if size == 0 else space.sample()  # Raises an error that explains why not.
