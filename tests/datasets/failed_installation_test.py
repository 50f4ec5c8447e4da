"""Tests of failed installations of datasets: the errors, and the state afterwards.

The dataset is installed by processes of their own, from an HTTP server of this machine.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from compiler_gym.datasets import TarDataset
from tests.archives import tar_of

INSTALL = """
import json, sys
from compiler_gym.datasets import TarDataset
from compiler_gym.errors import DatasetInitError

dataset = TarDataset(**json.loads(sys.argv[1]))
try:
    dataset.install()
except DatasetInitError as error:
    sys.exit(str(error))
print(*dataset.benchmark_uris())
"""

NAME = "benchmark://data-v0"
URIS = f"{NAME}/large {NAME}/small"
# A download arrives in blocks of a mebibyte.
LARGE = random.Random(0).randbytes(3 << 20)


class Server:
    """An HTTP server that has an archive.

    Attributes:
        data: What it has.
        ranges: The header ``Range`` of each request, or None.
        stop_at: Where it sends nothing more, and waits. None for never.
        is_stopped: Set when it waits, until ``go_on`` is set.
    """

    def __init__(self, data):
        self.data = data
        self.ranges = []
        self.stop_at = None
        self.is_stopped = threading.Event()
        self.go_on = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.ranges.append(self.headers["Range"])
                start = int((self.headers["Range"] or "bytes=0-")[6:-1])
                self.send_response(206 if start else 200)
                if start:
                    end = len(outer.data)
                    self.send_header("Content-Range", f"bytes {start}-{end - 1}/{end}")
                self.send_header("Content-Length", str(len(outer.data) - start))
                self.end_headers()
                if outer.stop_at is not None:
                    self.wfile.write(outer.data[start : outer.stop_at])
                    outer.is_stopped.set()
                    outer.go_on.wait(100)
                    start, outer.stop_at = outer.stop_at, None
                with suppress(OSError):  # Nobody may be waiting for it any more.
                    self.wfile.write(outer.data[start:])

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()


class Place:
    """A machine with nothing on it, and a server that has the archive of a dataset."""

    def __init__(self, folder, files):
        self.site, self.cache = folder / "site", folder / "cache"
        archive = tar_of({f"data-v0/{name}.bc": contents for name, contents in files.items()})
        self.server = Server(archive)
        self.options = {
            "name": NAME,
            "description": "",
            "license": "",
            "site_data_base": str(self.site),
            "benchmark_file_suffix": ".bc",
            "tar_urls": f"http://127.0.0.1:{self.server.http.server_port}/data.tar.gz",
            "tar_sha256": hashlib.sha256(self.server.data).hexdigest(),
            "tar_compression": "gz",
            "strip_prefix": "data-v0",
        }

    def begin(self, limit=None, **options):
        """Starts a process that installs the dataset.

        Args:
            limit: The size in bytes that no file can exceed, as on a full disk.
            options: What differs of the dataset.
        """
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "COMPILER_GYM_CACHE": str(self.cache),
            "no_proxy": "*",
        }
        environment.pop("COMPILER_GYM_DATASET_MIRROR", None)
        limits = [f"ulimit -f {limit // 512} &&"] if limit else []
        command = [sys.executable, "-c", INSTALL, json.dumps({**self.options, **options})]
        return subprocess.Popen(
            ["/bin/sh", "-c", " ".join([*limits, 'exec "$@"']), "sh", *command],
            env=environment,
            cwd=self.site.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def install(self, code=0, **options):
        """Installs the dataset. Returns what it prints, or the error."""
        process = self.begin(**options)
        stdout, stderr = process.communicate(timeout=100)
        assert process.returncode == code, stderr
        return stderr.strip() if code else stdout.strip()

    def files(self):
        """Returns the names of all files that there are, but for locks."""
        folders = (self.site / "benchmark", self.cache / "downloads")
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return sorted(path.name for path in files if path.suffix != ".lock")


@pytest.fixture
def make_place(tmp_path):
    places = []

    def make(**files):
        places.append(Place(tmp_path, files))
        return places[-1]

    yield make
    for place in places:
        place.server.go_on.set()
        place.server.http.shutdown()
        place.server.http.server_close()


@pytest.fixture
def place(make_place):
    return make_place(large=LARGE, small=b"")


def is_whole(place):
    """Returns true if there are the files of an installation, and no others."""
    return place.files() == [".extracted", place.options["tar_sha256"], "large.bc", "small.bc"]


def wait_for_file(folder, pattern, size):
    """Waits for a file of a size."""
    for _ in range(3000):
        files = [path for path in folder.glob(pattern) if path.stat().st_size >= size]
        if files:
            return files
        threading.Event().wait(0.01)
    raise AssertionError(f"There is no file {pattern} in {folder}")


def test_wrong_checksum(place):
    error = place.install(code=1, tar_sha256="0" * 64)
    assert error.startswith(f"Cannot install dataset {NAME}. Cannot fetch http://127.0.0.1:")
    assert f"checksum is {place.options['tar_sha256']} but should be {'0' * 64}" in error
    assert place.files() == []
    assert place.install() == URIS


def test_disk_is_full_while_downloading(place):
    error = place.install(code=1, limit=(1 << 20) + 4096)
    assert error.startswith(f"Cannot store the download of dataset {NAME}: ")
    assert os.strerror(27) in error  # That of a limit; a full disk has its own.
    assert place.files() == [f"{place.options['tar_sha256']}.part"]
    # With room again, what is there already is used.
    assert place.install() == URIS
    assert place.server.ranges == [None, f"bytes={(1 << 20) + 4096}-"]
    assert is_whole(place)


def test_disk_is_full_while_unpacking(make_place):
    place = make_place(large=bytes(3 << 20), small=b"")
    assert len(place.server.data) < 1 << 20
    error = place.install(code=1, limit=1 << 20)
    assert error.startswith("Cannot unpack ")
    assert f"the archive of dataset {NAME}, to {place.site}" in error
    assert os.strerror(27) in error
    assert place.files() == [place.options["tar_sha256"]]
    assert not (place.site / "benchmark" / ".data-v0.unpack").exists()
    assert place.install() == URIS
    assert place.server.ranges == [None]
    assert is_whole(place)


def test_unwritable_folder(place):
    # Not even root can make a folder there.
    error = place.install(code=1, site_data_base="/sys/kernel")
    assert error.startswith(f"Cannot change the files of dataset {NAME}: ")
    assert "'/sys/kernel/benchmark'. Set the environment variable COMPILER_GYM_SITE_DATA" in error
    assert place.server.ranges == [] and place.files() == []


def test_folder_of_somebody_else_can_be_used(place, monkeypatch, tmp_path):
    """Nothing is kept where an administrator has installed the dataset, and nothing is needed."""
    place.install()
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "other"))
    compilations = []

    def compile(source, output):
        compilations.append(source.name)
        output.write_bytes(b"compiled")

    dataset = TarDataset(**place.options, compiler=compile)
    # What stands in the way of the folder for what is compiled is as good as a lack of rights.
    (dataset.site_data_path / "compiled").write_text("")
    for _ in range(2):
        assert dataset[f"{NAME}/small"].proto.program.contents == b"compiled"
    assert compilations == ["small.bc"] * 2


def test_two_processes_at_once(place):
    place.server.stop_at = 1000
    first = place.begin()
    assert place.server.is_stopped.wait(100)
    second = place.begin()
    # It waits for the first.
    with pytest.raises(subprocess.TimeoutExpired):
        second.communicate(timeout=2)
    place.server.go_on.set()
    for process in (first, second):
        stdout, stderr = process.communicate(timeout=100)
        assert process.returncode == 0, stderr
        assert stdout.strip() == URIS
    assert place.server.ranges == [None]
    assert is_whole(place)


def test_other_process_is_killed(place):
    """A waiting process takes over if the installing one is killed."""
    place.server.stop_at = (1 << 20) + 1000
    first = place.begin()
    assert place.server.is_stopped.wait(100)
    wait_for_file(place.cache / "downloads", "*.part", 1 << 20)
    second = place.begin()
    first.send_signal(signal.SIGKILL)
    first.communicate()
    place.server.go_on.set()
    stdout, stderr = second.communicate(timeout=100)
    assert second.returncode == 0, stderr
    assert stdout.strip() == URIS
    assert place.server.ranges == [None, f"bytes={1 << 20}-"]
    assert is_whole(place)
