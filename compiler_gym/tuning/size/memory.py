"""The memory of searches: an edited source starts from what its former version wanted.

Calls and functions have other numbers after an edit. So decisions are kept by the content of
functions, else by their names, and those about calls by caller, callee and order.

A source starts from its own former version only, never from other sources: what is found must not
depend on the order in which a build compiles them. A source that has not changed starts from where
its former search started, so that repeating a search gives the same bytes.
"""

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.tuning.size.inlining import CallSite
from compiler_gym.tuning.size.moves import Function
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.runfiles_path import cache_path
from compiler_gym.util.shell_format import plural

_FOLDER = "size-memory"
_MAX_FILES = 4096

Call = tuple[str, int]
"""The name of a callee, and which of its calls in a function."""


@dataclass(frozen=True)
class FunctionDecisions:
    """The decisions about a function.

    Attributes:
        name: The name of the function.
        content: A digest of its unoptimised code.
        adjustments: The adjustments of it, see :class:`Change`.
        calls: Whether to inline calls in it.
    """

    name: str
    content: str
    adjustments: tuple[str, ...] = ()
    calls: tuple[tuple[Call, bool], ...] = ()


@dataclass(frozen=True)
class Recipe:
    """A change in terms that outlast edits of the source.

    Attributes:
        options: Options of LLVM.
        passes: Passes of the plugin.
        sequence: Passes of a policy.
        functions: All functions of the source.
        is_past_portfolio: Whether the search had tried the portfolio.
    """

    options: tuple[str, ...]
    passes: tuple[str, ...]
    sequence: tuple[str, ...]
    functions: tuple[FunctionDecisions, ...]
    is_past_portfolio: bool


@dataclass(frozen=True)
class Recalled:
    """A recipe for the present version of its source.

    Attributes:
        change: The change.
        same: The number of functions that are in the recipe with the same content.
        functions: The number of functions.
        is_past_portfolio: Whether the former search had tried the portfolio.
    """

    change: Change
    same: int
    functions: int
    is_past_portfolio: bool

    @property
    def description(self) -> str:
        """A sentence about it for users."""
        return (
            "began with the decisions for a former version of the source: "
            f"{self.same} of {plural(self.functions, 'function')} unchanged"
        )


def recipe_of(
    change: Change,
    functions: Sequence[Function],
    sites: Sequence[CallSite],
    is_past_portfolio: bool,
) -> Recipe:
    """Returns the recipe of a change.

    Args:
        change: The change.
        functions: The functions of the source.
        sites: Its calls.
        is_past_portfolio: Whether the search has tried the portfolio.
    """
    adjusted, decided = dict(change.functions), dict(change.calls)
    calls: dict[str, list[tuple[Call, bool]]] = defaultdict(list)
    for site, call in _calls(sites):
        if site.index in decided:
            calls[site.caller].append((call, decided[site.index]))
    decisions = (
        FunctionDecisions(
            each.name, each.content, adjusted.get(each.index, ()), tuple(calls[each.name])
        )
        for each in functions
    )
    return Recipe(
        change.options, change.passes, change.sequence, tuple(decisions), is_past_portfolio
    )


def recall(recipe: Recipe, functions: Sequence[Function], sites: Sequence[CallSite]) -> Recalled:
    """Returns the change that a recipe stands for, as far as it fits.

    Args:
        recipe: The recipe of another version of the source.
        functions: The functions of the source.
        sites: Its calls.
    """
    by_content = {each.content: each for each in recipe.functions}
    by_name = {each.name: each for each in recipe.functions}
    adjusted: dict[int, tuple[str, ...]] = {}
    wanted: dict[str, Mapping[Call, bool]] = {}
    same = 0
    for function in functions:
        former = by_name.get(function.name)
        if former is None or former.content != function.content:
            former = by_content.get(function.content, former)
        if former is None:
            continue
        same += former.content == function.content
        wanted[function.name] = dict(former.calls)
        if former.adjustments:
            adjusted[function.index] = former.adjustments
    calls = {
        site.index: wanted[site.caller][call]
        for site, call in _calls(sites)
        if call in wanted.get(site.caller, ())
    }
    change = Change(
        options=recipe.options,
        passes=recipe.passes,
        calls=tuple(sorted(calls.items())),
        functions=tuple(sorted(adjusted.items())),
        sequence=recipe.sequence,
    )
    return Recalled(change, same, len(functions), recipe.is_past_portfolio)


