"""Copies of random number generators, and of objects."""

import numpy as np
import pytest

from compiler_gym.util.random_state import copy_generator, shallow_copy


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


class Parent:
    def __init__(self):
        self.number, self.values = 1, [2]


class Child(Parent):
    def __init__(self):
        raise AssertionError("called")


def test_copy():
    original = Parent()
    clone = shallow_copy(original)
    assert type(clone) is Parent
    assert clone.values is original.values
    clone.number = 3
    clone.other = 4
    assert original.__dict__ == {"number": 1, "values": [2]}


def test_it_makes_no_use_of_the_constructor():
    original = object.__new__(Child)
    assert type(shallow_copy(original)) is Child
