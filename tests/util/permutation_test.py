"""Numbers of permutations."""

import itertools

import pytest

from compiler_gym.util.permutation import (
    convert_number_to_permutation,
    convert_permutation_to_number,
)


@pytest.mark.parametrize("size", range(6))
def test_lexicographic_order(size):
    for n, permutation in enumerate(itertools.permutations(range(size))):
        assert convert_number_to_permutation(n, size) == list(permutation)
        assert convert_permutation_to_number(permutation) == n
