"""A package index of the tests, whose source distributions are made here."""

import hashlib
import io
import tarfile

import pytest

from compiler_gym.util import source_distributions


class Mirror:
    """A folder of source distributions, which is all that there is of the package index."""

    def __init__(self, folder):
        self.folder = folder

    def add(self, name, files, spoil=bytes, is_there=True):
        """Adds version 1.0 of a package.

        Args:
            name: The name of the package.
            files: The contents of its files by path.
            spoil: Changes the archive.
            is_there: Whether the mirror has it.

        Returns:
            The name of the archive, and its checksum.
        """
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as tar:
            for file, text in files.items():
                member = tarfile.TarInfo(f"{name}_package-1.0/{file}")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
        contents = spoil(data.getvalue())
        file = f"{name}-1.0.tar.gz"
        if is_there:
            (self.folder / file).write_bytes(contents)
        return file, hashlib.sha256(contents).hexdigest()


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """An empty :class:`Mirror`, and nothing else to download from."""
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mirror"
    folder.mkdir()
    monkeypatch.setenv("COMPILER_GYM_DATASET_MIRROR", str(folder))
    # Nobody listens there.
    monkeypatch.setattr(source_distributions, "_index", lambda: "http://127.0.0.1:1/simple")
    return Mirror(folder)
