"""Copies of random number generators."""

import numpy as np
import pytest

from compiler_gym.util.random_state import copy_generator


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_same_numbers_independently(bits):
    rng = np.random.Generator(bits(5))
    rng.integers(10, size=3, dtype=np.int32)  # Leaves half of a number behind.
    clone = copy_generator(rng)
    assert type(clone.bit_generator) is bits
    ours = rng.integers(1000, size=20, dtype=np.int32)
    assert (clone.integers(1000, size=20, dtype=np.int32) == ours).all()
    rng.random(7)
    assert clone.random() != rng.random()
