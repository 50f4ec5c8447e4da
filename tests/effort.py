"""Sizes of tests that repeat something: quick by default, long with ``--config=long`` of Bazel.

``tools/test.sh --all`` runs the long forms. The code of a test is the same in both.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

IS_LONG = os.environ.get("COMPILER_GYM_LONG_TESTS") == "1"
"""Whether this run has hours rather than minutes. ``.bazelrc`` sets the variable."""


def effort(quick: T, long: T) -> T:
    """Returns the number of repetitions, or whatever else the length of a test depends on."""
    return long if IS_LONG else quick


def sample(items: Sequence[T], count: int) -> list[T]:
    """Returns all items in long runs, else ``count`` of them, evenly spaced and always the same."""
    count = effort(min(count, len(items)), len(items))
    return [items[i * len(items) // count] for i in range(count)]
