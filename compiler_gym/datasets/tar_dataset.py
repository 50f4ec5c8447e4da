"""Datasets that are downloaded as archives."""

import bz2
import gzip
import lzma
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from compiler_gym.datasets.benchmark import Benchmark, fingerprint_of_file
from compiler_gym.datasets.files_dataset import FilesDataset, SourceCompiler, uris_of_files
from compiler_gym.datasets.name_list import NameList, shared_names, write_names
from compiler_gym.datasets.uri import BenchmarkUri
from compiler_gym.errors import DatasetInitError, DownloadFailed
from compiler_gym.util.download import MIRROR_VARIABLE, download_file, mirror_names
from compiler_gym.util.filesystem import atomic_file_write


def unpack_tar(archive: Path, compression: str, prefix: str, destination: Path) -> int:
    """Unpacks the files of a tar archive into a new directory.

    Only regular files and directories are made, never links, so that nothing can be written
    outside of the destination, whatever the archive holds. A link to a file of the archive
    becomes a copy of that file; another link is left out. (The extraction filter "data" of
    Python's tarfile would allow links, and the Python of Debian 12 does not have it.)

    Args:
        archive: The archive.
        compression: "bz2", "gz", "xz", or "" for none.
        prefix: The directory inside of the archive to unpack, e.g. "npb-v0". Empty for all.
        destination: The directory to unpack into. It is created.

    Returns:
        The number of files.

    Raises:
        ValueError: The name of a file points outside of the destination.
        tarfile.TarError: The archive cannot be read.
        OSError: A file cannot be read or written.
    """
    destination.mkdir(parents=True)
    root = PurePosixPath(prefix)
    count = 0
    with tarfile.open(archive, f"r:{compression}") as tar:  # type: ignore[call-overload]
        for member in tar:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise ValueError(f"{archive} is unsafe: it holds a file named {member.name!r}")
            if name != root and name.is_relative_to(root):
                count += _unpack_member(tar, member, destination / name.relative_to(root))
    return count


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> bool:
    """Unpacks a member of an archive, and returns whether it is a file."""
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return False
    try:
        contents = tar.extractfile(member)
    except (KeyError, RecursionError):  # A link to nowhere, or to itself.
        return False
    if contents is None:  # A device, or a link to a directory.
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with contents, path.open("wb") as file:
        shutil.copyfileobj(contents, file)
    if member.mode & 0o100:
        path.chmod(path.stat().st_mode | 0o111)
    return True


_DECOMPRESS = {"bz2": bz2.decompress, "gz": gzip.decompress, "xz": lzma.decompress}
# Errors of decompressors for damaged data, besides OSError.
_DAMAGED = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
_CONTENTS = "contents"
_COMPILED = "compiled"
_MARKER = ".extracted"
_KEPT_LISTS = 32


