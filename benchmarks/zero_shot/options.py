"""Options of the reports about zero-shot policies."""

from typing import Annotated

import typer

Methods = Annotated[
    list[str] | None, typer.Option(help="One of the methods; all by default. Repeatable.")
]
Part = Annotated[
    str, typer.Option(help="The part to judge by: validation to choose, test to report.")
]
Redraw = Annotated[bool, typer.Option(help="Use the results that are there.")]
