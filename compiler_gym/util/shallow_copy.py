"""Copies of objects."""

from typing import TypeVar

_T = TypeVar("_T")


def shallow_copy(original: _T) -> _T:
    """Returns what ``copy.copy`` does for an object that has a ``__dict__`` only, but sooner."""
    clone = object.__new__(type(original))
    clone.__dict__ = original.__dict__.copy()
    return clone
