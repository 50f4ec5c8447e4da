"""What the spaces have in common."""

from typing import Any

import numpy as np


def issubdtype(subtype: Any, supertype: Any) -> bool:
    """Says whether a type is another or a kind of it, as numpy sees it or as Python does.

    Args:
        subtype: A type, or a dtype of numpy.
        supertype: Likewise.
    """
    if isinstance(subtype, type) and isinstance(supertype, type) and issubclass(subtype, supertype):
        return True
    try:
        return bool(np.issubdtype(subtype, supertype))
    except TypeError:  # One of them is no type of numbers.
        return False
