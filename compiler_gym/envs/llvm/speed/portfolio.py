"""The options that are tried, the most promising first."""

import json
from functools import cache, partial
from pathlib import Path

from compiler_gym.envs.llvm.size.climb import Move
from compiler_gym.envs.llvm.size.compilation import Change
from compiler_gym.envs.llvm.size.portfolio import toggled

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


def moves(with_passes: bool) -> list[Move]:
    """Returns moves that each add something to a change, or take it away.

    Args:
        with_passes: Whether there are passes.
    """
    return [partial(toggled, part) for part in parts() if with_passes or not part.passes]
