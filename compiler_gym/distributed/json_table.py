"""Tables of results as JSON lines, which the same run continues."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from compiler_gym.distributed.pool import Pool, new_jobs
from compiler_gym.distributed.task import Job, Outcome
from compiler_gym.util.filesystem import atomic_file_write, locked_folder

Row = dict[str, Any]


def rows_of(path: Path, key: str) -> Iterator[Row]:
    """Yields the rows of a table, also those of tasks that failed, which have ``error``.

    Args:
        path: The file of the table.
        key: See :func:`add_rows`.

    Raises:
        OSError: If there is no table.
        ValueError: If a line other than the last is no row.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):  # A partial last line means that the write was interrupted.
                yield _row_in(line, key, f"line {number} of {path}")


def _row_in(line: bytes, key: str, place: str) -> Row:
    try:
        row: Row = json.loads(line)
        row[key]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(
            f"expected a row with {key!r} in {place}: {error}; remove the line, and repeat the "
            "command that made the table"
        ) from error
    return row


def add_rows(
    pool: Pool,
    jobs: Iterable[Job],
    path: Path,
    key: str,
    watch: Callable[[Outcome | None], None] = lambda _: None,
) -> None:
    """Adds the results of jobs to a table. Ctrl-C keeps the rows so far.

    Former failures are forgotten, so that their jobs run again.

    Args:
        pool: Runs the jobs. Each task has a ``program``, and a row as its result.
        jobs: The jobs.
        path: The file of the table. Its folder is made if need be.
        key: The column that has the name of a row's task. Rows of tasks that have failed have it,
            ``program`` and ``error``.
        watch: Called with the outcome of each job; with None if the table has it.

    Raises:
        BlockingIOError: If another process writes to the folder.
        PoolError: If there are no workers.
        ValueError: If a line of the table other than the last is no row.
    """
    with locked_folder(path.parent):
        missing = new_jobs(jobs, {row[key] for row in kept_rows(path, key)}, watch)
        with path.open("a", encoding="utf-8") as file, closing(pool.run(missing)) as outcomes:
            for outcome in outcomes:
                file.write(line_of(_row(outcome, key)))
                file.flush()
                watch(outcome)


def kept_rows(path: Path, key: str) -> list[Row]:
    """Removes failures, and a last line that was not written to its end. Returns what stays."""
    if not path.exists():
        return []
    rows = [row for row in rows_of(path, key) if "error" not in row]
    with atomic_file_write(path, fileobj=True, mode="w") as file:
        file.writelines(map(line_of, rows))
    return rows


def line_of(row: Row) -> str:
    """Returns the line of a row in a table."""
    return json.dumps(row, separators=(",", ":")) + "\n"


def _row(outcome: Outcome, key: str) -> Row:
    if outcome.error is None:
        row: Row = outcome.value
        return row
    task: Any = outcome.task
    return {key: task.name, "program": task.program, "error": outcome.error}
