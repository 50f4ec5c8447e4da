"""Tables of recorded episodes: a folder of Parquet files, with a row for each episode.

The columns:

=================== =================================================================
episode             The name of the episode, the hash of its content
program             The URI of the program
program_hash        The hash of the program's bytes
environment         The id of the environment
compiler            The version of the compiler
policy              "random", "actions", or the name of a policy
seed                The seed of random actions
reward              The name of the reward; null for none
actions             The names of the actions that were applied
rewards             The reward of each action; empty if there is no reward
sizes               IR instructions before the first action and after each; empty where
                    the environment does not count them
end                 Why the episode ended by itself: "done", or the type of the error of
                    the compiler; null if it did not
failed_action       The action of that error
error               Why the episode could not be played; null if it could. The lists are
                    empty then
observation_NAME    The observation before the first action and after each
=================== =================================================================

The columns are the same whatever plays the episodes, and so are the rows: nothing in them depends
on time or place.
"""

import hashlib
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import Self

from compiler_gym.spaces import Sequence as SequenceSpace
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.optional_packages import require

_PREFIX = "observation_"
_ROWS_PER_FILE = 1000
_SECONDS_PER_FILE = 30.0
_SIZE = struct.Struct("<Q")
_CODEC = "lz4"


def schema_of(observations: Mapping[str, Any]) -> Any:
    """Returns the Arrow schema of a table.

    Args:
        observations: The space of each observation that is recorded.

    Raises:
        ValueError: If an observation is neither numbers nor text.
    """
    pa = require("pyarrow")
    text, texts = pa.string(), pa.list_(pa.string())
    fixed = [
        ("episode", text), ("program", text), ("program_hash", text), ("environment", text),
        ("compiler", text), ("policy", text), ("seed", pa.int64()), ("reward", text),
        ("actions", texts), ("rewards", pa.list_(pa.float64())), ("sizes", pa.list_(pa.int64())),
        ("end", text), ("failed_action", text), ("error", text),
    ]  # fmt: skip
    observed = [
        (f"{_PREFIX}{name}", pa.list_(_type_of(name, space)))
        for name, space in observations.items()
    ]
    return pa.schema([*fixed, *observed])


def _type_of(name: str, space: Any) -> Any:
    """Returns the Arrow type of the values of a space."""
    pa = require("pyarrow")
    if isinstance(space, SequenceSpace):
        if space.dtype is str:
            return pa.string()
        if isinstance(space.dtype, np.dtype) and space.opaque_data_format in (None, ""):
            return pa.list_(pa.from_numpy_dtype(space.dtype))
    elif getattr(space, "dtype", None) is not None and len(space.shape or ()) <= 1:
        number = pa.from_numpy_dtype(space.dtype)
        return pa.list_(number) if space.shape else number
    raise ValueError(
        f"expected an observation that is a number, a list of numbers or text, got {name}; "
        "try Autophase, InstCount or Ir"
    )


def files_of(folder: Path) -> list[Path]:
    """Returns the Parquet files of a table, in the order in which they were written."""
    return sorted(folder.glob("episodes-*.parquet"))


def _opened(path: Path, columns: Iterable[str] = ()) -> Any:
    """Opens a file of a table, as a ``pyarrow.parquet.ParquetFile``.

    Raises:
        ValueError: If it is damaged, or does not have these columns.
    """
    expected = f"expected a Parquet file of `compiler-gym record`, got {path}"
    try:
        file = require("pyarrow.parquet").ParquetFile(path)
    except require("pyarrow").ArrowInvalid as error:
        raise ValueError(
            f"{expected}: {error} Remove the file, and repeat the command that recorded it"
        ) from error
    missing = [name for name in columns if name not in file.schema_arrow.names]
    if missing:
        raise ValueError(f"{expected} without the columns {', '.join(missing)}")
    return file


def recorded_episodes(folder: Path) -> set[str]:
    """Returns the names of the episodes that a table has."""
    names: set[str] = set()
    for path in files_of(folder):
        names.update(_opened(path).read(columns=["episode"])["episode"].to_pylist())
    return names


def read_table(folder: Path, columns: Iterable[str] = ()) -> Any:
    """Reads a table, sorted by the names of the episodes.

    Args:
        folder: Its folder.
        columns: Columns that it has to have.

    Returns:
        A ``pyarrow.Table`` with all columns.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If a file is damaged, or does not have these columns.
    """
    pa = require("pyarrow")
    files = files_of(folder)
    if not files:
        raise FileNotFoundError(f"expected files episodes-*.parquet in {folder}, found none")
    return pa.concat_tables([_opened(path, columns).read() for path in files]).sort_by("episode")


