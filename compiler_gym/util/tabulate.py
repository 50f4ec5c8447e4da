"""Tables of text and of HTML."""

import csv
import html
import io
from collections.abc import Iterable, Mapping
from typing import Any

from compiler_gym.util.optional_packages import require

_DELIMITERS = {"csv": ",", "tsv": "\t"}


def tabulate(
    rows: Iterable[Iterable[object]],
    headers: Iterable[str] = (),
    tablefmt: str = "grid",
    **kwargs: Any,
) -> str:
    """Returns a table as text, without a newline at its end.

    Args:
        rows: The rows, each with a value for each column.
        headers: The headings of the columns.
        tablefmt: ``"csv"`` and ``"tsv"``, or a format of the library ``tabulate``.
        **kwargs: Arguments of the library's function.

    Raises:
        ValueError: If there is no such format.
        ImportError: If the library is not installed. The text says how to install it.
    """
    if tablefmt in _DELIMITERS:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=_DELIMITERS[tablefmt], lineterminator="\n")
        headers = list(headers)
        writer.writerows([headers, *rows] if headers else rows)
        return text.getvalue().removesuffix("\n")
    library = require("tabulate", ImportError)
    if tablefmt not in library.tabulate_formats:
        known = ", ".join([*_DELIMITERS, *library.tabulate_formats])
        raise ValueError(f"There is no table format {tablefmt!r}. There are: {known}")
    return library.tabulate(list(rows), headers=list(headers), tablefmt=tablefmt, **kwargs)


# Tables that notebooks show.


def html_table(rows: Mapping[str, str]) -> str:
    """Returns names and texts as the rows of an HTML table."""
    cells = (
        f'<tr><th style="text-align: left">{html.escape(name)}</th>'
        f'<td style="text-align: left; overflow-wrap: anywhere">{html.escape(text)}</td></tr>'
        for name, text in rows.items()
    )
    return f"<table>{''.join(cells)}</table>"
