"""Suggestions for a name that does not exist, for error messages."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

# Comparing takes about 20 us a candidate, and an error should not take seconds to be raised.
_MAX_CANDIDATES = 10_000


def nearest_names(name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
    """Returns the candidates most like a name, best first.

    Upper and lower case are not told apart. Only the first 10,000 candidates are looked at.

    Args:
        name: What was asked for.
        candidates: What there is.
        count: The largest number of names to return.

    Returns:
        Up to ``count`` candidates; none if nothing is similar.
    """
    by_lower_case: dict[str, str] = {}
    for candidate in islice(candidates, _MAX_CANDIDATES):
        by_lower_case.setdefault(candidate.lower(), candidate)
    matches = get_close_matches(name.lower(), by_lower_case, n=count)
    return [by_lower_case[match] for match in matches]


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Returns a sentence that suggests the nearest names, or "" if nothing is similar.

    The sentence starts with a blank, so that it can be appended to an error message.
    """
    names = nearest_names(name, candidates)
    return f" Did you mean {' or '.join(names)}?" if names else ""
