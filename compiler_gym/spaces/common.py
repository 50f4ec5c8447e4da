"""Helpers shared by all spaces."""

from typing import Any

import numpy as np


def issubdtype(subtype: Any, supertype: Any) -> bool:
    """Returns true if a type is a subtype of another, by the rules of numpy or of Python.

    Args:
        subtype: A type, or a dtype of numpy.
        supertype: A type, or a dtype of numpy.
    """
    if isinstance(subtype, type) and isinstance(supertype, type) and issubclass(subtype, supertype):
        return True
    try:
        return bool(np.issubdtype(subtype, supertype))
    except TypeError:  # One of them is not numeric.
        return False
