"""The state of an environment, and files of states."""

import csv
import io
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from pydantic import BaseModel, ConfigDict, Field, field_validator

from compiler_gym.datasets.uri import BenchmarkUri
from compiler_gym.util.download import download
from compiler_gym.util.tabulate import html_table

# The columns of a file of states, in the order in which they are written.
_COLUMNS = ("benchmark", "reward", "walltime", "commandline", "compiler_version")
# Older files lack the last one.
_COUNTS = (4, 5)
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
    1e-5 where both have one. The wall time and the version of the compiler do not matter.

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

    compiler_version: str | None = None
    """The version of the compiler that applied the actions; None if that is not known."""

    @field_validator("benchmark", mode="before")
    @classmethod
    def _canonical_uri(cls, value: Any) -> str:
        return BenchmarkUri.canonicalize(str(value))

    @property
    def has_reward(self) -> bool:
        """True if the state has a reward."""
        return self.reward is not None

    def made_by_another(self, compiler_version: str) -> str:
        """Returns text that says so if another version of the compiler made the state, else "".

        Args:
            compiler_version: The version of the compiler that repeats the state.
        """
        own = self.compiler_version
        if not own or not compiler_version or own == compiler_version:
            return ""
        return f"Made by version {own} of the compiler, and this is {compiler_version}"

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
            "compiler": self.compiler_version or "not known",
        }
        return html_table(rows)

    def _has_same_reward(self, other: "CompilerEnvState") -> bool:
        """Returns whether the rewards are the same as far as both are known."""
        if self.reward is None or other.reward is None:
            return True
        return math.isclose(self.reward, other.reward, rel_tol=0, abs_tol=_REWARD_TOLERANCE)


class CompilerEnvStateWriter:
    """Writes states to a file of comma-separated values.

    The columns are benchmark, reward, walltime, commandline and compiler_version. As a context
    manager, closes the file at the end.

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
        row = [state.benchmark, reward, state.walltime, state.commandline]
        self._writer.writerow([*row, state.compiler_version or ""])
        if flush:
            self.f.flush()

    def __enter__(self) -> "CompilerEnvStateWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        self.f.close()


class CompilerEnvStateReader:
    """Reads states from a file of comma-separated values.

    Iterating gives the states. Names of the columns may come first, in any order and case;
    without them the order is benchmark, reward, walltime, commandline, compiler_version. Files
    without the last one are of former versions of this package. An empty reward or version means
    none, an empty wall time 0.

    Args:
        f: The file, open for reading text.
        on_error: Receives the error of each malformed row, which is left out. By default, the first
            one is raised.
    """

    def __init__(self, f: TextIO, on_error: Callable[[ValueError], None] | None = None):
        self.f = f
        self._on_error = on_error

    def __iter__(self) -> Iterator[CompilerEnvState]:
        """Yields the states.

        Raises:
            ValueError: The first row does not have four or five columns, or a row is not a state;
                the text names the line.
        """
        reader = csv.reader(self.f)
        columns: tuple[str, ...] | None = None
        while True:
            try:
                row = self._next_row(reader, _COUNTS if columns is None else (len(columns),))
                if row is None:
                    return
                if columns is None:
                    columns = _COLUMNS[: len(row)]
                    names = tuple(name.strip().lower() for name in row)
                    if sorted(names) == sorted(columns):
                        columns = names
                        continue
                state = self._state(dict(zip(columns, row, strict=True)), reader.line_num)
            except UnicodeError:
                raise  # The rest of the file cannot be read.
            except ValueError as error:
                # Nothing in a file that begins in another way is likely to be a state.
                if self._on_error is None or columns is None:
                    raise
                self._on_error(error)
            else:
                yield state

    @staticmethod
    def _next_row(reader: Any, counts: Sequence[int]) -> list[str] | None:
        """Returns the next row that is not empty; None at the end.

        Args:
            reader: Gives the rows.
            counts: How many columns there may be.
        """
        try:
            row = _next_row(reader)
            while row == []:
                row = _next_row(reader)
        except csv.Error as error:
            raise ValueError(f"Line {reader.line_num}: {error}") from error
        if row is not None and len(row) not in counts:
            raise ValueError(
                f"Line {reader.line_num}: expected {' or '.join(map(str, counts))} columns "
                f"({', '.join(_COLUMNS[: counts[-1]])}), found {len(row)}"
            )
        return row

    @staticmethod
    def _state(values: dict[str, str], line: int) -> CompilerEnvState:
        """Returns the state of a row."""
        try:
            return CompilerEnvState(
                benchmark=values["benchmark"],
                commandline=values["commandline"],
                walltime=float(values["walltime"] or 0),
                reward=float(values["reward"]) if values["reward"].strip() else None,
                compiler_version=values.get("compiler_version") or None,
            )
        except ValueError as error:
            raise ValueError(f"Line {line} is not a state: {error}") from error

    @staticmethod
    def read_paths(
        paths: Iterable[str | Path], on_error: Callable[[ValueError], None] | None = None
    ) -> Iterator[CompilerEnvState]:
        """Reads states from several files.

        Args:
            paths: Each is the path of a file, ``-`` for standard input, or the ``http://`` or
                ``https://`` address of a file.
            on_error: Receives the errors of malformed rows and files, which are left out. By
                default, the first one is raised.

        Raises:
            ValueError: A file is malformed; the text names file and line.
            OSError: A file cannot be read, or not be downloaded (DownloadFailed).
        """
        for path in map(str, paths):

            def note(error: ValueError, path: str = path) -> None:
                assert on_error is not None
                on_error(ValueError(f"{path}: {error}"))

            try:
                yield from _states_in(path, note if on_error else None)
            except ValueError as error:
                if on_error is None:
                    raise ValueError(f"{path}: {error}") from error
                note(error)


def _states_in(
    path: str, on_error: Callable[[ValueError], None] | None
) -> Iterator[CompilerEnvState]:
    if path == "-":
        yield from CompilerEnvStateReader(sys.stdin, on_error)
    elif path.startswith(("http://", "https://")):
        text = download(path).decode("utf-8-sig")
        yield from CompilerEnvStateReader(io.StringIO(text, newline=""), on_error)
    else:
        with open(path, encoding="utf-8-sig", newline="") as f:
            yield from CompilerEnvStateReader(f, on_error)
