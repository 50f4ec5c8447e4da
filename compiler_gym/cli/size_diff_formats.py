"""Formats of the reports of ``compiler-gym size-diff``: text, Markdown and JSON."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

import typer

from compiler_gym.cli.console import (
    close_output,
    print_json,
    print_line,
    print_table,
)
from compiler_gym.cli.size_diff_report import Report, Row, cut_name
from compiler_gym.cli.size_limit import Rows
from compiler_gym.tuning.size.elf_sizes import Region
from compiler_gym.tuning.size.size_diff import LOADED, RAM, SymbolChange, UnitChange
from compiler_gym.util.shell_format import describe_error, plural
from compiler_gym.util.truncate import filled

_MAX_NAME_IN_MARKDOWN = 120
# GitHub's limit for a comment is 65,536 characters.
_MAX_COMMENT = 60_000


@contextmanager
def exit_if_not_checked(command: str, is_markdown: bool, is_json: bool) -> Iterator[str]:
    """Ends a command with exit code 2 if an error prevents the comparison of two builds.

    The output says so, too, because its readers expect a verdict. The value is the form of the
    output: ``text``, ``markdown`` or ``json``.

    Args:
        command: The name of the command.
        is_markdown: Whether the user wants Markdown.
        is_json: Whether the user wants JSON.

    Raises:
        typer.Exit: After an error of the user or the system.
    """
    form = "markdown" if is_markdown else "json" if is_json else "text"
    try:
        if is_markdown and is_json:
            raise ValueError("expected one of --markdown and --json, got both")
        yield form
    except (ValueError, OSError) as error:
        reason = describe_error(error)
        if form == "json":
            print_json({"verdict": "not checked", "reasons": [reason]})
        elif form == "markdown":
            print_line(f"### Size: not checked\n\n{_inline(reason)}")
        print(f"compiler-gym {command}: not checked: {reason}", file=sys.stderr)
        raise typer.Exit(2) from None


@contextmanager
def printing() -> Iterator[None]:
    """Prints results. If the reader closes them early, the exit code still is the answer."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        close_output()


def print_report(report: Report, form: str, by: Rows | None, limit: int, assembly: int) -> None:
    """Prints a report.

    Args:
        report: The report.
        form: ``text``, ``markdown`` or ``json``.
        by: The subjects of the table of the text; None for the best ones.
        limit: The maximum number of rows of a table.
        assembly: The number of functions to show the assembly of.
    """
    if form == "json":
        print_json(report_as_json(report, assembly))
    elif form == "markdown":
        print_line(_as_markdown(report, limit, assembly))
    else:
        _print_text(report, by, limit, assembly)


def _print_text(report: Report, by: Rows | None, limit: int, assembly: int) -> None:
    print_line(filled(report.answer))
    print_line(filled(report.memory))
    rows = [] if report.diff.is_same and by is None else report.rows(by)
    if rows and limit:
        first, rest = rows[:limit], rows[limit:]
        if rest:
            first.append(_sum_of(rest))
        print_line()
        name = next(iter(first[0]))
        print_table([{**each, name: cut_name(each[name])} for each in map(_with_sign, first)])
    if notes := report.notes():
        print_line()
    for note in notes:
        print_line(filled(note))
    for change, lines in report.assembly(assembly):
        print_line(f"\n{report.shown_name(change)}: {change.growth:+,} bytes")
        for line in lines:
            print_line(f"  {line}")


def _as_markdown(report: Report, limit: int, assembly: int) -> str:
    before, after = report.total
    head = {
        "same": "the same",
        "not checked": "not checked",
        "above": f"{after - before:+,} bytes, above the limit",
    }.get(report.verdict, f"{after - before:+,} bytes" if after != before else "no change")
    blocks = [f"### Size: {head}", _inline(report.answer)]
    memory = [(each.value, *report.diff.total([each])) for each in Region] + [
        ("**flash**", *report.diff.total(LOADED)),
        ("**RAM**", *report.diff.total(RAM)),
    ]
    names = ("memory", "old", "new", "change")
    rows = [dict(zip(names, (name, old, new, new - old), strict=True)) for name, old, new in memory]
    blocks.append(_markdown_table(rows))
    if not report.diff.is_same:
        for by in Rows:
            # One file has no table of files.
            if by is Rows.FILE and len(report.diff.units) < 2:
                continue
            changed = [each for each in report.rows(by) if each["change"]]
            if changed and limit:
                first, rest = changed[:limit], changed[limit:]
                first += [_sum_of(rest)] if rest else []
                name = next(iter(first[0]))
                quoted = [{**each, name: _code(each[name])} for each in first]
                title = f"{by.value.capitalize()}s: {len(changed)} with another size"
                blocks.append(_details(title, _markdown_table(quoted)))
    blocks += map(_inline, report.notes())
    for change, lines in report.assembly(assembly):
        # Nothing in the assembly can end a block of four marks.
        text = "\n".join(line.replace("````", "") for line in lines)
        title = f"{escape(report.shown_name(change), quote=False)}: {change.growth:+,} bytes"
        block = _details(title, f"````diff\n{text}\n````")
        if sum(map(len, blocks)) + len(block) < _MAX_COMMENT:
            blocks.append(block)
    return "\n\n".join(blocks)


def report_as_json(report: Report, assembly: int) -> dict[str, Any]:
    """Returns a report for ``--json``.

    Args:
        report: The report.
        assembly: The number of functions to have the assembly of.
    """
    before, after = report.total
    texts = {id(change): lines for change, lines in report.assembly(assembly)}
    return {
        "verdict": report.verdict,
        "reasons": report.unreadable,
        "judged": report.judged.value,
        "limit": report.limit.text if report.limit else None,
        "old": before,
        "new": after,
        "change": after - before,
        "memory": {
            name: _sizes(*report.diff.total(regions))
            for name, regions in [
                *((each.value, [each]) for each in Region),
                ("flash", LOADED),
                ("ram", RAM),
            ]
        },
        "sections": [
            {"section": name, "memory": region.value, **_sizes(*pair)}
            for (name, region), pair in report.diff.sections.items()
        ],
        "files": [_file_as_json(each) for each in report.diff.units],
        "symbols": [
            {**_symbol_as_json(report, each), **_lines_of(texts.get(id(each)))}
            for each in report.symbols
        ],
        "no_symbol": [
            {"section": name, **_sizes(*pair)} for name, pair in report.diff.rests.items()
        ],
        "without_symbols": report.diff.without_symbols,
        "ignored": {many: count for (_, many), count in report.ignored.items()},
    }


def _symbol_as_json(report: Report, change: SymbolChange) -> dict[str, Any]:
    symbol = change.symbol
    state = "renamed" if change.is_renamed else "changed"
    if change.old is None or change.new is None:
        state = "new" if change.old is None else "gone"
    return {
        "name": report.names[symbol.name],
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
    text = cut_name(name, _MAX_NAME_IN_MARKDOWN).replace("`", "'").replace("|", "\\|")
    return f"`{text}`"


def _inline(text: str) -> str:
    """Returns a sentence in which Markdown has nothing to mark."""
    for mark in "\\`*_[]#|~@":
        text = text.replace(mark, f"\\{mark}")
    return escape(text, quote=False)
