"""Compares what vector environments return."""

from typing import Any

import numpy as np


def assert_same(one: Any, other: Any, path: str = "result") -> None:
    """Asserts that two results are equal, also in types and shapes."""
    assert type(one) is type(other), path
    if isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for key in one:
            assert_same(one[key], other[key], f"{path}[{key!r}]")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), path
        for i, parts in enumerate(zip(one, other, strict=True)):
            assert_same(*parts, f"{path}[{i}]")
    elif isinstance(one, np.ndarray) and one.dtype == object:
        assert one.shape == other.shape, path
        assert_same(one.tolist(), other.tolist(), path)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, path
        np.testing.assert_array_equal(one, other, path)
    else:
        assert one == other, (path, one, other)
