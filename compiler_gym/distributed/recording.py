"""Records episodes: plays those that a table does not have yet."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from compiler_gym.distributed.episode import Episode
from compiler_gym.distributed.pool import Pool
from compiler_gym.distributed.rows import RowWriter, encode, recorded_episodes
from compiler_gym.distributed.task import Job, Outcome
from compiler_gym.util.filesystem import file_lock

_FAILURES = "failures"


def record(
    pool: Pool,
    jobs: Iterable[Job],
    folder: Path,
    schema: Any,
    watch: Callable[[Outcome | None], None] = lambda _: None,
) -> None:
    """Plays episodes, and adds a row of each to a table. Those that are in it are not played.

    Why an episode failed is in its row, and with a traceback in ``failures/NAME.txt`` of the
    folder. After an exception or Ctrl-C, all rows that came are in the table.

    Args:
        pool: Plays the episodes.
        jobs: The episodes. One that comes twice is played once.
        folder: The folder of the table.
        schema: Its schema.
        watch: Called with the outcome of each episode; with None if the table had it.

    Raises:
        BlockingIOError: If another process records to the folder.
        PoolError: If there are no workers.
        ValueError: If the table has other columns.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder), RowWriter(folder, schema) as writer:
        known = recorded_episodes(folder)

        def missing() -> Iterator[Job]:
            for job in jobs:
                if job.task.name in known:
                    watch(None)
                    continue
                known.add(job.task.name)
                yield job

        with closing(pool.run(missing())) as outcomes:
            for outcome in outcomes:
                episode = outcome.task
                assert isinstance(episode, Episode)
                row = outcome.value
                if outcome.error is not None:
                    write_failure(folder, outcome)
                    row = encode(episode.failed_row(outcome.error), schema)
                writer.write(row)
                watch(outcome)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keeps other processes out of a folder."""
    with ExitStack() as stack:
        try:
            stack.enter_context(file_lock(folder / ".lock", wait=False))
        except BlockingIOError as error:
            raise BlockingIOError(
                f"expected a folder for this command alone, got {folder}, which another records "
                "to; try another folder"
            ) from error
        yield


def write_failure(folder: Path, outcome: Outcome) -> Path:
    """Writes what is known about a failed task to a file of its name.

    Args:
        folder: The folder of the results.
        outcome: The outcome.

    Returns:
        The file.
    """
    path = folder / _FAILURES / f"{outcome.task.name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"task: {outcome.task}\nnode: {outcome.node}\ntries: {outcome.tries}\n"
        f"seconds: {outcome.seconds:.3f}\nerror: {outcome.error}\n\n{outcome.details}",
        encoding="utf-8",
    )
    return path
