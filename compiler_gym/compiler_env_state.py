"""The state of an environment, and files of states."""

import csv
import io
import math
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from pydantic import BaseModel, ConfigDict, Field, field_validator

from compiler_gym.datasets.uri import BenchmarkUri
from compiler_gym.util.download import download
from compiler_gym.util.tabulate import html_table

# The columns of a file of states, in the order in which they are written.
_COLUMNS = ("benchmark", "reward", "walltime", "commandline")
_REWARD_TOLERANCE = 1e-5
# The longest field of a CSV file in characters, far above the default of Python's csv module,
# which a command line of some ten thousand passes exceeds.
_MAX_FIELD_SIZE = 1 << 30
# The limit of that module is one for the whole process, so others must not see ours.
_field_size_lock = threading.Lock()


def _next_row(reader: Iterator[list[str]]) -> list[str] | None:
    """Returns the next row of a file with long fields, or None at its end."""
    with _field_size_lock:
        former = csv.field_size_limit(_MAX_FIELD_SIZE)
        try:
            return next(reader, None)
        finally:
            csv.field_size_limit(former)


class CompilerEnvState(BaseModel):
    """A benchmark, the actions applied to it, and the resulting reward.

    Two states are equal if benchmark and command line are, and the rewards differ by at most
    1e-5 where both have one. The wall time does not matter.

    Raises:
        ValueError: A value is not valid.
    """

    model_config = ConfigDict(validate_assignment=True, extra="forbid")

    benchmark: str = Field(frozen=True)
    """The URI of the benchmark; cannot be changed."""

    commandline: str
    """The actions since the reset, as a command line of the compiler."""

    walltime: float = Field(ge=0, allow_inf_nan=False)
    """The time since the reset, in seconds."""

    reward: float | None = None
    """The sum of the rewards since the reset; None if there is no reward."""

    @field_validator("benchmark", mode="before")
    @classmethod
    def _canonical_uri(cls, value: Any) -> str:
        return BenchmarkUri.canonicalize(str(value))

    @property
    def has_reward(self) -> bool:
        """True if the state has a reward."""
        return self.reward is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CompilerEnvState):
            return NotImplemented
        return (
            self.benchmark == other.benchmark
            and self.commandline == other.commandline
            and self._has_same_reward(other)
        )

    def _repr_html_(self) -> str:
        """Returns the state as a table, for notebooks."""
        rows = {
            "benchmark": self.benchmark,
            "reward": "none" if self.reward is None else f"{self.reward:.6g}",
            "wall time": f"{self.walltime:.3g} s",
            "command line": self.commandline,
        }
        return html_table(rows)

    def _has_same_reward(self, other: "CompilerEnvState") -> bool:
        """Returns whether the rewards are the same as far as both are known."""
        if self.reward is None or other.reward is None:
            return True
        return math.isclose(self.reward, other.reward, rel_tol=0, abs_tol=_REWARD_TOLERANCE)


class CompilerEnvStateWriter:
    """Writes states to a file of comma-separated values.

    The columns are benchmark, reward, walltime and commandline. As a context manager, closes the
    file at the end.

    Args:
        f: The file, open for writing text.
        header: Whether to begin with the names of the columns.
    """

    def __init__(self, f: TextIO, header: bool = True):
        self.f = f
        self._writer = csv.writer(f, lineterminator="\n")
        if header:
            self._writer.writerow(_COLUMNS)

    def write_state(self, state: CompilerEnvState, flush: bool = False) -> None:
        """Writes a state.

        Args:
            state: The state.
            flush: Whether to make sure that it is in the file at once.
        """
        reward = "" if state.reward is None else state.reward
        self._writer.writerow([state.benchmark, reward, state.walltime, state.commandline])
        if flush:
            self.f.flush()

    def __enter__(self) -> "CompilerEnvStateWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        self.f.close()


class CompilerEnvStateReader:
    """Reads states from a file of comma-separated values.

    Iterating gives the states. Names of the columns may come first, in any order and case;
    without them the order is benchmark, reward, walltime, commandline. An empty reward means
    none, an empty wall time 0.

    Args:
        f: The file, open for reading text.
    """

    def __init__(self, f: TextIO):
        self.f = f

    def __iter__(self) -> Iterator[CompilerEnvState]:
        """Yields the states.

        Raises:
            ValueError: The first row does not have four columns, or a row is not a state; the
                text names the line.
        """
        columns: tuple[str, ...] | None = None
        for line, row in self._rows():
            if len(row) != len(_COLUMNS):
                raise ValueError(
                    f"Line {line}: expected {len(_COLUMNS)} columns "
                    f"({', '.join(_COLUMNS)}), found {len(row)}"
                )
            if columns is None:
                names = tuple(name.strip().lower() for name in row)
                is_header = sorted(names) == sorted(_COLUMNS)
                columns = names if is_header else _COLUMNS
                if is_header:
                    continue
            yield self._state(dict(zip(columns, row, strict=True)), line)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yields the rows that are not empty, each with the number of its last line."""
        reader = csv.reader(self.f)
        try:
            while (row := _next_row(reader)) is not None:
                if row:
                    yield reader.line_num, row
        except csv.Error as error:
            raise ValueError(f"Line {reader.line_num}: {error}") from error

    @staticmethod
    def _state(values: dict[str, str], line: int) -> CompilerEnvState:
        """Returns the state of a row."""
        try:
            return CompilerEnvState(
                benchmark=values["benchmark"],
                commandline=values["commandline"],
                walltime=float(values["walltime"] or 0),
                reward=float(values["reward"]) if values["reward"].strip() else None,
            )
        except ValueError as error:
            raise ValueError(f"Line {line} is not a state: {error}") from error

    @staticmethod
    def read_paths(paths: Iterable[str | Path]) -> Iterator[CompilerEnvState]:
        """Reads states from several files.

        Args:
            paths: Each is the path of a file, ``-`` for standard input, or the ``http://`` or
                ``https://`` address of a file.

        Raises:
            ValueError: A file is malformed; the text names file and line.
            OSError: A file cannot be read, or not be downloaded (DownloadFailed).
        """
        for path in map(str, paths):
            try:
                if path == "-":
                    yield from CompilerEnvStateReader(sys.stdin)
                elif path.startswith(("http://", "https://")):
                    text = download(path).decode("utf-8-sig")
                    yield from CompilerEnvStateReader(io.StringIO(text, newline=""))
                else:
                    with open(path, encoding="utf-8-sig", newline="") as f:
                        yield from CompilerEnvStateReader(f)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error
