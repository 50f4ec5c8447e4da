"""compiler_gym.spaces.common."""

import numpy as np
import pytest

from compiler_gym.spaces.common import issubdtype


@pytest.mark.parametrize(
    ("subtype", "supertype", "expected"),
    [
        (int, int, True),
        (bool, int, True),
        (int, np.integer, True),
        (np.int32, np.integer, True),
        (np.dtype(np.int32), np.int32, True),
        (np.float32, np.integer, False),
        (float, int, False),
        (str, str, True),
        (str, int, False),
        (dict, dict, True),
        (dict, int, False),
        ("int64", np.integer, True),
        ("nonsense", np.integer, False),
    ],
)
def test_issubdtype(subtype, supertype, expected):
    assert issubdtype(subtype, supertype) is expected
