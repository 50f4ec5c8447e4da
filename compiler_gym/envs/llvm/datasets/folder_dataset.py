"""The programs of a folder of the user, as a dataset."""

import re
import uuid
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from compiler_gym.datasets import Benchmark, BenchmarkUri, FilesDataset
from compiler_gym.datasets.benchmark import fingerprint_of_file
from compiler_gym.datasets.files_dataset import uris_of_files
from compiler_gym.envs.llvm.benchmarks.bitcode import PROGRAM_SUFFIXES
from compiler_gym.envs.llvm.benchmarks.own_programs import benchmark_of_program

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.+]+")


class FolderDataset(FilesDataset):
    """The sources and the IR below a folder, see :func:`dataset`."""

    def __init__(self, folder: Path, name: str, copt: Sequence[str]):
        super().__init__(
            folder,
            name=name,
            description=f"The programs below {folder}",
            license="unknown",
        )
        self._copt = tuple(copt)
        # Headers may have changed since another dataset of the same folder was made.
        self._id = uuid.uuid4().hex

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI.

        Raises:
            LookupError: There is no such file in the folder.
            BenchmarkInitError: It does not compile. The text names it.
        """
        self._check_own(uri)
        path = self._path_of(uri)
        if path is None or not path.is_file():
            raise self._no_such_benchmark(uri)
        return benchmark_of_program(uri, path, self._copt)

    def fingerprint(self, uri: BenchmarkUri) -> Hashable | None:
        """Returns a cache key: files are compiled once, and again if they have changed."""
        path = self._path_of(uri)
        version = path and fingerprint_of_file(path)
        return version and (self._id, version)

    def files(self) -> Iterator[Path]:
        """Iterates over the paths of the programs."""
        for uri in self.benchmark_uris():
            if path := self._path_of(BenchmarkUri.from_string(uri)):
                yield path

    def _walk(self) -> Iterator[str]:
        uris = uris_of_files(self.name, self.dataset_root, "")
        return (uri for uri in uris if uri.endswith(PROGRAM_SUFFIXES))

    def _path_of(self, uri: BenchmarkUri) -> Path | None:
        path = super()._path_of(uri)
        return path if path and path.suffix in PROGRAM_SUFFIXES else None


def dataset(folder: str | Path, copt: Sequence[str] = (), name: str | None = None) -> FolderDataset:
    """Makes a dataset of the sources, the textual IR and the bitcode below a folder.

    ::

        programs = compiler_gym.dataset("kernels/", copt=["-Iinclude"])
        env = compiler_gym.make("llvm-autophase-ic-v0", benchmarks=programs)

    The URI of a program is the name of the dataset and the path of the file in the folder:
    ``benchmark://kernels-v0/sort/quick.c``. Files and folders whose names start with a dot do not
    count. ``env.datasets.add(programs)`` makes the URIs known to an environment.

    A source is compiled when it is first used, and again if the file has changed. After a change of
    a header, make the dataset again.

    Args:
        folder: The folder.
        copt: Options for the compiler, e.g. ``["-DNDEBUG", "-Iinclude"]``.
        name: The name of the dataset, e.g. ``"benchmark://mine-v0"``. By default that of the
            folder with ``-v0``.

    Raises:
        NotADirectoryError: There is no such folder.
        ValueError: It has no programs, or the name is malformed.
    """
    root = Path(folder).expanduser().absolute()
    if not root.is_dir():
        raise NotADirectoryError(f"expected a folder with programs, got {str(folder)!r}")
    stem = _NOT_IN_NAMES.sub("-", root.resolve().name).strip("-_.+") or "folder"
    programs = FolderDataset(root, name or f"benchmark://{stem}-v0", copt)
    if not programs.size:
        raise ValueError(
            f"expected files below {root} that end in {', '.join(PROGRAM_SUFFIXES)}, got none"
        )
    return programs
