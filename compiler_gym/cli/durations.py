"""Times as people write them."""

import re

_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)")


def parse_duration(text: str) -> float:
    """Returns the seconds of a text such as ``60s``, ``2m`` or ``500ms``.

    Raises:
        ValueError: If it is not a time.
    """
    match = _DURATION.fullmatch(text.strip())
    if not match or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is not a time: write 60s, 2m or 500ms")
    return float(match[1]) * _UNITS[match[2]]
