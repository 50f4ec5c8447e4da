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


@pytest.mark.parametrize("n", [-1, 6])
def test_no_such_permutation(n):
    with pytest.raises(ValueError, match=str(n)):
        convert_number_to_permutation(n, 3)


@pytest.mark.parametrize("values", [[0, 0], [1, 2], [-1, 0]])
def test_not_a_permutation(values):
    with pytest.raises(ValueError, match="not a permutation"):
        convert_permutation_to_number(values)
