"""Compares the sizes of two builds: by memory, by section, and by symbol."""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size.elf_sizes import Part, Region, Unit
from compiler_gym.tuning.size.image import Instruction
from compiler_gym.tuning.size.object_file import group_name

# Compilers add these to the names of copies and pieces of a function. Numbers change with each
# build, and so do pieces: foo becomes foo and foo.cold.
_SUFFIX = re.compile(
    r"(?<=.)(?:\.(?:cold|hot|unlikely|warm|split|part|__part|isra|constprop|specialized|clone|"
    r"llvm|lto_priv|localalias|__uniq|\d+))+$"
)
_RUST_HASH = re.compile(r"17h[0-9a-f]{16}E$")

# Addresses in the text of instructions, and what is relative to another symbol.
_ADDRESS = re.compile(r"0x[0-9a-f]{5,}|\S+\+0x[0-9a-f]+")

# Smaller functions are equal by chance.
_MIN_RENAMED = 16
_MAX_DISASSEMBLED = 200

LOADED = (Region.TEXT, Region.RODATA, Region.DATA)
RAM = (Region.DATA, Region.BSS)


def base_name(symbol: str) -> str:
    """Returns a symbol without what compilers add to the names of copies and pieces."""
    return _RUST_HASH.sub("E", group_name(_SUFFIX.sub("", symbol)))


@dataclass(frozen=True, eq=False)
class Symbol:
    """A function or a variable in one build, with its copies and pieces.

    Attributes:
        name: Its symbol without the suffixes of compilers.
        unit: The unit that it is in.
        source: The source of a local symbol, as far as the unit tells; else empty.
        parts: Its copies and pieces.
    """

    name: str
    unit: Unit
    source: str
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(each.size for each in self.parts)

    @property
    def aliases(self) -> set[str]:
        """Further symbols at the same addresses, without the suffixes of compilers."""
        names = {base_name(alias) for part in self.parts for alias in part.aliases}
        return names - {self.name}


@dataclass(frozen=True)
class SymbolChange:
    """A symbol in two builds.

    Attributes:
        old: The symbol in the old build; None if it is new.
        new: The symbol in the new build; None if it is gone.
        is_renamed: Whether only the bytes are the same, and not the name.
    """

    old: Symbol | None
    new: Symbol | None
    is_renamed: bool = False

    @property
    def symbol(self) -> Symbol:
        """The symbol in the new build, or else in the old one."""
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def growth(self) -> int:
        """The bytes that it has grown by."""
        return (self.new.size if self.new else 0) - (self.old.size if self.old else 0)


@dataclass(frozen=True)
class UnitChange:
    """A file, or a member of an archive, in two builds.

    Attributes:
        old: The unit in the old build; None if it is new.
        new: The unit in the new build; None if it is gone.
    """

    old: Unit | None
    new: Unit | None

    @property
    def name(self) -> str:
        """Its name for people."""
        unit = self.new or self.old
        assert unit is not None
        return unit.name

    @property
    def counts(self) -> bool:
        """True if it is part of the totals. A program that is gone saves nothing."""
        return self.new is not None or (self.old is not None and not self.old.is_linked)

    @property
    def bytes(self) -> tuple[int, int]:
        """The loaded bytes in the old and in the new build."""
        old, new = (
            sum(unit.regions[region] for region in LOADED) if unit else 0
            for unit in (self.old, self.new)
        )
        return old, new


