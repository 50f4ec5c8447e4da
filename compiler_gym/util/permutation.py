"""Numbers of permutations."""

import math
from collections.abc import Sequence


def convert_number_to_permutation(n: int, permutation_size: int) -> list[int]:
    """Returns the n-th permutation of the integers from 0 on, in lexicographic order.

    Args:
        n: Its number, less than the factorial of the size; 0 is the ascending order.
        permutation_size: How many integers there are.

    Raises:
        ValueError: If there is no permutation of that number.
    """
    count = math.factorial(permutation_size)
    if not 0 <= n < count:
        raise ValueError(
            f"{n} is not in the range [0, {count}) of permutations of {permutation_size} integers"
        )
    remaining = list(range(permutation_size))
    permutation = []
    for left in range(permutation_size - 1, -1, -1):
        index, n = divmod(n, math.factorial(left))
        permutation.append(remaining.pop(index))
    return permutation


def convert_permutation_to_number(permutation: Sequence[int]) -> int:
    """Returns the number of a permutation: undoes :func:`convert_number_to_permutation`.

    Raises:
        ValueError: If it is not a permutation of the integers from 0 on.
    """
    remaining = list(range(len(permutation)))
    if sorted(permutation) != remaining:
        raise ValueError(f"{list(permutation)} is not a permutation of the integers from 0 on")
    number = 0
    for value in permutation:
        index = remaining.index(value)
        number += index * math.factorial(len(remaining) - 1)
        remaining.pop(index)
    return number
