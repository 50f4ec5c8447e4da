"""Tables of trials: a folder with a file of JSON lines, one line for each program.

=========== ===========================================================================
trials      The name of the trials, the hash of their content
program     The URI of the program
clang       The version of the compiler
seed        The seed that chose the random changes
features    The features of the program by name
baseline    The result of ``clang -Oz``
changes     Options and passes that were tried. ``kind`` is "portfolio" (an entry of the
            portfolio), "toggle" (its first entry with a part added or removed), "alone"
            (a part) or "random" (a combination of parts)
start       The smallest of these, or the baseline. Passes are left out of that
functions   Bytes of its functions
skips       By the name of a pass: the result without this pass in all functions, and
            the bytes of each function
best        Each function without the pass that made it largest; missing if there is none
error       The reason why there is no result
=========== ===========================================================================

A result is the bytes of ``code``, all bytes that are ``loaded``, and the machine ``instructions``
if they were counted. Changes that clang refused, or crashed with, are missing.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from compiler_gym.distributed.pool import Pool
from compiler_gym.distributed.task import Job, Outcome
from compiler_gym.util.file_lock import file_lock

FILE = "trials.jsonl"
_CARD = "README.md"


def rows_of(folder: Path) -> Iterator[dict[str, Any]]:
    """Yields the rows of a table, without those of programs that failed.

    Raises:
        OSError: If there is no table.
        ValueError: If a line other than the last is not JSON.
    """
    return (row for row in _lines(folder / FILE) if "error" not in row)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):  # Or else writing it was interrupted.
                yield json.loads(line)


def record(
    pool: Pool,
    jobs: Iterable[Job],
    folder: Path,
    watch: Callable[[Outcome | None], None] = lambda _: None,
) -> None:
    """Adds the trials to a table that it does not have yet. Ctrl-C keeps the rows so far.

    Args:
        pool: Runs the trials.
        jobs: Trials with their data.
        folder: The folder of the table.
        watch: Called with the outcome of each; with None if the table had it.

    Raises:
        BlockingIOError: If another process records to the folder.
        PoolError: If there are no workers.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with file_lock(folder / ".lock", wait=False):
        path = folder / FILE
        known = {row["trials"] for row in _lines(path)} if path.exists() else set()
        _cut_last_line(path)

        def missing() -> Iterator[Job]:
            for job in jobs:
                if job.task.name in known:
                    watch(None)
                else:
                    known.add(job.task.name)
                    yield job

        with path.open("a", encoding="utf-8") as file, closing(pool.run(missing())) as outcomes:
            for outcome in outcomes:
                file.write(json.dumps(_row(outcome), separators=(",", ":")) + "\n")
                file.flush()
                watch(outcome)


def _cut_last_line(path: Path) -> None:
    """Removes a last line that was not written to its end."""
    if path.exists():
        data = path.read_bytes()
        if not data.endswith(b"\n"):
            path.write_bytes(data[: data.rfind(b"\n") + 1])


def _row(outcome: Outcome) -> dict[str, Any]:
    if outcome.error is None:
        row: dict[str, Any] = outcome.value
        return row
    task: Any = outcome.task
    return {"trials": task.name, "program": task.program, "error": outcome.error}


def trials_in(row: Mapping[str, Any]) -> int:
    """Returns the number of trials in a row."""
    return len(row["changes"]) + len(row.get("skips", ()))


def packages_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the packages of ``opensource-v0`` that rows have programs of."""
    uris = (row["program"] for row in rows)
    return sorted({uri.split("/")[3] for uri in uris if "//opensource-v0/" in uri})


def write_card(folder: Path, command: str) -> None:
    """Writes what a table contains to ``README.md`` of its folder.

    Args:
        folder: The folder of the table.
        command: The command that made it.
    """
    rows = [*rows_of(folder)]
    trials = sum(map(trials_in, rows))
    versions = sorted({row["clang"] for row in rows})
    packages = sorted(
        {row["program"].split("/")[3] for row in rows if "opensource" in row["program"]}
    )
    columns = (__doc__ or "").partition("\n\n")[2]
    (folder / _CARD).write_text(
        f"# Trials of changes that make code smaller\n\n"
        f"Made by `{command}`: {trials} trials on {len(rows)} programs, {len(packages)} packages "
        f"({', '.join(packages)}). Compiler: {', '.join(versions)}.\n\n{columns}",
        encoding="utf-8",
    )
