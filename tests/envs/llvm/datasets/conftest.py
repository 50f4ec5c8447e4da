"""Downloads for the tests of datasets: a package index and a server, with generated archives."""

import bz2
import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from compiler_gym.envs.llvm.datasets import packages, published
from compiler_gym.envs.llvm.datasets.published import published_facts
from compiler_gym.util.download import MIRROR_VARIABLE
from tests.archives import tar_of


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
        members = {f"{name}_package-1.0/{path}": text.encode() for path, text in files.items()}
        contents = spoil(tar_of(members))
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
    monkeypatch.setattr(packages, "_index", lambda: "http://127.0.0.1:1/simple")
    return Mirror(folder)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """The folder of a server, which is where all downloads come from."""
    folder = tmp_path / "server"
    folder.mkdir()
    handler = partial(QuietHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv(MIRROR_VARIABLE, f"http://127.0.0.1:{http.server_port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        # Nothing else is reached.
        monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
        yield folder
        http.shutdown()


@pytest.fixture
def publish_archive(server):
    def publish_archive(name, files, compression="bz2"):
        """Puts an archive on the server, and returns its checksum."""
        archive = tar_of(files, compression)
        (server / name).write_bytes(archive)
        return hashlib.sha256(archive).hexdigest()

    return publish_archive


@pytest.fixture
def publish(server, publish_archive, monkeypatch):
    def publish(name, files, manifest):
        """Puts files of a dataset on the server, with the checksums that they have."""
        facts = dict(published_facts()[name])
        facts["tar_sha256"] = publish_archive(
            facts["tar_urls"][0].rpartition("/")[2],
            {f"{facts['strip_prefix']}/{path}": contents for path, contents in files.items()},
            facts["tar_compression"],
        )
        if "manifest_urls" in facts:
            listed = bz2.compress(manifest.encode())
            (server / facts["manifest_urls"][0].rpartition("/")[2]).write_bytes(listed)
            facts["manifest_sha256"] = hashlib.sha256(listed).hexdigest()
        monkeypatch.setattr(published, "published_facts", lambda: {name: facts})

    return publish
