"""Copies of random number generators."""

from typing import TypeVar

import numpy as np

_T = TypeVar("_T")


def shallow_copy(original: _T) -> _T:
    """Returns what ``copy.copy`` does for an object that has a ``__dict__`` only, but sooner."""
    clone = object.__new__(type(original))
    clone.__dict__ = original.__dict__.copy()
    return clone


def copy_generator(rng: np.random.Generator) -> np.random.Generator:
    """Returns a generator of the same numbers; what ``copy.deepcopy`` does, but sooner."""
    bits = rng.bit_generator
    # The seed does not matter, but to make one takes time. Older releases of NumPy do not give it.
    clone = type(bits)(getattr(bits, "seed_seq", None))
    clone.state = bits.state
    return np.random.Generator(clone)
