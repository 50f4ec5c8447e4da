"""Tables that notebooks show."""

import html
from collections.abc import Mapping


def html_table(rows: Mapping[str, str]) -> str:
    """Returns names and texts as the rows of an HTML table."""
    cells = (
        f'<tr><th style="text-align: left">{html.escape(name)}</th>'
        f'<td style="text-align: left; overflow-wrap: anywhere">{html.escape(text)}</td></tr>'
        for name, text in rows.items()
    )
    return f"<table>{''.join(cells)}</table>"
