"""Memory-mapped lists of names, which may have a million entries."""

import mmap
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, overload

import numpy as np

_NEWLINE = ord("\n")
_BLOCK_BYTES = 1 << 20


class NameList(Sequence[str]):
    """The lines of an immutable file, without reading it as a whole.

    The file is mapped to memory, so that all processes share it. Besides it there are eight bytes
    for each name, once a name is asked for by its number or the names are counted.

    Args:
        path: The file, which :func:`write_names` has written.

    Raises:
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path):
        with path.open("rb") as file:
            is_empty = not path.stat().st_size
            # Empty files cannot be mapped.
            self._text: mmap.mmap | bytes = (
                b"" if is_empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            )

    @cached_property
    def _ends(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The offset of the end of each name."""
        blocks = [np.zeros(0, np.int64)]
        for start in range(0, len(self._text), _BLOCK_BYTES):
            block = np.frombuffer(self._text[start : start + _BLOCK_BYTES], np.uint8)
            blocks.append(np.flatnonzero(block == _NEWLINE) + start)
        return np.concatenate(blocks)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        start = int(self._ends[number - 1]) + 1 if number else 0
        return self._text[start : int(self._ends[number])].decode()

    def __iter__(self) -> Iterator[str]:
        rest = b""
        for start in range(0, len(self._text), _BLOCK_BYTES):
            *lines, rest = (rest + self._text[start : start + _BLOCK_BYTES]).split(b"\n")
            yield from map(bytes.decode, lines)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or "\n" in name:
            return False
        line = name.encode(errors="surrogateescape") + b"\n"
        return self._text[: len(line)] == line or self._text.find(b"\n" + line) >= 0


def write_names(path: Path, names: Iterable[str]) -> None:
    """Writes a file for :class:`NameList`.

    Args:
        path: The file.
        names: The names, without line breaks.

    Raises:
        OSError: The file cannot be written.
    """
    with path.open("wb") as file:
        file.writelines(f"{name}\n".encode() for name in names)


_shared: dict[Path, tuple[tuple[int, ...], NameList]] = {}
_sharing = Lock()


def shared_names(path: Path) -> NameList:
    """Returns the names in a file. The object is cached until the file changes.

    Raises:
        OSError: The file cannot be read.
    """
    status = path.stat()
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    with _sharing:
        known, names = _shared.get(path, (None, None))
        if names is None or known != identity:
            names = NameList(path)
            _shared[path] = (identity, names)
        return names
