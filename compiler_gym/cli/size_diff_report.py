"""Reports of ``compiler-gym size-diff``: text, Markdown and JSON."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any

from compiler_gym.cli.console import print_json, print_line, print_table
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
    UnitChange,
    compare_assembly,
)
from compiler_gym.util.shell_format import plural

_WIDTH = 80
_MAX_NAME = 36
_MAX_NAME_IN_MARKDOWN = 120
_MAX_ASSEMBLY_LINES = 60
_MAX_LISTED = 5
# GitHub's limit for a comment is 65,536 characters.
_MAX_COMMENT = 60_000

Row = dict[str, Any]


def print_not_checked(reason: str, form: str) -> None:
    """Prints that two builds were not compared, where a reader of the output expects a verdict.

    Args:
        reason: The reason.
        form: ``text``, ``markdown`` or ``json``.
    """
    if form == "json":
        print_json({"verdict": "not checked", "reasons": [reason]})
    elif form == "markdown":
        print_line(f"### Size: not checked\n\n{_inline(reason)}")


class Report:
    """A report about two builds.

    Args:
        old: The files of the old build.
        new: The files of the new build.
        limit: The growth that is allowed; None for any.
        judged: The bytes that the limit is for.

    Attributes:
        unreadable: The reasons for which some files were not compared.
        exit_code: 0 within the limit, 1 above it, 2 if not everything could be compared.

    Raises:
        ValueError: If the builds cannot be compared.
    """

    def __init__(self, old: Build, new: Build, limit: Limit | None, judged: Judged):
        self._diff = SizeDiff(old.units, new.units)
        self._limit = limit
        self._judged = judged
        self._ignored = Counter(old.ignored) | Counter(new.ignored)
        self.unreadable = [*old.unreadable, *new.unreadable]
        self.exit_code = {"not checked": 2, "above": 1}.get(self.verdict, 0)

    @property
    def verdict(self) -> str:
        """The answer in a word or two."""
        if self.unreadable:
            return "not checked"
        if self._limit is None:
            return "same" if self._diff.is_same else "no limit"
        if self._limit.is_exceeded(*self._total):
            return "above"
        return "same" if self._diff.is_same else "within"

    @property
    def _total(self) -> tuple[int, int]:
        return self._diff.total(self._judged.regions)

    @property
    def _answer(self) -> str:
        """The first line."""
        before, after = self._total
        what = {"loaded": "loaded bytes", "ram": "bytes of RAM"}.get(
            self._judged.value, f"bytes of {self._judged.value}"
        )
        if self._diff.is_same:
            files = len(self._diff.units)
            which = "both files have" if files == 1 else f"all {files} files have"
            text = f"Same: {which} the same bytes in the two builds, {after:,} {what}."
        elif before == after:
            text = f"No change: {after:,} {what}, as before."
        else:
            share = f" ({_percent(before, after)})" if before else ""
            text = f"{after - before:+,} {what}{share}: {after:,}, before {before:,}."
        if self.unreadable:
            return f"Not checked: {plural(len(self.unreadable), 'file')} cannot be read. {text}"
        if self._limit is None:
            return text
        is_above = self._limit.is_exceeded(before, after)
        return f"{text} {'Above' if is_above else 'Within'} the limit of {self._limit.text}."

    @property
    def _memory(self) -> str:
        """A sentence with the growth of each kind of memory."""
        growth = {each: _growth(*self._diff.total([each])) for each in Region}
        parts = [
            f"{name} {_growth(*self._diff.total(regions))} to {self._diff.total(regions)[1]:,} "
            f"({', '.join(f'{each.value} {growth[each]}' for each in regions)})"
            for name, regions in (("Flash", LOADED), ("RAM", RAM))
        ]
        return f"{'; '.join(parts)}."

    def print(self, form: str, by: Rows | None, limit: int, assembly: int) -> None:
        """Prints the report.

        Args:
            form: ``text``, ``markdown`` or ``json``.
            by: The subjects of the table of the text; None for the best ones.
            limit: The maximum number of rows of a table.
            assembly: The number of functions to show the assembly of.
        """
        if form == "json":
            print_json(self._as_json(assembly))
        elif form == "markdown":
            print_line(self._as_markdown(limit, assembly))
        else:
            self._print_text(by, limit, assembly)

    # Rows. All have the same columns, apart from the first ones.

    @cached_property
    def _symbols(self) -> list[SymbolChange]:
        """The symbols whose size is different, and those that are new, gone or renamed."""
        return [
            each
            for each in self._diff.symbols
            if each.growth or each.old is None or each.new is None or each.is_renamed
        ]

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of symbols as sources have them."""
        changed = {it.name for each in self._symbols for it in (each.old, each.new) if it}
        symbols = sorted(changed)
        names = readable_names([visible(each) for each in symbols])
        return dict(zip(symbols, names, strict=True))

    def _shown(self, change: SymbolChange) -> str:
        """Returns the name of a symbol, with its source or its file if there are several."""
        symbol = change.symbol
        name = self._names[symbol.name]
        if self._counts[symbol.name] < 2:
            return name
        place = symbol.source or (symbol.unit.name if len(self._diff.units) > 1 else "")
        return f"{name} ({place.rpartition('/')[2]})" if place else name

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(each.symbol.name for each in self._diff.symbols)

    def _symbol_rows(self) -> list[Row]:
        """Returns the symbols that grew or shrank, and the bytes that no symbol has."""
        rows = [
            {
                "symbol": self._shown(each),
                "in": "/".join(dict.fromkeys(part.region.value for part in each.symbol.parts)),
                "old": each.old.size if each.old else None,
                "new": each.new.size if each.new else None,
                "change": each.growth,
            }
            for each in self._symbols
            if each.growth
        ]
        regions = {name: region.value for name, region in self._diff.sections}
        rows += [
            {
                "symbol": f"(no symbol, {name})",
                "in": regions[name],
                "old": before,
                "new": after,
                "change": after - before,
            }
            for name, (before, after) in self._diff.rests.items()
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
            for (name, region), (before, after) in self._diff.sections.items()
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
            for each in self._diff.units
        )

    def _rows(self, by: Rows | None) -> list[Row]:
        if by is None:
            by = Rows.SYMBOL if self._diff.with_symbols else Rows.SECTION
        rows = {
            Rows.SYMBOL: self._symbol_rows,
            Rows.SECTION: self._section_rows,
            Rows.FILE: self._file_rows,
        }
        return rows[by]()

    # Notes about what the tables do not show.

    def _notes(self) -> list[str]:
        """Returns sentences about symbols, files, and what was not compared."""
        notes = []
        if self._symbols:
            counts = {
                "grew": [it for it in self._symbols if it.old and it.new and it.growth > 0],
                "shrank": [it for it in self._symbols if it.old and it.new and it.growth < 0],
                "new": [it for it in self._symbols if it.old is None],
                "gone": [it for it in self._symbols if it.new is None],
                "renamed": [it for it in self._symbols if it.is_renamed],
            }
            found = ", ".join(f"{len(each)} {name}" for name, each in counts.items() if each)
            notes.append(f"Symbols: {found}.")
            for name in ("new", "gone"):
                if counts[name]:
                    largest = sorted(counts[name], key=lambda it: -it.symbol.size)
                    names = [f"{_cut(self._shown(it))} {it.growth:+,}" for it in largest]
                    notes.append(f"{name.capitalize()}: {_listed(names)}.")
            if counts["renamed"]:
                names = [self._renamed(each) for each in counts["renamed"]]
                notes.append(f"Renamed, with the same bytes: {_listed(names)}.")
        for build, only in (
            ("NEW", [each for each in self._diff.units if each.old is None]),
            ("OLD", [each for each in self._diff.units if each.new is None]),
        ):
            if only:
                names = [f"{visible(each.name)} ({sum(each.bytes):,})" for each in only]
                counts_not = not all(each.counts for each in only)
                end = "; a program that is gone saves nothing" if counts_not else ""
                notes.append(f"Only in {build}: {_listed(names)}{end}.")
        if self._diff.without_symbols:
            names = [*map(visible, self._diff.without_symbols)]
            notes.append(f"Symbols not checked, since the file has none: {_listed(names)}.")
        if self._ignored:
            kinds = [plural(count, *kind) for kind, count in sorted(self._ignored.items())]
            notes.append(f"Ignored: {', '.join(kinds)}.")
        notes += [f"Not checked: {visible(reason)}." for reason in self.unreadable]
        return notes

    def _renamed(self, change: SymbolChange) -> str:
        assert change.old is not None and change.new is not None
        old, new = (self._names[each.name] for each in (change.old, change.new))
        return f"{_cut(old)} -> {_cut(new)}"

    def _assembly(self, count: int) -> list[tuple[SymbolChange, list[str]]]:
        """Returns the changed assembly of the functions that grew most, or the reason for none."""
        grown = [
            each
            for each in self._symbols
            if each.growth > 0 and any(part.is_function for part in each.symbol.parts)
        ]
        found = []
        for each in grown[:count]:
            try:
                lines = [visible(line) for line in compare_assembly(each)]
            except (EnvironmentNotSupported, ValueError) as error:
                lines = [f"not checked: {visible(str(error))}"]
            if rest := lines[_MAX_ASSEMBLY_LINES:]:
                lines[_MAX_ASSEMBLY_LINES:] = [f"... {plural(len(rest), 'more line')}"]
            found.append((each, lines))
        return found

    # Formats.

    def _print_text(self, by: Rows | None, limit: int, assembly: int) -> None:
        print_line(_filled(self._answer))
        print_line(_filled(self._memory))
        rows = [] if self._diff.is_same and by is None else self._rows(by)
        if rows and limit:
            first, rest = rows[:limit], rows[limit:]
            if rest:
                first.append(_sum_of(rest))
            print_line()
            name = next(iter(first[0]))
            print_table([{**each, name: _cut(each[name])} for each in map(_with_sign, first)])
        if notes := self._notes():
            print_line()
        for note in notes:
            print_line(_filled(note))
        for change, lines in self._assembly(assembly):
            print_line(f"\n{self._shown(change)}: {change.growth:+,} bytes")
            for line in lines:
                print_line(f"  {line}")

    def _as_markdown(self, limit: int, assembly: int) -> str:
        before, after = self._total
        head = {
            "same": "the same",
            "not checked": "not checked",
            "above": f"{after - before:+,} bytes, above the limit",
        }.get(self.verdict, f"{after - before:+,} bytes" if after != before else "no change")
        blocks = [f"### Size: {head}", _inline(self._answer)]
        memory = [(each.value, *self._diff.total([each])) for each in Region] + [
            ("**flash**", *self._diff.total(LOADED)),
            ("**RAM**", *self._diff.total(RAM)),
        ]
        names = ("memory", "old", "new", "change")
        rows = [
            dict(zip(names, (name, old, new, new - old), strict=True)) for name, old, new in memory
        ]
        blocks.append(_markdown_table(rows))
        if not self._diff.is_same:
            for by in Rows:
                # One file has no table of files.
                if by is Rows.FILE and len(self._diff.units) < 2:
                    continue
                changed = [each for each in self._rows(by) if each["change"]]
                if changed and limit:
                    first, rest = changed[:limit], changed[limit:]
                    first += [_sum_of(rest)] if rest else []
                    name = next(iter(first[0]))
                    quoted = [{**each, name: _code(each[name])} for each in first]
                    title = f"{by.value.capitalize()}s: {len(changed)} with another size"
                    blocks.append(_details(title, _markdown_table(quoted)))
        blocks += map(_inline, self._notes())
        for change, lines in self._assembly(assembly):
            # Nothing in the assembly can end a block of four marks.
            text = "\n".join(line.replace("````", "") for line in lines)
            title = f"{escape(self._shown(change), quote=False)}: {change.growth:+,} bytes"
            block = _details(title, f"````diff\n{text}\n````")
            if sum(map(len, blocks)) + len(block) < _MAX_COMMENT:
                blocks.append(block)
        return "\n\n".join(blocks)

    def _as_json(self, assembly: int) -> dict[str, Any]:
        before, after = self._total
        texts = {id(change): lines for change, lines in self._assembly(assembly)}
        return {
            "verdict": self.verdict,
            "reasons": self.unreadable,
            "judged": self._judged.value,
            "limit": self._limit.text if self._limit else None,
            "old": before,
            "new": after,
            "change": after - before,
            "memory": {
                name: _sizes(*self._diff.total(regions))
                for name, regions in [
                    *((each.value, [each]) for each in Region),
                    ("flash", LOADED),
                    ("ram", RAM),
                ]
            },
            "sections": [
                {"section": name, "memory": region.value, **_sizes(*pair)}
                for (name, region), pair in self._diff.sections.items()
            ],
            "files": [_file_as_json(each) for each in self._diff.units],
            "symbols": [
                {**self._symbol_as_json(each), **_lines_of(texts.get(id(each)))}
                for each in self._symbols
            ],
            "no_symbol": [
                {"section": name, **_sizes(*pair)} for name, pair in self._diff.rests.items()
            ],
            "without_symbols": self._diff.without_symbols,
            "ignored": {many: count for (_, many), count in self._ignored.items()},
        }

    def _symbol_as_json(self, change: SymbolChange) -> dict[str, Any]:
        symbol = change.symbol
        state = "renamed" if change.is_renamed else "changed"
        if change.old is None or change.new is None:
            state = "new" if change.old is None else "gone"
        return {
            "name": self._names[symbol.name],
            "symbol": symbol.name,
            "old_symbol": change.old.name if change.old else None,
            "parts": [part.symbol for part in symbol.parts],
            "aliases": sorted(symbol.aliases),
            "file": symbol.unit.name,
            "source": symbol.source,
            "section": symbol.parts[0].kind,
            "memory": symbol.parts[0].region.value,
            "state": state,
            "old": change.old.size if change.old else None,
            "new": change.new.size if change.new else None,
            "change": change.growth,
        }