class TarDataset(FilesDataset):
    """The files of an archive, which is downloaded on first use.

    The archive is unpacked to ``contents`` in the site data directory, and compiled programs
    are kept beside it. Any number of processes may use the dataset at once; one of them installs
    it. An installation that was interrupted leaves nothing behind that would be used.

    Args:
        tar_urls: The address of the archive, or several that are tried in order.
        tar_sha256: Its SHA-256 checksum in hexadecimal.
        tar_compression: "bz2", "gz", "xz", or "" for none.
        strip_prefix: The directory inside of the archive that holds the files.
        size: The number of benchmarks, if it is known before the archive is there.
        **kwargs: Arguments of :class:`FilesDataset`, without the root. Requires ``site_data_base``.

    Raises:
        ValueError: There is no address or no ``site_data_base``, or the compression is unknown.
    """

    def __init__(
        self,
        tar_urls: str | Iterable[str],
        tar_sha256: str,
        tar_compression: str = "bz2",
        strip_prefix: str = "",
        size: int = 0,
        **kwargs: Any,
    ):
        self.tar_urls = _url_tuple(tar_urls)
        super().__init__(dataset_root="", **{"source": self.tar_urls[0], **kwargs})
        self._dataset_root = self.site_data_path / _CONTENTS
        self.tar_sha256 = tar_sha256
        self.tar_compression = _checked_compression(tar_compression)
        self.strip_prefix = strip_prefix
        self._published_size = size

    @property
    def installed(self) -> bool:
        """True if the archive has been unpacked."""
        try:
            # An archive of another release of the dataset does not count.
            return (self.site_data_path / _MARKER).read_text() == self.tar_sha256
        except (FileNotFoundError, NotADirectoryError):
            return False

    def install(self) -> None:
        """Downloads and unpacks the archive, unless that has been done.

        Raises:
            DatasetInitError: The archive cannot be fetched, unpacked or stored.
        """
        self._warn_if_deprecated()
        if not self.installed:
            with self._site_data_lock():
                # Another process may have done it in the meantime.
                if not self.installed:
                    self._install()
                    self._memoized_uris = None

    def fingerprint(self, uri: BenchmarkUri) -> Hashable | None:
        """Returns a cache key for a benchmark. Equal keys mean equal benchmarks."""
        path = self._path_of(uri)
        if path is None or self._compiler is None:
            return path and fingerprint_of_file(path)
        return fingerprint_of_file(self._path_of_compiled(path))

    def has_parsed_uri(self, uri: BenchmarkUri) -> bool:
        """Returns whether there is a benchmark. Ignores files of interrupted installations."""
        return (self.installed or self._programs is not None) and super().has_parsed_uri(uri)

    def uninstall(self) -> None:
        """Deletes the dataset's files. The downloaded archive stays in the cache."""
        super().uninstall()
        self._memoized_uris = None

    def _walk(self) -> Iterator[str]:
        status = (self.site_data_path / _MARKER).stat()
        return iter(
            _uris_of_installation(
                self.name,
                self.dataset_root,
                self.benchmark_file_suffix,
                (status.st_ino, status.st_mtime_ns),
            )
        )

    @property
    def size(self) -> int:
        """The number of benchmarks; 0 if not installed and not known otherwise."""
        return super().size or self._published_size

    def _install(self) -> None:
        """Fetches the archive, and replaces whatever the site data directory holds by it."""
        archive = self._fetch(self.tar_urls, self.tar_sha256)
        root = self.site_data_path
        new = root.with_name(f".{root.name}.unpack")
        try:
            shutil.rmtree(new, ignore_errors=True)  # Left by an interrupted installation.
            if not unpack_tar(archive, self.tar_compression, self.strip_prefix, new / _CONTENTS):
                raise ValueError(f"the archive has no files in {self.strip_prefix!r}")
            (new / _MARKER).write_text(self.tar_sha256)
            shutil.rmtree(root, ignore_errors=True)
            new.rename(root)
        except (*_DAMAGED, tarfile.TarError) as error:
            shutil.rmtree(new, ignore_errors=True)
            raise DatasetInitError(
                f"Cannot unpack {archive}, the archive of dataset {self.name}, to {root}: {error}"
            ) from error

    def _fetch(self, urls: tuple[str, ...], sha256: str) -> Path:
        """Downloads a file of the dataset into the cache."""
        try:
            return download_file(urls, sha256)
        except DownloadFailed as error:
            names = " or ".join(mirror_names(urls))
            raise DatasetInitError(
                f"Cannot install dataset {self.name}. {error}. "
                "To use the dataset, connect to the internet and try again, or set "
                f"{MIRROR_VARIABLE} to a directory, or to the base address of a server, that "
                f"holds {names} (SHA-256 {sha256}). "
                "The programs of benchmark://kernels-v0 are built in and need no download."
            ) from error
        except OSError as error:
            raise DatasetInitError(
                f"Cannot store the download of dataset {self.name}: {error}"
            ) from error

    def _compiled(self, uri: BenchmarkUri, source: Path, compiler: SourceCompiler) -> Benchmark:
        """Returns the benchmark of a source file, which is compiled once only."""
        # The sources never change, so that their paths say which program it is.
        output = self._path_of_compiled(source)
        if not output.is_file():
            try:
                output.parent.mkdir(parents=True, exist_ok=True)
                folder = tempfile.TemporaryDirectory(dir=output.parent, prefix=".compile-")
            except OSError:  # Somebody else's installation: nothing can be kept there.
                return super()._compiled(uri, source, compiler)
            with folder as directory:
                new = Path(directory) / "program"
                self._compile(uri, source, new, compiler)
                new.replace(output)
        return self.benchmark_class.from_file(uri, output)

    def _path_of_compiled(self, source: Path) -> Path:
        return self.site_data_path / _COMPILED / source.relative_to(self.dataset_root)