class SizeDiff:
    """The difference between two builds.

    Args:
        old: The units of the old build.
        new: The units of the new build.

    Raises:
        ValueError: If the builds cannot be compared. The text says why.
    """

    def __init__(self, old: Sequence[Unit], new: Sequence[Unit]):
        olds, news = ({each.name: each for each in units} for units in (old, new))
        names = {**olds, **news}
        self.units = [UnitChange(olds.get(name), news.get(name)) for name in names]
        for each in self.units:
            _check_pair(each)
        if not olds.keys() & news.keys():
            raise ValueError("no file of OLD has the same relative path as one of NEW")

    @property
    def counted(self) -> list[UnitChange]:
        """The units of the totals."""
        return [each for each in self.units if each.counts]

    @cached_property
    def is_same(self) -> bool:
        """True if all units have the same bytes in both builds."""
        return all(
            each.old and each.new and each.old.digest == each.new.digest for each in self.units
        )

    @cached_property
    def with_symbols(self) -> list[UnitChange]:
        """The units of the totals that have symbols in each build that they are in."""
        return [
            each
            for each in self.counted
            if all(unit is None or unit.has_symbols for unit in (each.old, each.new))
        ]

    @cached_property
    def without_symbols(self) -> list[str]:
        """The units that have no symbols, each with its build."""
        return [
            f"{unit.name} of {build}"
            for each in self.counted
            for unit, build in ((each.old, "OLD"), (each.new, "NEW"))
            if unit and not unit.has_symbols
        ]

    @cached_property
    def sections(self) -> dict[tuple[str, Region], tuple[int, int]]:
        """The bytes before and after, by the kind of section and the memory."""
        sizes: dict[tuple[str, Region], list[int]] = defaultdict(lambda: [0, 0])
        for each in self.counted:
            for place, unit in enumerate((each.old, each.new)):
                for key, size in unit.sections.items() if unit else ():
                    sizes[key][place] += size
        return {key: (before, after) for key, (before, after) in sizes.items()}

    def total(self, regions: Iterable[Region]) -> tuple[int, int]:
        """Returns the bytes before and after in some kinds of memory."""
        wanted = set(regions)
        sizes = [pair for (_, region), pair in self.sections.items() if region in wanted]
        return sum(before for before, _ in sizes), sum(after for _, after in sizes)

    @cached_property
    def symbols(self) -> list[SymbolChange]:
        """All symbols: those that grew most first, then those that shrank most."""
        pairs = _Pairs(
            [symbol for each in self.with_symbols if each.old for symbol in _symbols(each.old)],
            [symbol for each in self.with_symbols if each.new for symbol in _symbols(each.new)],
        )
        pairs.match(lambda each: (each.unit.name, each.source, each.name))
        pairs.match(lambda each: (each.unit.name, each.name))
        pairs.match(lambda each: each.name, only_alone=True)
        pairs.match_aliases()
        pairs.match_bytes()
        changes = [*pairs.found, *(SymbolChange(each, None) for each in pairs.old)]
        changes += (SymbolChange(None, each) for each in pairs.new)
        return sorted(changes, key=_order)

    @cached_property
    def rests(self) -> dict[str, tuple[int, int]]:
        """The bytes that no symbol has, before and after, by the kind of section."""
        rests: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for each in self.with_symbols:
            for place, unit in enumerate((each.old, each.new)):
                for part in unit.parts if unit else ():
                    if not part.symbol:
                        rests[part.kind][place] += part.size
        return {kind: (before, after) for kind, (before, after) in rests.items()}


def _check_pair(pair: UnitChange) -> None:
    old, new = pair.old, pair.new
    if not old or not new:
        return
    for what, was, now in (("kind", old.kind, new.kind), ("machine", old.machine, new.machine)):
        if was != now:
            noun = "architecture" if what == "machine" else what
            raise ValueError(f"{pair.name}: expected one {noun}, got {was} in OLD and {now} in NEW")


def _symbols(unit: Unit) -> Iterator[Symbol]:
    """Yields the symbols of a unit, with their copies and pieces."""
    whole = {
        base_name(each.symbol)
        for each in unit.parts
        if each.symbol and not each.is_local and base_name(each.symbol) == each.symbol
    }
    groups: dict[tuple[str, str], list[Part]] = {}
    for part in unit.parts:
        if not part.symbol:
            continue
        name, source = base_name(part.symbol), part.source
        if name != part.symbol and name in whole:
            source = ""  # A piece of a global function is local.
        groups.setdefault((name, source), []).append(part)
    for (name, source), parts in groups.items():
        yield Symbol(name, unit, source, tuple(parts))


