"""Errors and suggestions for names that do not exist."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice, takewhile

# Comparing takes about 20 us a candidate, and an error should not take seconds to be raised.
_MAX_CANDIDATES = 10_000

# An error lists all names if there are at most this many, else only similar ones.
_FEW_NAMES = 12

# Without a similar one, it lists at most this many.
_MANY_NAMES = 150

# Longer names are not names, but perhaps the contents of a file.
_LONGEST_NAME = 200


class UnknownNameError(KeyError, ValueError):
    """A name does not exist, or a part of a text is not a value of a space.

    Raised for misspelt names of environments, benchmarks, datasets, observations, rewards and
    actions. The text suggests similar names.
    """

    __str__ = Exception.__str__  # The text of a KeyError would be the repr.


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Returns the error for a name that does not exist, with similar names.

    Args:
        kind: The kind of the name, e.g. ``"dataset"``.
        name: The name.
        known: The existing names, perhaps infinitely many.
    """
    names = list(islice(map(str, known), _MAX_CANDIDATES))
    suggestion = did_you_mean(str(name), names)
    listing = ""
    if not suggestion or len(names) <= _FEW_NAMES:
        rest = ", ..." if len(names) > _MANY_NAMES else ""
        listing = f" There are: {', '.join(names[:_MANY_NAMES]) or 'none'}{rest}"
    return UnknownNameError(f"There is no {kind} {quoted(name)}.{suggestion}{listing}")


def several_names(kind: str, names: object, advice: str = "") -> TypeError:
    """Returns the error for several names where a space is chosen.

    Args:
        kind: The kind of the space, e.g. ``"reward"``.
        names: The names.
        advice: The end of the message.
    """
    return TypeError(f"expected the name of one {kind} space, got {names!r}{advice}")


def quoted(name: object) -> str:
    """Returns a name as an error message shows it: in quotes, and shortened if it is long."""
    text = str(name)
    if len(text) <= _LONGEST_NAME:
        return repr(text)
    return f"{text[:_LONGEST_NAME] + '...'!r} ({len(text)} characters)"


def nearest_names(name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
    """Returns the candidates most like a name, best first.

    Ignores case. If none is similar, returns candidates that are a prefix of the name, or the
    reverse. Only the first 10,000 candidates are looked at.

    Args:
        name: The requested name.
        candidates: The existing names.
        count: The largest number of names to return.

    Returns:
        Up to ``count`` candidates; none if nothing is similar.
    """
    if len(name) > _LONGEST_NAME:
        return []
    names = list(islice(candidates, _MAX_CANDIDATES))
    # The common prefix of URIs does not make them similar.
    scheme = name[: name.find("://") + 3] if "://" in name else ""
    same_scheme = [each for each in names if each.startswith(scheme)]
    common = _common_prefix([name, *(same_scheme or names)])
    prefix = common[: common.rfind("/") + 1]
    by_lower_case: dict[str, str] = {}
    for candidate in names:
        by_lower_case.setdefault(candidate.removeprefix(prefix).lower(), candidate)
    wanted = name.removeprefix(prefix).lower()
    matches = get_close_matches(wanted, by_lower_case, n=count)
    if not matches and wanted:  # Many names are long; often only the beginning is known.
        matches = [
            each for each in by_lower_case if each.startswith(wanted) or wanted.startswith(each)
        ][:count]
    return [by_lower_case[match] for match in matches]


def _common_prefix(texts: list[str]) -> str:
    """Returns what all texts begin with."""
    first, last = min(texts), max(texts)
    pairs = zip(first, last, strict=False)
    return first[: len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))]


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Returns a sentence that suggests the nearest names, or "" if nothing is similar.

    The sentence starts with a blank, so that it can be appended to an error message.
    """
    names = nearest_names(name, candidates)
    return f" Did you mean {' or '.join(names)}?" if names else ""
