"""Names that do not exist: the error that says so, and suggestions."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice, takewhile

# Comparing takes about 20 us a candidate, and an error should not take seconds to be raised.
_MAX_CANDIDATES = 10_000

# If there are no more names than these, an error names them all; else only those that look like it.
_FEW_NAMES = 12


class UnknownNameError(KeyError, ValueError):
    """There is nothing of a name, or a part of a text does not stand for a value of a space.

    Users meet it when they misspell the name of an environment, benchmark, dataset, observation,
    reward or action. The text suggests names that look like it.
    """

    __str__ = Exception.__str__  # That of KeyError is the repr of the text.


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Returns the error for a name that does not exist, with names that look like it.

    Args:
        kind: What it should be the name of, e.g. ``"dataset"``.
        name: The name.
        known: What there is; may have no end.
    """
    names = list(islice(map(str, known), _MAX_CANDIDATES))
    suggestion = did_you_mean(str(name), names)
    listing = ""
    if not suggestion or len(names) <= _FEW_NAMES:
        listing = f" There are: {', '.join(names) or 'none'}"
    return UnknownNameError(f"There is no {kind} {str(name)!r}.{suggestion}{listing}")


def nearest_names(name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
    """Returns the candidates most like a name, best first.

    Upper and lower case are not told apart. If none is similar, candidates are returned that begin
    with the name, or it with them. Only the first 10,000 candidates are looked at.

    Args:
        name: What was asked for.
        candidates: What there is.
        count: The largest number of names to return.

    Returns:
        Up to ``count`` candidates; none if nothing is similar.
    """
    names = list(islice(candidates, _MAX_CANDIDATES))
    # What all URIs of a scheme or of a dataset have in common does not make them similar.
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
