"""Finds the units and decisions that make a build wrong, or a linked file larger."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from compiler_gym.cli.build_tree import BuildTree
from compiler_gym.cli.lock_file import Key
from compiler_gym.tuning.size.compilation import (
    Atom,
    Decisions,
    joined_decisions,
    single_decisions,
)
from compiler_gym.util.sequence_reducer import reductions

T = TypeVar("T")


class Culprits:
    """Leaves out what makes a check fail, a linked file larger, or exported symbols disappear.

    Args:
        tree: The build.
        check: The check; None if there is none.

    Attributes:
        left_out: The decisions with which the check fails, by unit.
        taken_back: The units that are as clang makes them, because of a linked file.
    """

    def __init__(self, tree: BuildTree, check: str | None):
        self.left_out: dict[Key, list[str]] = {}
        self.taken_back: list[Key] = []
        self._tree = tree
        self._check = check
        self._built: tuple[dict[Key, Decisions], int] | None = None

    def leave_out(self) -> None:
        """Leaves out units and decisions until the build is right.

        Raises:
            ChildProcessError: If the build fails, or the check without any decisions.
        """
        decisions = self._not_worse(self._tree.decisions())
        while self._is_wrong(decisions):
            keys = [key for key, each in decisions.items() if each]
            if not keys:
                raise ChildProcessError(
                    "The build or the check fails without any decisions, but did not before: is "
                    "its result the same each time?"
                )
            if not self.left_out:
                say("the check fails: looking for the unit")
            key, atoms = self._culprit(decisions, keys)
            texts = [f"{kind}: {text}" for kind, text in atoms]
            say(f"{key[0]} is wrong with {', '.join(texts)}: leaving that out")
            self.left_out[key] = [*self.left_out.get(key, []), *texts]
            kept = [each for each in single_decisions(decisions[key]) if each not in atoms]
            decisions = self._none_larger(decisions | {key: joined_decisions(kept)}, key)
            self._tree.refuse(key, texts)
            self._built = None
            decisions = self._not_worse(decisions)

    def _not_worse(self, decisions: dict[Key, Decisions]) -> dict[Key, Decisions]:
        """Returns decisions without those of units that make a linked file worse."""
        while files := self._worse(decisions):
            names = ", ".join(map(str, files))
            if not any(decisions.values()):
                say(f"{names}: larger without any decisions, too: does each build make the same?")
                break
            say(f"{names} would be larger, or lose exported symbols: looking for the unit")
            found = self._least_to_take_back(decisions, files)
            say(f"taking clang's object files of {' and '.join(key[0] for key in found)}")
            self.taken_back += found
            decisions = decisions | {key: {} for key in found}
        return decisions

    def _least_to_take_back(
        self, decisions: Mapping[Key, Decisions], files: Sequence[Path]
    ) -> list[Key]:
        """Returns a set of units without whose decisions the linked files are no worse.

        No part of it is enough. Large units keep their decisions if possible.
        """

        def without(some: Sequence[Key]) -> Mapping[Key, Decisions]:
            return {**decisions, **{key: {} for key in some}}

        keys = [key for key, each in decisions.items() if each]
        is_good: Callable[[Mapping[Key, Decisions]], bool] = self._is_no_worse
        relinked = self._tree.relinked(files)
        # It has to tell what the build has shown, before it is believed.
        if relinked and not relinked(decisions) and relinked(without(keys)):
            is_good = relinked
        return _last(keys, lambda some: is_good(without(some)))

    def _is_no_worse(self, decisions: Mapping[Key, Decisions]) -> bool:
        try:
            return not self._worse(decisions)
        except ChildProcessError:
            return False

    def _worse(self, decisions: Mapping[Key, Decisions]) -> list[Path]:
        """Builds with the given decisions. Returns the linked files that are worse than before."""
        if code := self._build(decisions):
            if self._check is None:
                raise ChildProcessError(f"The build ended with exit code {code}")
            return []  # The check will find the unit.
        return self._tree.worse_files()

    def _culprit(
        self, decisions: Mapping[Key, Decisions], keys: Sequence[Key]
    ) -> tuple[Key, list[Atom]]:
        """Returns a unit that makes the check fail, and its responsible decisions."""
        wrong = _last(keys, lambda some: self._is_same({k: decisions[k] for k in some}))
        key, others = wrong[0], {each: decisions[each] for each in wrong[1:]}
        say(f"it fails with {' and '.join(each[0] for each in wrong)}: looking for decisions")
        atoms = _last(
            single_decisions(decisions[key]),
            lambda some: self._is_same(others | {key: joined_decisions(some)}),
        )
        return key, atoms

    def _none_larger(self, decisions: dict[Key, Decisions], key: Key) -> dict[Key, Decisions]:
        """Returns decisions, without those for a unit that would be larger or not compile."""
        self._built = None
        try:
            self._tree.place(decisions)
        except ChildProcessError:
            return decisions | {key: {}}
        units = [unit for unit in self._tree.units if unit.key == key]
        is_larger = any(unit.sizes()[1] > unit.loaded for unit in units)
        return decisions | {key: {}} if is_larger else decisions

    def _is_same(self, decisions: Mapping[Key, Decisions]) -> bool:
        """Returns true if the check fails, and not because clang refuses the decisions."""
        try:
            return self._is_wrong(decisions)
        except ChildProcessError:
            return False

    def _is_wrong(self, decisions: Mapping[Key, Decisions]) -> bool:
        """Returns true if the build or the check fails. The build then has the given decisions."""
        code = self._build(decisions)
        if self._check is None:
            if code:
                raise ChildProcessError(f"The build ended with exit code {code}")
            return False
        return bool(code) or bool(self._tree.why_check_fails(self._check))

    def _build(self, decisions: Mapping[Key, Decisions]) -> int:
        """Builds with the given decisions, unless the last build did. Returns its exit code."""
        wanted = {key: each for key, each in decisions.items() if each}
        if self._built is None or self._built[0] != wanted:
            self._built = None
            self._tree.place(decisions)
            self._built = wanted, self._tree.build()
        return self._built[1]


def _last(items: Sequence[T], holds: Callable[[list[T]], bool]) -> list[T]:
    """Returns a smallest part of a list for which something still holds."""
    return [[*items], *reductions(items, holds)][-1]


def say(text: str) -> None:
    """Prints a message about the progress of a build."""
    print(f"compiler-gym build: {text}", file=sys.stderr, flush=True)