def _file_as_json(change: UnitChange) -> dict[str, Any]:
    before, after = change.bytes
    return {
        "file": change.name,
        "old": before if change.old else None,
        "new": after if change.new else None,
        "change": after - before,
        "counted": change.counts,
    }


def _lines_of(lines: Sequence[str] | None) -> dict[str, Sequence[str]]:
    return {} if lines is None else {"assembly": lines}


def _sizes(before: int, after: int) -> dict[str, int]:
    return {"old": before, "new": after, "change": after - before}


def _growth(before: int, after: int) -> str:
    return f"{after - before:+,}" if after != before else "0"


def _percent(before: int, after: int) -> str:
    share = (after - before) / before
    # A small change is not 0.00%.
    return f"{share:+.2%}" if abs(share) >= 0.0001 else f"{share * 100:+.1g}%"


def _sorted(rows: Iterable[Row]) -> list[Row]:
    """Returns rows: the largest growth first, then the largest saving."""
    return sorted(rows, key=lambda it: (-max(it["change"], 0), it["change"]))


def _sum_of(rows: Sequence[Row]) -> Row:
    """Returns a row for all rows that a table has no place for."""
    first, *rest = rows[0]
    total: Row = {first: plural(len(rows), "other")}
    for name in rest:
        is_number = name != "in"
        total[name] = sum(each[name] or 0 for each in rows) if is_number else None
    return total


def _with_sign(row: Row) -> Row:
    return {**row, "change": f"{row['change']:+d}"}


def _cut(name: str, length: int = _MAX_NAME) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _MAX_LISTED
    more = f" and {plural(rest, 'other')}" if rest > 0 else ""
    return ", ".join(names[:_MAX_LISTED]) + more


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = [*rows[0]]
    marks = ["---" if place == 0 or name == "in" else "---:" for place, name in enumerate(names)]
    lines = [names, marks, *([_cell(each[name], name) for name in names] for each in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, int):
        return str(value)
    return f"{value:+,}" if name == "change" and value else f"{value:,}"


def _details(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _code(name: str) -> str:
    """Returns a name as code in a cell of a table."""
    text = _cut(name, _MAX_NAME_IN_MARKDOWN).replace("`", "'").replace("|", "\\|")
    return f"`{text}`"


def _inline(text: str) -> str:
    """Returns a sentence in which Markdown has nothing to mark."""
    for mark in "\\`*_[]#|~@":
        text = text.replace(mark, f"\\{mark}")
    return escape(text, quote=False)
