"""Moves for the parts of a program that take the time: counts, hints for loops, calls to inline."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.inlining import decide
from compiler_gym.tuning.size.moves import Move
from compiler_gym.tuning.speed.profile import (
    COUNTS,
    USE_COUNTS,
    Loop,
    Profile,
    counts_path,
    option_of_counts,
    trained_path,
)

# The hottest loops do most of the work. More of them, or loops with less work, gain nothing.
_MAX_LOOPS, _MIN_SHARE = 5, 0.04
_MAX_CALLS = 8

# Hints of which a loop gets one list. LLVM decides about everything else by itself.
_HINTS = (
    ("unroll.disable",),
    ("unroll.count:2",),
    ("unroll.count:4",),
    ("vectorize.disable",),
    ("unroll.count:8",),
    ("interleave.count:4",),
)
_HINTS_OF_OUTER = (("unroll.disable",), ("unroll.count:2",))


def moves_of_profile(profile: Profile) -> list[Move]:
    """Returns moves that give a profile to LLVM, in two ways.

    The first is that of ``-fprofile-use``: with counts of a program that is inlined in part. The
    second has the counts of the unoptimised program.
    """
    moves: list[Move] = []
    if profile.trained is not None:
        moves.append(partial(_toggle_trained, str(profile.trained)))
    if profile.counts is not None:
        moves.append(partial(_toggle_counts, option_of_counts(profile.counts)))
    return moves


def profiles_of(change: Change, target: Path) -> list[Path]:
    """Returns the profiles of an object file that a change needs."""
    counts, trained = counts_path(target), trained_path(target)
    needed = [counts] if option_of_counts(counts) in change.options else []
    return [*needed, trained] if change.profile == str(trained) else needed


def moves_of_loops(profile: Profile) -> list[Move]:
    """Returns moves that each give hints to a hot loop, those for the hottest loop first."""
    return [
        partial(_hint, loop.index, hints)
        for loop in hot_loops(profile)
        for hints in (_HINTS if loop.is_innermost else _HINTS_OF_OUTER)
    ]


def hot_loops(profile: Profile) -> list[Loop]:
    """Returns the loops that do most of the work, the hottest first."""
    least = _MIN_SHARE * profile.work
    return [each for each in profile.loops if each.work >= least][:_MAX_LOOPS]


def moves_of_calls(profile: Profile) -> list[Move]:
    """Returns moves that each decide about one hot call, the most executed call first."""
    executed = [index for index, count in profile.calls.items() if count > 0]
    executed.sort(key=lambda index: (-profile.calls[index], index))
    return [
        partial(decide, [index], inline)
        for index in executed[:_MAX_CALLS]
        for inline in (True, False)
    ]


def _toggle_trained(trained: str, change: Change) -> Change:
    return replace(_without_profile(change), profile="" if change.profile else trained)


def _toggle_counts(option: str, change: Change) -> Change:
    rest = _without_profile(change)
    if option in change.options:
        return rest
    return replace(rest, options=(*rest.options, option), sequence=(USE_COUNTS, *rest.sequence))


def _without_profile(change: Change) -> Change:
    options = (each for each in change.options if not each.startswith(COUNTS))
    rest = (each for each in change.sequence if each != USE_COUNTS)
    return replace(change, options=tuple(options), sequence=tuple(rest), profile="")


def _hint(loop: int, hints: tuple[str, ...], change: Change) -> Change:
    """Gives hints to a loop in place of others. Takes them away if it has them."""
    has_all = dict(change.loops).get(loop) == hints
    return change.hint({loop: () if has_all else hints})
