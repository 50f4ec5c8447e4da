"""Copies of random number generators."""

import numpy as np


def copy_generator(rng: np.random.Generator) -> np.random.Generator:
    """Returns a generator of the same numbers; what ``copy.deepcopy`` does, but sooner."""
    bits = rng.bit_generator
    # The seed does not matter, but to make one takes time. Older releases of NumPy do not give it.
    clone = type(bits)(getattr(bits, "seed_seq", None))
    clone.state = bits.state
    return np.random.Generator(clone)
