"""The changes that are tried first, in the order of what they were good for on average."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from compiler_gym.tuning.size.climb import Move
from compiler_gym.tuning.size.compilation import Change

_SHIPPED = Path(__file__).parent / "portfolio.json"
_RANKING = Path(__file__).parent / "ranking.json"


@dataclass(frozen=True)
class Known:
    """A change that is known to be good for programs.

    Attributes:
        name: What it is called.
        change: The change.
        gain: How much smaller it made programs on average: 0.05 is 5 %.
    """

    name: str
    change: Change
    gain: float


@cache
def shipped_portfolio(with_experimental: bool = False) -> tuple[Known, ...]:
    """Returns the changes that come with the package, the best first.

    Args:
        with_experimental: Whether to include changes with experimental options.
    """
    known = (Known(each["name"], _change(each), each["gain"]) for each in _shipped()["changes"])
    return tuple(each for each in known if with_experimental or not is_experimental(each.change))


def experimental_options(change: Change) -> list[str]:
    """Returns the experimental options of a change, for code size or for speed.

    An option is experimental unless LLVM itself sets it for some target or level, or it only
    changes a threshold or leaves out a pass that LLVM can leave out.
    """
    experimental = {*_shipped()["experimental"]}
    return [option for option in change.options if option in experimental]


def is_experimental(change: Change) -> bool:
    """Returns whether a change has an experimental option."""
    return bool(experimental_options(change))


@cache
def shipped_digest() -> str:
    """Returns a digest of what searches try, which results that were kept depend on."""
    return hashlib.sha256(_SHIPPED.read_bytes() + _RANKING.read_bytes()).hexdigest()


def toggles(with_passes: bool, with_experimental: bool = False) -> list[Move]:
    """Returns moves that each add something to a change, or take it away.

    Args:
        with_passes: Whether clang has the plugin, which parts with passes need.
        with_experimental: Whether to include experimental options.
    """
    return moves_of(shipped_parts(True), with_passes, with_experimental)


@cache
def shipped_parts(with_experimental: bool = False) -> tuple[Change, ...]:
    """Returns the parts that :func:`toggles` adds to changes, the most promising first.

    Args:
        with_experimental: Whether to include experimental options.
    """
    parts = map(_change, _shipped()["parts"])
    return tuple(each for each in parts if with_experimental or not is_experimental(each))


def moves_of(
    parts: Iterable[Change], with_passes: bool, with_experimental: bool = False
) -> list[Move]:
    """Returns moves that each add a part to a change, or take it away.

    Args:
        parts: The parts, the most promising first.
        with_passes: Whether clang has the plugin, which parts with passes need.
        with_experimental: Whether to include experimental options.
    """
    return [
        partial(toggled, part)
        for part in parts
        if (with_passes or not part.passes) and (with_experimental or not is_experimental(part))
    ]


def skippable_passes() -> list[str]:
    """Returns passes of LLVM that some functions are better without, the most promising first."""
    return _shipped()["skipped"]


def toggled(part: Change, change: Change) -> Change:
    """Returns a change without a part, or with it if not all of it is there."""
    has_all = {*part.options} <= {*change.options} and {*part.passes} <= {*change.passes}
    # What sets the same option to another value is replaced.
    names = {option.partition("=")[0] for option in part.options}
    options = [each for each in change.options if each.partition("=")[0] not in names]
    passes = [each for each in change.passes if each not in part.passes]
    added = Change() if has_all else part
    return replace(change, options=(*options, *added.options), passes=(*passes, *added.passes))


def _change(facts: Mapping[str, Any]) -> Change:
    return Change(tuple(facts.get("options", ())), tuple(facts.get("passes", ())))


@cache
def _shipped() -> dict[str, Any]:
    return json.loads(_SHIPPED.read_text(encoding="utf-8"))