def count_rows(folder: Path) -> tuple[int, int]:
    """Returns the numbers of episodes and of actions in a table; it is read file by file."""
    compute = require("pyarrow.compute")
    episodes = steps = 0
    for path in files_of(folder):
        actions = _opened(path).read(columns=["actions"])["actions"]
        episodes += len(actions)
        steps += compute.sum(compute.list_value_length(actions)).as_py() or 0
    return episodes, steps


def fingerprint(folder: Path) -> str:
    """Returns the SHA-256 of the sorted table as an Arrow stream.

    It depends neither on the order of the rows nor on how they are spread over files.
    """
    pa = require("pyarrow")
    table = read_table(folder).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def encode(row: Mapping[str, Any], schema: Any) -> bytes:
    """Returns a row on its way to the table.

    It is an Arrow record batch without its schema, compressed by LZ4, after the size of the batch.
    """
    pa = require("pyarrow")
    batch = pa.RecordBatch.from_pylist([row], schema=schema).serialize()
    return bytes(_SIZE.pack(batch.size) + pa.compress(batch, codec=_CODEC, asbytes=True))


def decode(data: bytes, schema: Any) -> Any:
    """Returns the ``pyarrow.RecordBatch`` of a row that :func:`encode` has made."""
    pa = require("pyarrow")
    (size,) = _SIZE.unpack_from(data)
    batch = pa.decompress(data[_SIZE.size :], size, codec=_CODEC)
    return require("pyarrow.ipc").read_record_batch(batch, schema)


class RowWriter:
    """Adds rows to a table. Each file appears when it is complete.

    Use it as a context manager: at the end, it writes the rows that it still has.

    Args:
        folder: The folder of the table; made if need be.
        schema: The schema.

    Raises:
        ValueError: If the table that is there has other columns.
    """

    def __init__(self, folder: Path, schema: Any):
        self._folder = folder
        self._schema = schema
        self._batches: list[Any] = []
        self._written = time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)
        files = files_of(folder)
        self._next = int(files[-1].stem.rpartition("-")[2]) + 1 if files else 0
        if files:
            _check_schema(_opened(files[-1]).schema_arrow, schema, folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def write(self, row: bytes) -> None:
        """Adds a row, as :func:`encode` returns it.

        It is in a file half a minute, or a thousand rows, later.
        """
        self._batches.append(decode(row, self._schema))
        if (
            len(self._batches) >= _ROWS_PER_FILE
            or time.monotonic() - self._written > _SECONDS_PER_FILE
        ):
            self.flush()

    def flush(self) -> None:
        """Writes the rows that are in no file yet."""
        pa, parquet = require("pyarrow"), require("pyarrow.parquet")
        if self._batches:
            table = pa.Table.from_batches(self._batches).combine_chunks()
            with atomic_file_write(self._folder / f"episodes-{self._next:06}.parquet") as path:
                parquet.write_table(table, path, compression="zstd")
            self._next += 1
            self._batches.clear()
        self._written = time.monotonic()


def _check_schema(found: Any, expected: Any, folder: Path) -> None:
    if not found.equals(expected):
        raise ValueError(
            f"expected a table in {folder} with the columns {', '.join(expected.names)}, "
            f"found {', '.join(found.names)}; try another folder, or the same observations"
        )


@dataclass(frozen=True)
class Trajectory:
    """A recorded episode. The attributes are those of the columns, see above.

    Attributes:
        observations: The values of each observation: before the first action, and after each.
    """

    episode: str
    program: str
    program_hash: str
    environment: str
    compiler: str
    policy: str
    seed: int
    reward: str | None
    actions: Sequence[str]
    rewards: Sequence[float]
    sizes: Sequence[int]
    end: str | None = None
    failed_action: str | None = None
    error: str | None = None
    observations: Mapping[str, Sequence[Any]] = field(default_factory=dict)


def trajectory_of(row: Mapping[str, Any]) -> Trajectory:
    """Returns a row as a trajectory."""
    observations = {
        name.removeprefix(_PREFIX): values
        for name, values in row.items()
        if name.startswith(_PREFIX)
    }
    facts = {name: value for name, value in row.items() if not name.startswith(_PREFIX)}
    return Trajectory(**facts, observations=observations)


def trajectories(folder: Path) -> Iterator[Trajectory]:
    """Yields the episodes of a table that could be played, file by file."""
    columns = [each.name for each in fields(Trajectory) if each.name != "observations"]
    for path in files_of(folder):
        for batch in _opened(path, columns).iter_batches():
            for row in batch.to_pylist():
                if row["error"] is None:
                    yield trajectory_of(row)
