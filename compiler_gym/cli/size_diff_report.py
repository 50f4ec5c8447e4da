"""Reports of ``compiler-gym size-diff``: the verdict, tables, notes and changed assembly."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from compiler_gym.cli.size_inputs import Build
from compiler_gym.cli.size_limit import Judged, Limit, Rows
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size.elf_sizes import Region
from compiler_gym.tuning.size.html_elements import visible
from compiler_gym.tuning.size.object_file import readable_names
from compiler_gym.tuning.size.size_diff import (
    LOADED,
    RAM,
    SizeDiff,
    SymbolChange,
    compare_assembly,
)
from compiler_gym.util.shell_format import plural
from compiler_gym.util.truncate import shortened

_MAX_NAME = 36
_MAX_ASSEMBLY_LINES = 60
_MAX_LISTED = 5

Row = dict[str, Any]


class Report:
    """A report about two builds.

    Args:
        old: The files of the old build.
        new: The files of the new build.
        limit: The growth that is allowed; None for any.
        judged: The bytes that the limit is for.

    Attributes:
        diff: The difference between the builds.
        limit: The growth that is allowed; None for any.
        judged: The bytes that the limit is for.
        ignored: The number of files that are ignored, by what they are: singular and plural.
        unreadable: The reasons for which some files were not compared.
        exit_code: 0 within the limit, 1 above it, 2 if not everything could be compared.

    Raises:
        ValueError: If the builds cannot be compared.
    """

    def __init__(self, old: Build, new: Build, limit: Limit | None, judged: Judged):
        self.diff = SizeDiff(old.units, new.units)
        self.limit = limit
        self.judged = judged
        self.ignored = Counter(old.ignored) | Counter(new.ignored)
        self.unreadable = [*old.unreadable, *new.unreadable]
        self.exit_code = {"not checked": 2, "above": 1}.get(self.verdict, 0)

    @property
    def verdict(self) -> str:
        """The answer in a word or two."""
        if self.unreadable:
            return "not checked"
        if self.limit is None:
            return "same" if self.diff.is_same else "no limit"
        if self.limit.is_exceeded(*self.total):
            return "above"
        return "same" if self.diff.is_same else "within"

    @property
    def total(self) -> tuple[int, int]:
        """The bytes before and after that the limit is for."""
        return self.diff.total(self.judged.regions)

    @property
    def answer(self) -> str:
        """The first line."""
        before, after = self.total
        what = {"loaded": "loaded bytes", "ram": "bytes of RAM"}.get(
            self.judged.value, f"bytes of {self.judged.value}"
        )
        if self.diff.is_same:
            files = len(self.diff.units)
            which = "both files have" if files == 1 else f"all {files} files have"
            text = f"Same: {which} the same bytes in the two builds, {after:,} {what}."
        elif before == after:
            text = f"No change: {after:,} {what}, as before."
        else:
            share = f" ({_percent(before, after)})" if before else ""
            text = f"{after - before:+,} {what}{share}: {after:,}, before {before:,}."
        if self.unreadable:
            return f"Not checked: {plural(len(self.unreadable), 'file')} cannot be read. {text}"
        if self.limit is None:
            return text
        is_above = self.limit.is_exceeded(before, after)
        return f"{text} {'Above' if is_above else 'Within'} the limit of {self.limit.text}."

    @property
    def memory(self) -> str:
        """A sentence with the growth of each kind of memory."""
        growth = {each: _growth(*self.diff.total([each])) for each in Region}
        parts = [
            f"{name} {_growth(*self.diff.total(regions))} to {self.diff.total(regions)[1]:,} "
            f"({', '.join(f'{each.value} {growth[each]}' for each in regions)})"
            for name, regions in (("Flash", LOADED), ("RAM", RAM))
        ]
        return f"{'; '.join(parts)}."

    # Rows. All have the same columns, apart from the first ones.

    @cached_property
    def symbols(self) -> list[SymbolChange]:
        """The symbols whose size is different, and those that are new, gone or renamed."""
        return [
            each
            for each in self.diff.symbols
            if each.growth or each.old is None or each.new is None or each.is_renamed
        ]

    @cached_property
    def names(self) -> dict[str, str]:
        """The names of symbols as sources have them."""
        changed = {it.name for each in self.symbols for it in (each.old, each.new) if it}
        symbols = sorted(changed)
        names = readable_names([visible(each) for each in symbols])
        return dict(zip(symbols, names, strict=True))

    def shown_name(self, change: SymbolChange) -> str:
        """Returns the name of a symbol, with its source or its file if there are several."""
        symbol = change.symbol
        name = self.names[symbol.name]
        if self._counts[symbol.name] < 2:
            return name
        place = symbol.source or (symbol.unit.name if len(self.diff.units) > 1 else "")
        return f"{name} ({place.rpartition('/')[2]})" if place else name

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(each.symbol.name for each in self.diff.symbols)

    def _symbol_rows(self) -> list[Row]:
        """Returns the symbols that grew or shrank, and the bytes that no symbol has."""
        rows = [
            {
                "symbol": self.shown_name(each),
                "in": "/".join(dict.fromkeys(part.region.value for part in each.symbol.parts)),
                "old": each.old.size if each.old else None,
                "new": each.new.size if each.new else None,
                "change": each.growth,
            }
            for each in self.symbols
            if each.growth
        ]
        regions = {name: region.value for name, region in self.diff.sections}
        rows += [
            {
                "symbol": f"(no symbol, {name})",
                "in": regions[name],
                "old": before,
                "new": after,
                "change": after - before,
            }
            for name, (before, after) in self.diff.rests.items()
            if after != before
        ]
        return _sorted(rows)

    def _section_rows(self) -> list[Row]:
        return _sorted(
            {
                "section": visible(name),
                "in": region.value,
                "old": before,
                "new": after,
                "change": after - before,
            }
            for (name, region), (before, after) in self.diff.sections.items()
            if before or after
        )

    def _file_rows(self) -> list[Row]:
        return _sorted(
            {
                "file": visible(each.name),
                "loaded, old": each.bytes[0] if each.old else None,
                "new": each.bytes[1] if each.new else None,
                "change": each.bytes[1] - each.bytes[0],
            }
            for each in self.diff.units
        )

    def rows(self, by: Rows | None) -> list[Row]:
        """Returns the rows of a table, the largest growth first.

        Args:
            by: The subjects of the table; None for the best ones.
        """
        if by is None:
            by = Rows.SYMBOL if self.diff.with_symbols else Rows.SECTION
        rows = {
            Rows.SYMBOL: self._symbol_rows,
            Rows.SECTION: self._section_rows,
            Rows.FILE: self._file_rows,
        }
        return rows[by]()

    # Notes about what the tables do not show.

    def notes(self) -> list[str]:
        """Returns sentences about symbols, files, and what was not compared."""
        notes = []
        if self.symbols:
            counts = {
                "grew": [it for it in self.symbols if it.old and it.new and it.growth > 0],
                "shrank": [it for it in self.symbols if it.old and it.new and it.growth < 0],
                "new": [it for it in self.symbols if it.old is None],
                "gone": [it for it in self.symbols if it.new is None],
                "renamed": [it for it in self.symbols if it.is_renamed],
            }
            found = ", ".join(f"{len(each)} {name}" for name, each in counts.items() if each)
            notes.append(f"Symbols: {found}.")
            for name in ("new", "gone"):
                if counts[name]:
                    largest = sorted(counts[name], key=lambda it: -it.symbol.size)
                    names = [f"{cut_name(self.shown_name(it))} {it.growth:+,}" for it in largest]
                    notes.append(f"{name.capitalize()}: {listed(names)}.")
            if counts["renamed"]:
                names = [self._renamed(each) for each in counts["renamed"]]
                notes.append(f"Renamed, with the same bytes: {listed(names)}.")
        for build, only in (
            ("NEW", [each for each in self.diff.units if each.old is None]),
            ("OLD", [each for each in self.diff.units if each.new is None]),
        ):
            if only:
                names = [f"{visible(each.name)} ({sum(each.bytes):,})" for each in only]
                counts_not = not all(each.counts for each in only)
                end = "; a program that is gone saves nothing" if counts_not else ""
                notes.append(f"Only in {build}: {listed(names)}{end}.")
        if self.diff.without_symbols:
            names = [*map(visible, self.diff.without_symbols)]
            notes.append(f"Symbols not checked, since the file has none: {listed(names)}.")
        if self.ignored:
            kinds = [plural(count, *kind) for kind, count in sorted(self.ignored.items())]
            notes.append(f"Ignored: {', '.join(kinds)}.")
        notes += [f"Not checked: {visible(reason)}." for reason in self.unreadable]
        return notes

    def _renamed(self, change: SymbolChange) -> str:
        assert change.old is not None and change.new is not None
        old, new = (self.names[each.name] for each in (change.old, change.new))
        return f"{cut_name(old)} -> {cut_name(new)}"

    def assembly(self, count: int) -> list[tuple[SymbolChange, list[str]]]:
        """Returns the changed assembly of the functions that grew most, or the reason for none.

        A function that grew by the same in several files is there once.

        Args:
            count: The maximum number of functions.
        """
        grown: dict[tuple[str, str, int], SymbolChange] = {}
        for each in self.symbols:
            if each.growth > 0 and any(part.is_function for part in each.symbol.parts):
                grown.setdefault((each.symbol.name, each.symbol.source, each.growth), each)
        found = []
        for each in [*grown.values()][:count]:
            try:
                lines = [visible(line) for line in compare_assembly(each)]
            except (EnvironmentNotSupported, ValueError) as error:
                lines = [f"not checked: {visible(str(error))}"]
            if rest := lines[_MAX_ASSEMBLY_LINES:]:
                lines[_MAX_ASSEMBLY_LINES:] = [f"... {plural(len(rest), 'more line')}"]
            found.append((each, lines))
        return found


def _growth(before: int, after: int) -> str:
    return f"{after - before:+,}" if after != before else "0"


def _percent(before: int, after: int) -> str:
    share = (after - before) / before
    # A small change is not 0.00%.
    return f"{share:+.2%}" if abs(share) >= 0.0001 else f"{share * 100:+.1g}%"


def _sorted(rows: Iterable[Row]) -> list[Row]:
    """Returns rows: the largest growth first, then the largest saving."""
    return sorted(rows, key=lambda it: (-max(it["change"], 0), it["change"]))


def cut_name(name: str, length: int = _MAX_NAME) -> str:
    """Returns the beginning of a name that is too long for a table."""
    return shortened(name, length, "…)" if name.endswith(")") else "…")


def listed(names: Sequence[str]) -> str:
    """Returns the first names, and the number of the other ones."""
    rest = len(names) - _MAX_LISTED
    more = f" and {plural(rest, 'other')}" if rest > 0 else ""
    return ", ".join(names[:_MAX_LISTED]) + more