class TarDatasetWithManifest(TarDataset):
    """A dataset with a list of its benchmarks that is downloaded apart from the archive.

    The benchmarks can be listed after the small download of the list; the archive is downloaded
    when the first benchmark is used.

    Args:
        manifest_urls: The address of the list, or several that are tried in order. The list has
            a benchmark on each line: a URI, or what follows the name of the dataset in it.
        manifest_sha256: Its SHA-256 checksum in hexadecimal.
        manifest_compression: "bz2", "gz", "xz", or "" for none.
        **kwargs: Arguments of :class:`TarDataset`.

    Raises:
        ValueError: See :class:`TarDataset`.
    """

    def __init__(
        self,
        manifest_urls: str | Iterable[str],
        manifest_sha256: str,
        manifest_compression: str = "bz2",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.manifest_urls = _url_tuple(manifest_urls)
        self.manifest_sha256 = manifest_sha256
        self.manifest_compression = _checked_compression(manifest_compression)

    def benchmark_uris(self) -> Iterator[str]:  # type: ignore[override]  # The base adds part.
        """Iterates over the URIs of the benchmarks, in the order of the list.

        Raises:
            DatasetInitError: The list cannot be fetched or read.
        """
        # Not at once, but when it is the turn of this dataset.
        for name in self._names():
            yield self._uri_of_name(name)

    @property
    def size(self) -> int:
        """The number of benchmarks; 0 if not known because nothing has been downloaded."""
        return len(self._names()) if self._names_path.is_file() else self._published_size

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI. Names that are not listed cause no download."""
        self._check_own(uri)
        if not self.installed and uri.path.removeprefix("/") not in self._names():
            raise self._no_such_benchmark(uri)
        return super().benchmark_from_parsed_uri(uri)

    def fingerprint(self, uri: BenchmarkUri) -> Hashable | None:
        """Returns a cache key for a benchmark. Equal keys mean equal benchmarks."""
        return super().fingerprint(uri)

    def has_parsed_uri(self, uri: BenchmarkUri) -> bool:
        """Returns whether there is a benchmark. Before installation, looks at the list of names."""
        if self.installed:
            return super().has_parsed_uri(uri)
        return self._names_path.is_file() and uri.path.removeprefix("/") in self._names()

    def uninstall(self) -> None:
        """Deletes the dataset's files. What was downloaded stays in the cache."""
        super().uninstall()
        self._names_path.unlink(missing_ok=True)

    def _draw(self, generator: np.random.Generator) -> str:
        names = self._names()
        return self._uri_of_name(names[int(generator.integers(len(names)))]) if names else ""

    @property
    def _names_path(self) -> Path:
        """The path of the list of names, outside of the directory that installations replace."""
        path = self.site_data_path
        return path.with_name(f".{path.name}-names-{self.manifest_sha256[:16]}.txt")

    def _names(self) -> NameList:
        """Returns what follows the name of the dataset in URIs. The list is fetched if need be."""
        path = self._names_path
        if not path.is_file():
            archive = self._fetch(self.manifest_urls, self.manifest_sha256)
            try:
                with self._site_data_lock(), atomic_file_write(path) as partial:
                    text = _decompress(archive, self.manifest_compression).decode()
                    write_names(partial, filter(None, map(self._name_of_line, text.splitlines())))
            except _DAMAGED as error:
                raise DatasetInitError(
                    f"Cannot unpack {archive}, the list of benchmarks of dataset {self.name}, "
                    f"to {path}: {error}"
                ) from error
        return shared_names(path)

    def _name_of_line(self, line: str) -> str:
        """Returns the name on a line of the list; empty if there is none."""
        text = line.strip()
        if "://" in text:  # Several releases of a dataset may have one list.
            return text.split("://", 1)[1].partition("/")[2]
        return text.lstrip("/").removesuffix(self.benchmark_file_suffix)

    def _uri_of_name(self, name: str) -> str:
        return f"{self.name}/{name}"


@lru_cache(_KEPT_LISTS)
def _uris_of_installation(
    name: str, root: Path, suffix: str, installation: tuple[int, ...]
) -> list[str]:
    """Returns the URIs of files that never change, for all datasets of the process."""
    del installation  # Tells it from another one at the same place.
    return list(uris_of_files(name, root, suffix))


def _url_tuple(urls: str | Iterable[str]) -> tuple[str, ...]:
    """Returns one or several addresses as a tuple."""
    result = (urls,) if isinstance(urls, str) else tuple(urls)
    if not result:
        raise ValueError("No address to download from")
    return result


def _checked_compression(compression: str) -> str:
    """Returns the name of a compression; raises ValueError if it is unknown."""
    if compression and compression not in _DECOMPRESS:
        raise ValueError(f"Unknown compression {compression!r}; use one of {list(_DECOMPRESS)}")
    return compression


def _decompress(path: Path, compression: str) -> bytes:
    """Returns what a compressed file holds."""
    return _DECOMPRESS[compression](path.read_bytes()) if compression else path.read_bytes()
