"""Datasets of programs that are compiled from source distributions."""

import shutil
import tarfile
import zlib
from abc import abstractmethod
from collections.abc import Hashable, Iterable
from pathlib import Path

from compiler_gym.datasets import Dataset
from compiler_gym.datasets.kept_benchmarks import fingerprint_of_file
from compiler_gym.datasets.tar_dataset import unpack_tar
from compiler_gym.envs.llvm import tools
from compiler_gym.errors import DatasetInitError, DownloadFailed
from compiler_gym.util.download import MIRROR_VARIABLE
from compiler_gym.util.file_lock import file_lock
from compiler_gym.util.source_distributions import SourceDistribution, fetch

_MARKER = ".sha256"
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
        return source and (source, tools.tool_version(tools.clang_path()))

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
