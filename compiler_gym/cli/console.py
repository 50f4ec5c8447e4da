"""Output of commands: tables, JSON, progress, and one-line errors."""

import dis
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from compiler_gym.errors import ServiceError
from compiler_gym.util.debug_util import get_debug_level
from compiler_gym.util.interrupts import INTERRUPTED, ignore_interrupts, raise_on_interrupt
from compiler_gym.util.logging import init_logging
from compiler_gym.util.shell_format import describe_error

_MAX_UNFOLDED = 40
_MANY_COLUMNS = 8

# Errors of the user or the system. Everything else is a defect.
_FAILURES = (ValueError, OSError, ServiceError, subprocess.SubprocessError)

# These are errors of the user or the system if a statement of this package raises them, such as
# "raise LookupError(...)". If an operation does, such as the index of a list, they are defects.
_FAILURES_IF_RAISED = (ImportError, LookupError, TypeError, RuntimeError)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class _OutputConsole(Console):
    """A console that ends the program when its output is closed."""

    def on_broken_pipe(self) -> None:
        raise


def output() -> Console:
    """Returns the console for results. In a pipe they are plain, and 80 columns wide."""
    return _OutputConsole(highlight=False, markup=False, emoji=False)


def messages() -> Console:
    """Returns the console for everything except results."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_line(text: str = "") -> None:
    """Prints a line of results unwrapped, and flushes it, because pipes buffer."""
    print(text, flush=True)


def print_json(value: Any) -> None:
    """Prints a value as JSON: arrays as lists, graphs as nodes and edges."""
    print(json.dumps(value, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # An array or number of NumPy.
        return value.tolist()
    if hasattr(value, "nodes"):
        from networkx import node_link_data

        return node_link_data(value, edges="edges")
    return str(value)


def print_table(
    rows: Iterable[Mapping[str, Any]],
    title: str | None = None,
    total: Mapping[str, Any] | None = None,
) -> None:
    """Prints a table whose columns are the keys of the rows. Numbers are aligned to the right.

    Args:
        rows: The values of each row; None for an empty cell.
        title: The title above the table.
        total: A last row, set apart.
    """
    if title:
        output().print(title, style="bold", soft_wrap=True)
    show(make_table([*rows], total=total))


def show(table: Table) -> None:
    """Prints a table."""
    console = output()
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def make_table(
    rows: Sequence[Mapping[str, Any]],
    title: str | None = None,
    total: Mapping[str, Any] | None = None,
) -> Table:
    """Returns a table, see :func:`print_table`."""
    every_row = [*rows, *([total] if total else [])]
    names = list(every_row[0]) if every_row else []
    blanks = 1 if len(names) > _MANY_COLUMNS else 2
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, blanks, 0, 0),
        pad_edge=False,
    )
    for name in names:
        is_number = all(_is_number(row.get(name)) for row in every_row)
        # The subject of a row stays on one line, so that it can be copied.
        width = max(len(cell(row.get(name))) for row in every_row)
        table.add_column(
            name,
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=not table.columns and width <= _MAX_UNFOLDED,
        )
    for row in rows:
        table.add_row(*map(cell, row.values()))
    if total:
        table.add_section()
        table.add_row(*map(cell, total.values()))
    return table


def cell(value: Any) -> str:
    """Returns a value as the text of a cell."""
    value = _of_python(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    return str(value)


def _is_number(value: Any) -> bool:
    value = _of_python(value)
    if isinstance(value, str):
        return value.rstrip("%").replace(".", "", 1).lstrip("+-").isdigit()
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _of_python(value: Any) -> Any:
    """Returns a number of NumPy as one of Python. This module does not wait for NumPy."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


@contextmanager
def working_on(text: str) -> Iterator[None]:
    """Shows a message on the terminal for the duration of the context."""
    console = messages()
    if console.is_terminal:
        with console.status(text):
            yield
    else:
        yield


def progress_bar() -> Progress:
    """Returns a progress bar for the terminal, which is invisible elsewhere.

    It disappears at the end. Output during the context goes above it.
    """
    screen = messages()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    # In a file, a bar would be an empty line.
    return Progress(
        *columns,
        console=screen,
        transient=True,
        redirect_stdout=output().is_terminal,
        disable=not screen.is_terminal,
    )


def run_program(name: str, main: Callable[[], int | None]) -> int:
    """Runs a program, and turns interrupts and errors into messages and exit codes.

    Args:
        name: The name of the program, for messages.
        main: The program; returns its exit code, None for 0.

    Returns:
        The exit code: 130 after Ctrl-C or SIGTERM, 1 after an error. An error prints a line to
        stderr, and a traceback too if ``COMPILER_GYM_DEBUG`` is set.

    Raises:
        Exception: A defect of the program, after a line that says so.
    """
    init_logging()
    try:
        raise_on_interrupt()
        code = main() or 0
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        close_output()
        return 1
    except Exception as error:
        if not is_failure(error):
            print(f"{name}: a defect; please report it with this traceback:", file=sys.stderr)
            raise
        if get_debug_level() > 0:
            traceback.print_exc()
        print(f"{name}: {describe_error(error)}", file=sys.stderr)
        return 1
    finally:
        ignore_interrupts()


def close_output() -> None:
    """Drops all further output, after its reader has closed it."""
    # Python would report it again at the end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_failure(error: BaseException) -> bool:
    """Returns true if the user or the system caused an error, rather than a defect."""
    is_of_package = type(error).__module__.startswith("compiler_gym.")
    if is_of_package or isinstance(error, _FAILURES):
        return True
    return isinstance(error, _FAILURES_IF_RAISED) and _is_raised_by_package(error)


def _is_raised_by_package(error: BaseException) -> bool:
    """Returns true if a ``raise`` statement of this package raised an error."""
    place = error.__traceback__
    if place is None:
        return True
    while place.tb_next is not None:
        place = place.tb_next
    code = place.tb_frame.f_code
    if not os.path.abspath(code.co_filename).startswith(_PACKAGE + os.sep):
        return False
    return dis.opname[code.co_code[place.tb_lasti]] == "RAISE_VARARGS"
