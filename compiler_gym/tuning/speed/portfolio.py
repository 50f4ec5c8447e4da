"""The options that are tried, the most promising first."""

import json
from functools import cache
from pathlib import Path

from compiler_gym.tuning.size.climb import Move
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.portfolio import moves_of

_SHIPPED = Path(__file__).parent / "portfolio.json"


@cache
def parts() -> tuple[Change, ...]:
    """Returns changes of thresholds and of choices that LLVM makes for speed.

    None allows what the user has not: other results of arithmetic, or other processors.
    """
    facts = json.loads(_SHIPPED.read_text(encoding="utf-8"))["parts"]
    return tuple(
        Change(tuple(each.get("options", ())), tuple(each.get("passes", ()))) for each in facts
    )


def moves(with_passes: bool, with_experimental: bool = False) -> list[Move]:
    """Returns moves that each add something to a change, or take it away.

    Args:
        with_passes: Whether clang has the plugin, which parts with passes need.
        with_experimental: Whether to include experimental options.
    """
    return moves_of(parts(), with_passes, with_experimental)
