"""Datasets of programs that are compiled from source distributions."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zlib
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from html import unescape
from http.client import HTTPException, InvalidURL
from pathlib import Path
from threading import Lock
from urllib.error import URLError
from urllib.parse import urljoin, urlsplit, urlunsplit
from urllib.request import urlopen

from compiler_gym.datasets import Dataset
from compiler_gym.datasets.benchmark import fingerprint_of_file
from compiler_gym.datasets.parts import check_part
from compiler_gym.datasets.tar_dataset import unpack_tar
from compiler_gym.errors import DatasetInitError, DownloadFailed
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command
from compiler_gym.util.download import (
    MIRROR_VARIABLE,
    download_file,
    hide_credentials,
    request_of,
)
from compiler_gym.util.filesystem import file_lock
from compiler_gym.util.thread_pool import map_in_threads

# Source distributions of the Python package index, a source of C and C++ programs.
#
# The files are found through the index that ``pip`` is configured to use, and read as archives:
# nothing in them is installed, built or run. The libraries pypi-simple and unearth are not needed:
# pip knows its index, and the rest is to find a link on one page.

_TIMEOUT_SECONDS = 30
_JSON = "application/vnd.pypi.simple.v1+json"
# See https://packaging.python.org/en/latest/specifications/simple-repository-api/
_ACCEPT = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
_LINK = re.compile(r'<a\s[^>]*href="([^"#]+)', re.IGNORECASE)
_DEFAULT_INDEX = re.compile(r"Package Index \(default\s+(https?://[^\s)]+)\)")


@dataclass(frozen=True)
class SourceDistribution:
    """A file of the Python package index.

    Attributes:
        name: The name of the package.
        file: The name of the file.
        sha256: Its checksum in hexadecimal.
    """

    name: str
    file: str
    sha256: str


def fetch(distribution: SourceDistribution) -> Path:
    """Downloads a source distribution into the cache, unless it is there.

    With ``COMPILER_GYM_DATASET_MIRROR``, the mirror is tried first, by the name of the file.

    Returns:
        The path of the file in the cache. It must not be changed.

    Raises:
        DownloadFailed: It cannot be found or fetched.
    """
    if os.environ.get(MIRROR_VARIABLE):
        # The mirror only needs the name. It may lack some files.
        with suppress(DownloadFailed):
            return download_file(f"file:///{distribution.file}", distribution.sha256)
    return download_file(_address_of(distribution), distribution.sha256)


def _address_of(distribution: SourceDistribution) -> str:
    """Returns the address of the file in the index."""
    page = f"{_index()}/{re.sub(r'[-_.]+', '-', distribution.name).lower()}/"
    shown = hide_credentials(page)
    try:
        with urlopen(request_of(page, {"Accept": _ACCEPT}), timeout=_TIMEOUT_SECONDS) as reply:
            is_json = reply.headers.get_content_type() == _JSON
            text = reply.read().decode()
    except InvalidURL:
        # Its text has part of the address, perhaps a password.
        raise DownloadFailed("The address of pip's package index is not valid") from None
    except (URLError, OSError, ValueError, HTTPException) as error:
        raise DownloadFailed(f"Cannot ask the package index at {shown}: {error}") from error
    if is_json:
        links = [file["url"] for file in json.loads(text)["files"]]
    else:
        links = [unescape(link) for link in _LINK.findall(text)]
    for link in links:
        if urlsplit(link).path.rpartition("/")[2] == distribution.file:
            return _with_credentials(urljoin(page, link), page)
    raise DownloadFailed(f"The package index at {shown} does not have {distribution.file}")


def _with_credentials(url: str, index: str) -> str:
    """Returns the address of a file with the user and password of the index if it is there."""
    credentials, _, host = urlsplit(index).netloc.rpartition("@")
    parts = urlsplit(url)
    if not credentials or parts.netloc != host:
        return url
    return urlunsplit(parts._replace(netloc=f"{credentials}@{host}"))


@cache
def _index() -> str:
    """Returns the address of the index that ``pip`` uses, without a slash at the end."""
    pip = [sys.executable, "-m", "pip"]
    try:
        configured = run_command([*pip, "config", "list"], timeout=_TIMEOUT_SECONDS).stdout
        if match := re.search(r"\.index-url='(.*)'", configured):
            return match.group(1).rstrip("/")
        environment = {**os.environ, "COLUMNS": "1000"}
        text = run_command([*pip, "download", "--help"], _TIMEOUT_SECONDS, env=environment).stdout
    except (OSError, subprocess.SubprocessError) as error:
        reason = hide_credentials(str(error))
        raise DownloadFailed(f"pip cannot be asked for its package index: {reason}") from None
    match = _DEFAULT_INDEX.search(text)
    if match is None:
        raise DownloadFailed("pip has no package index. Set one: pip config set global.index-url")
    return match.group(1).rstrip("/")


_MARKER = ".sha256"
# Downloads at a time.
_DOWNLOADS = 4
# Errors for damaged archives, besides OSError.
_DAMAGED = (OSError, EOFError, ValueError, zlib.error, tarfile.TarError)


class PackagedDataset(Dataset):
    """A dataset of source distributions, which are downloaded to the site data folder.

    Concurrent downloads by several processes are safe. Subclasses implement :meth:`distributions`.
    """

    @abstractmethod
    def distributions(self) -> Iterable[SourceDistribution]:
        """Returns the distributions of all programs."""

    @property
    def installed(self) -> bool:
        """True if all packages are installed."""
        return all(map(self._is_unpacked, self.distributions()))

    def install(self) -> None:
        """Downloads all missing packages.

        Raises:
            DatasetInitError: A package cannot be fetched, unpacked or stored.
        """
        super().install()
        for package in self.distributions():
            self.unpacked(package)

    def prefetch(
        self, part: str | None = None, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Downloads the missing packages of a part, several at a time.

        Args:
            part: ``"train"``, ``"validation"`` or ``"test"``; None for all.
            on_progress: Called after each package, with the number of those that are there and the
                number of all.

        Raises:
            ValueError: There is no such part.
            DatasetInitError: A package cannot be fetched, unpacked or stored.
        """
        check_part(part, self.name)
        names = {self.package_of(uri) for uri in self.benchmark_uris(part)}
        packages = [each for each in self.distributions() if each.name in names]
        lock, done = Lock(), itertools.count(1)

        def get(package: SourceDistribution) -> None:
            self.unpacked(package)
            with lock:
                if on_progress is not None:
                    on_progress(next(done), len(packages))

        map_in_threads(get, packages, _DOWNLOADS)

    def unpacked(self, package: SourceDistribution) -> Path:
        """Returns the folder of a package, after downloading it if necessary.

        Raises:
            DatasetInitError: The package cannot be fetched, unpacked or stored.
        """
        root = self._root_of(package)
        if self._is_unpacked(package):
            return root
        try:
            root.parent.mkdir(parents=True, exist_ok=True)
            with file_lock(root.with_name(f".{root.name}.lock")):
                if not self._is_unpacked(package):
                    _unpack(self._fetch(package), package, root)
        except DatasetInitError:  # A DatasetInitError is an OSError, too.
            raise
        except OSError as error:
            raise DatasetInitError(
                f"Cannot store {package.name}, a package of {self.name}: {error}"
            ) from error
        return root

    def fingerprint_of_package(self, package: SourceDistribution) -> Hashable | None:
        """Returns a hash of the sources of a package; None if they are missing."""
        source = fingerprint_of_file(self._root_of(package) / _MARKER)
        return source and (source, llvm_tools.tool_version(llvm_tools.clang_path()))

    def _root_of(self, package: SourceDistribution) -> Path:
        return self.site_data_path / "packages" / package.file.removesuffix(".tar.gz")

    def _is_unpacked(self, package: SourceDistribution) -> bool:
        """Returns true if a package is complete and has the right checksum."""
        try:
            return (self._root_of(package) / _MARKER).read_text() == package.sha256
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _fetch(self, package: SourceDistribution) -> Path:
        try:
            return fetch(package)
        except (DownloadFailed, OSError) as error:
            raise DatasetInitError(
                f"Cannot get {package.name} ({package.file}), a package of {self.name}: "
                f"{error}. Connect to the internet and try again, or set {MIRROR_VARIABLE} to a "
                f"directory, or to the base address of a server, that holds {package.file}. The "
                "programs of benchmark://kernels-v0 are built in and need no download."
            ) from error


def _unpack(archive: Path, package: SourceDistribution, root: Path) -> None:
    new = root.with_name(f".{root.name}.unpack")
    shutil.rmtree(new, ignore_errors=True)  # Left by an interrupted installation.
    try:
        unpack_tar(archive, "gz", "", new)
        # A source distribution is one folder with a name similar to that of the file.
        (contents,) = new.iterdir()
        (contents / _MARKER).write_text(package.sha256)
        shutil.rmtree(root, ignore_errors=True)
        contents.rename(root)
        new.rmdir()
    except _DAMAGED as error:
        shutil.rmtree(new, ignore_errors=True)
        raise DatasetInitError(f"Cannot unpack {archive} to {root}: {error}") from error
