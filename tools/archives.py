"""Archives without times and owners, so that the same files make the same bytes."""

import gzip
import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def create(path: Path) -> Iterator[tarfile.TarFile]:
    """Opens a new archive, compressed by gzip."""
    with (
        # The name of the file would be part of the bytes.
        open(path, "wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        yield archive


def add(archive: tarfile.TarFile, place: str, data: bytes, is_executable: bool = False) -> None:
    """Adds a file to an archive."""
    entry = tarfile.TarInfo(place)
    entry.size = len(data)
    entry.mode = 0o755 if is_executable else 0o644
    archive.addfile(entry, io.BytesIO(data))