class _Pairs:
    """Pairs of symbols of two builds.

    Attributes:
        old: The symbols of the old build that have no pair.
        new: Those of the new build.
        found: The pairs.
    """

    def __init__(self, old: Iterable[Symbol], new: Iterable[Symbol]):
        # The values play no part. Sets would forget the order.
        self.old = dict.fromkeys(old)
        self.new = dict.fromkeys(new)
        self.found: list[SymbolChange] = []

    def match(self, key: Callable[[Symbol], Hashable], only_alone: bool = False) -> None:
        """Makes pairs of the symbols with the same key.

        Args:
            key: Returns the key of a symbol.
            only_alone: Whether a key must be that of one symbol in each build.
        """
        old, new = ({each: key(each) for each in build} for build in (self.old, self.new))
        self._pair(old, new, only_alone=only_alone)

    def match_aliases(self) -> None:
        """Makes pairs of symbols one of which has the name of the other at its address."""
        for build, other in ((self.old, self.new), (self.new, self.old)):
            names = {alias: each for each in build for alias in each.aliases}
            for each in [*other]:
                partner = names.get(each.name)
                if partner is not None and partner in build:
                    old, new = (partner, each) if build is self.old else (each, partner)
                    self._take(old, new, is_renamed=False)

    def match_bytes(self) -> None:
        """Makes pairs of symbols with the same bytes."""
        shapes = [{_shape(each) for each in build} for build in (self.old, self.new)]
        common = shapes[0] & shapes[1]
        candidates = [
            [it for it in build if _shape(it) in common and it.size >= _MIN_RENAMED]
            for build in (self.old, self.new)
        ]
        old, new = map(_contents, candidates)
        self._pair(old, new, is_renamed=True)
        # Variables without bytes in the file are the same if no other one has their size.
        empty = [
            {each: _shape(each) for each in build if each.parts[0].region is Region.BSS}
            for build in candidates
        ]
        self._pair(empty[0], empty[1], only_alone=True, is_renamed=True)

    def _pair(
        self,
        old: Mapping[Symbol, Hashable],
        new: Mapping[Symbol, Hashable],
        only_alone: bool = False,
        is_renamed: bool = False,
    ) -> None:
        olds, news = _by_key(old), _by_key(new)
        for key in olds.keys() & news.keys():
            if only_alone and (len(olds[key]) > 1 or len(news[key]) > 1):
                continue
            for before, after in zip(olds[key], news[key], strict=False):
                self._take(before, after, is_renamed)

    def _take(self, old: Symbol, new: Symbol, is_renamed: bool) -> None:
        del self.old[old], self.new[new]
        self.found.append(SymbolChange(old, new, is_renamed))


def _order(change: SymbolChange) -> tuple[int, int, str, str]:
    """Returns the order of changes: the largest growth first, then the largest saving."""
    symbol = change.symbol
    return -max(change.growth, 0), change.growth, symbol.name, symbol.source


def _by_key(keys: Mapping[Symbol, Hashable]) -> dict[Hashable, list[Symbol]]:
    groups: dict[Hashable, list[Symbol]] = {}
    for symbol, key in keys.items():
        groups.setdefault(key, []).append(symbol)
    return groups


def _shape(symbol: Symbol) -> tuple[Hashable, ...]:
    first = symbol.parts[0]
    return len(symbol.parts), first.region, first.is_function, symbol.size


def _contents(symbols: Sequence[Symbol]) -> dict[Symbol, Hashable]:
    """Returns what symbols of one part consist of, without addresses and their own names."""
    contents: dict[Symbol, Hashable] = {}
    by_unit: dict[Unit, list[Symbol]] = {}
    for symbol in symbols:
        if len(symbol.parts) == 1 and symbol.parts[0].region is not Region.BSS:
            by_unit.setdefault(symbol.unit, []).append(symbol)
    for unit, group in by_unit.items():
        # In a linked file, code has the addresses of other functions.
        code = [each for each in group if unit.is_linked and each.parts[0].is_function]
        rest = [each for each in group if not unit.is_linked or not each.parts[0].is_function]
        digests = unit.digests([each.parts[0] for each in rest])
        contents |= {it: digests[it.parts[0]] for it in rest if it.parts[0] in digests}
        with suppress(EnvironmentNotSupported, ValueError):
            found = unit.assembly([each.parts[0] for each in code[:_MAX_DISASSEMBLED]])
            for each in code:
                if lines := found.get(each.parts[0]):
                    contents[each] = tuple(_without_names(line, each) for line in lines)
    return contents


def _without_names(line: Instruction, symbol: Symbol) -> str:
    text = line.text.replace(symbol.parts[0].symbol, "")
    return f"{line.label}:{_ADDRESS.sub('*', text)}"


def compare_assembly(change: SymbolChange) -> list[str]:
    """Returns the differences between the instructions of a function in two builds.

    Returns:
        The lines of ``diff -u`` without its head; all instructions of a new function.

    Raises:
        EnvironmentNotSupported: If ``llvm-objdump`` is not installed.
        ValueError: If it cannot be disassembled.
    """
    before, after = (_lines(each) if each else [] for each in (change.old, change.new))
    return [*unified_diff(before, after, n=2, lineterm="")][2:]


def _lines(symbol: Symbol) -> list[str]:
    found = symbol.unit.assembly(symbol.parts)
    lines = []
    for part in symbol.parts:
        lines += [f"{part.symbol}:"] if len(symbol.parts) > 1 and part in found else []
        for each in found.get(part, []):
            lines.append(f"{f'{each.label}:' if each.label else '':<5} {each.text}")
    return lines