def _calls(sites: Sequence[CallSite]) -> list[tuple[CallSite, Call]]:
    """Returns calls with what is kept of them."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    calls = []
    for site in sites:
        number = counts[site.caller, site.callee]
        counts[site.caller, site.callee] += 1
        calls.append((site, (site.callee, number)))
    return calls


class Memory:
    """The recipe of one source, in a file of a folder.

    Args:
        folder: The folder. It is made when something is kept.
        compilation: How the source is compiled.
        facts: What else the result of a search depends on, such as the objective.
    """

    def __init__(self, folder: Path, compilation: Compilation, *facts: str):
        source = os.path.abspath(compilation.source)
        limits = compilation.limits.facts()
        words = (str(compilation.clang), source, *compilation.options, *facts, *limits)
        key = hashlib.sha256("\0".join(words).encode(errors="surrogateescape")).hexdigest()
        self._path = folder / f"{key[:40]}.json"

    def start(self, unit: Path) -> Recipe | None:
        """Returns the recipe that a search should start from; None if there is none.

        Args:
            unit: The unoptimised code of the source.
        """
        known = self._read()
        is_same = known.get("content") == _digest(unit)
        facts = known.get("start" if is_same else "found")
        with suppress(TypeError, ValueError, KeyError):
            return _recipe_from_json(facts) if facts else None
        return None

    def keep(self, unit: Path, start: Recipe | None, found: Recipe, size: int) -> None:
        """Keeps the recipe of the result of a search, unless there is as good a one of this unit.

        Args:
            unit: The unoptimised code of the source.
            start: What the search started from; None for nothing.
            found: The recipe.
            size: The size of the result, in the unit of the objective.
        """
        content, known = _digest(unit), self._read()
        former = known.get("size")
        if known.get("content") == content and isinstance(former, int) and former <= size:
            return
        facts = {
            "content": content,
            "size": size,
            "start": start and asdict(start),
            "found": asdict(found),
        }
        with suppress(OSError):  # The disk may be full. Searches do without, then.
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file_write(self._path, fileobj=True, mode="w") as file:
                json.dump(facts, file)
            self._forget_oldest()

    def _read(self) -> dict[str, Any]:
        try:
            facts = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return facts if isinstance(facts, dict) else {}

    def _forget_oldest(self) -> None:
        files = []
        for path in self._path.parent.glob("*.json"):
            with suppress(FileNotFoundError):  # Others remove some, too.
                files.append((path.stat().st_mtime_ns, path))
        for _, path in sorted(files)[:-_MAX_FILES]:
            path.unlink(missing_ok=True)


def open_memory(compilation: Compilation, *facts: str) -> Memory | None:
    """Returns the memory in the cache folder; None if there can be no such folder.

    Args:
        compilation: How the source is compiled.
        facts: What else the result of a search depends on, such as the objective.
    """
    try:
        return Memory(cache_path(_FOLDER), compilation, *facts)
    except OSError:
        return None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


def _recipe_from_json(facts: Mapping[str, Any]) -> Recipe:
    functions = (
        FunctionDecisions(
            each["name"],
            each["content"],
            tuple(each["adjustments"]),
            tuple(((callee, number), inline) for (callee, number), inline in each["calls"]),
        )
        for each in facts["functions"]
    )
    options, passes, sequence = (tuple(facts[key]) for key in ("options", "passes", "sequence"))
    return Recipe(options, passes, sequence, tuple(functions), facts["is_past_portfolio"])
