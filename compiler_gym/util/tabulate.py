"""Tables of text."""

import csv
import io
from collections.abc import Iterable
from typing import Any

from tabulate import tabulate as _tabulate
from tabulate import tabulate_formats

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
    """
    if tablefmt in _DELIMITERS:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=_DELIMITERS[tablefmt], lineterminator="\n")
        headers = list(headers)
        writer.writerows([headers, *rows] if headers else rows)
        return text.getvalue().removesuffix("\n")
    if tablefmt not in tabulate_formats:
        known = ", ".join([*_DELIMITERS, *tabulate_formats])
        raise ValueError(f"There is no table format {tablefmt!r}. There are: {known}")
    return _tabulate(list(rows), headers=list(headers), tablefmt=tablefmt, **kwargs)
