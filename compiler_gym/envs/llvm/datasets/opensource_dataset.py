"""Real C and C++ from source distributions of the Python package index."""

import json
import shlex
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from compiler_gym.datasets import (
    Benchmark,
    BenchmarkSource,
    BenchmarkUri,
    BenchmarkWithSource,
)
from compiler_gym.datasets.parts import check_part
from compiler_gym.envs.llvm.benchmarks.bitcode import (
    ClangInvocation,
    bitcode_made_once,
    compile_source,
    key_of_bitcode,
)
from compiler_gym.envs.llvm.benchmarks.validation import validate_against_opt
from compiler_gym.envs.llvm.datasets.opensource_table import ProgramFacts, read_table
from compiler_gym.envs.llvm.datasets.packages import PackagedDataset, SourceDistribution
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.util.runfiles_path import runfiles_path

FOLDER = runfiles_path("compiler_gym/data/opensource-v0")
"""Where ``packages.json`` and ``manifest.txt`` are: the packages, and the files that compile."""

DUPLICATES = "duplicates.csv"
"""The list of the programs that are equal to others, beside the manifest."""

MINI = "mini.txt"
"""The list of the programs of ``opensource-mini-v0``."""

LANGUAGES = {".c": ("c", "gnu11"), ".cc": ("c++", "gnu++17"), ".cpp": ("c++", "gnu++17")}
"""What a file is compiled as, by its ending: the language and its standard."""

_TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class Package:
    """A source distribution with C or C++ in it.

    Attributes:
        name: Its name in the package index, and in URIs.
        version: Its version.
        file: The name of the archive.
        sha256: The checksum of the archive in hexadecimal.
        license: The licence, as the package states it.
        topic: What its programs are about.
        part: One of ``compiler_gym.datasets.PARTS``. All its files are in it.
        include: The folders with headers, in the archive.
        define: Macros to define: ``"NAME"`` or ``"NAME=VALUE"``.
    """

    name: str
    version: str
    file: str
    sha256: str
    license: str
    topic: str
    part: str
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()

    @property
    def distribution(self) -> SourceDistribution:
        """The distribution that the dataset is downloaded from."""
        return SourceDistribution(self.name, self.file, self.sha256)

    def invocation(self, file: str) -> ClangInvocation:
        """Returns the compilation of a file of the package, in its unpacked folder."""
        language, standard = LANGUAGES[Path(file).suffix]
        options = [*ClangInvocation.DEFAULT_COPT, "-w", "-Wno-register", "-ferror-limit=1"]
        options += ["-x", language, f"-std={standard}", f"-I{Path(file).parent}"]
        options += [f"-I{folder}" for folder in self.include]
        options += [f"-D{macro}" for macro in self.define]
        return ClangInvocation([*options, file], timeout=_TIMEOUT_SECONDS)


class _Lists(NamedTuple):
    """A folder of lists, and the files there of the programs to have and to leave out."""

    folder: Path
    programs: str
    without: str

    def lines(self, name: str) -> list[str]:
        """Returns the lines of a file of the folder; none without a name."""
        return (self.folder / name).read_text(encoding="utf-8").splitlines() if name else []


class OpenSourceDataset(PackagedDataset):
    """C and C++ of released software, a benchmark for each file that compiles.

    ``benchmark://opensource-v0/lz4/lz4libs/lz4.c`` is the file ``lz4libs/lz4.c`` of the package
    ``lz4``. On first use a package is downloaded by name, version and checksum. The installed clang
    compiles its files, and the bitcode is kept in the site data folder. Listing needs no download.
    The parts (train, validation, test) consist of whole packages.

    Some programs are equal to others. ``opensource-v1`` has each of them once. This dataset stays
    as it is, so that published results can be compared.

    Args:
        site_data_base: The folder for packages and bitcode.
        sort_order: Datasets are listed by this number.
        folder: The folder of the lists.
    """

    NAME: ClassVar[str] = "benchmark://opensource-v0"
    """The full name of the dataset."""

    DESCRIPTION: ClassVar[str] = "Files of released C and C++ software"
    """A short description of the programs."""

    LIST: ClassVar[str] = "manifest.txt"
    """The file with the programs, in the folder of the lists."""

    WITHOUT: ClassVar[str] = ""
    """The file with the programs to leave out. Empty if all stay."""

    def __init__(self, site_data_base: str | Path, sort_order: int = 0, folder: Path = FOLDER):
        super().__init__(
            name=self.NAME,
            description=self.DESCRIPTION,
            license="Several: see packages[name].license",
            site_data_base=site_data_base,
            benchmark_class=BenchmarkWithSource,
            sort_order=sort_order,
            runnable="No",
            source="Python package index",
        )
        self._folder = folder
        self._lists = _Lists(folder, self.LIST, self.WITHOUT)
        # Datasets of the same packages share their downloads and bitcode.
        first = BenchmarkUri.from_string(OpenSourceDataset.NAME)
        self._site_data_path = self.site_data_path.with_name(first.dataset)

    @property
    def packages(self) -> dict[str, Package]:
        """The packages by name."""
        return _used_packages(self._lists)

    def table(self, part: str | None = None) -> list[ProgramFacts]:
        """Returns measured facts about the programs. Downloads and compiles nothing.

        The table comes with the package. ``pandas.DataFrame(dataset.table())`` works.

        Args:
            part: One of ``compiler_gym.datasets.PARTS``; None for all.

        Raises:
            ValueError: There is no such part.
        """
        known = read_table(self._folder)
        programs = ((uri, uri.removeprefix(f"{self.name}/")) for uri in self._uris(part))
        return [
            known[program]._replace(benchmark=uri) for uri, program in programs if program in known
        ]

    def known_sizes(self) -> Mapping[str, int]:
        """Returns the sizes of the programs in bytes of bitcode, from :meth:`table`."""
        return {facts.benchmark: facts.bitcode_bytes for facts in self.table()}

    @property
    def size(self) -> int:
        """The number of files."""
        return sum(map(len, self._files.values()))

    def distributions(self) -> Iterator[SourceDistribution]:
        """Iterates over the packages, as they are fetched."""
        return (package.distribution for package in self.packages.values())

    def benchmark_uris(self, part: str | None = None) -> Iterator[str]:
        """Iterates over the URIs of the files, by package.

        Args:
            part: One of ``compiler_gym.datasets.PARTS``; None for all.

        Raises:
            ValueError: There is no such part.
        """
        return iter(self._uris(part))

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI. Downloads and compiles its package if necessary.

        Raises:
            LookupError: There is no such file.
            DatasetInitError: The package cannot be fetched, unpacked or stored.
            BenchmarkInitError: The file does not compile with this clang, on this machine.
            EnvironmentNotSupported: clang is not installed.
        """
        package, file = self._place(uri)
        root = self.unpacked(package.distribution)
        proto = BenchmarkProto(
            uri=str(uri), program=File(contents=self._bitcode(package, root, file))
        )
        return BenchmarkWithSource(
            proto,
            validation_callbacks=[validate_against_opt],
            sources=[BenchmarkSource(file, (root / file).read_bytes())],
        )

    def invocation(self, uri: BenchmarkUri) -> tuple[ClangInvocation, Path]:
        """Returns the compilation of a file, and the folder that it runs in.

        Raises:
            LookupError: There is no such file.
            DatasetInitError: The package cannot be fetched, unpacked or stored.
        """
        package, file = self._place(uri)
        return package.invocation(file), self.unpacked(package.distribution)

    def _place(self, uri: BenchmarkUri) -> tuple[Package, str]:
        """Returns the package of a file, and the file's path there."""
        self._check_own(uri)
        if not self.has_parsed_uri(uri):
            raise unknown_name("benchmark", uri, self.benchmark_uris())
        name, _, file = uri.path.removeprefix("/").partition("/")
        return self.packages[name], file

    def fingerprint(self, uri: BenchmarkUri) -> Hashable | None:
        """Returns a cache key for a benchmark. Equal keys mean equal benchmarks."""
        package = self.packages.get(uri.path.removeprefix("/").partition("/")[0])
        found = package and self.fingerprint_of_package(package.distribution)
        return found and (found, self._folder)

    def has_parsed_uri(self, uri: BenchmarkUri) -> bool:
        """Returns true if there is such a file. Downloads and compiles nothing."""
        name, _, file = uri.path.removeprefix("/").partition("/")
        return not uri.params and file in self._files.get(name, ())

    def random_benchmark(
        self, random_state: np.random.Generator | None = None, part: str | None = None
    ) -> Benchmark:
        """Returns a random file, drawn uniformly.

        Args:
            random_state: The source of randomness. None for a new one.
            part: Same as in :meth:`benchmark_uris`.

        Raises:
            Exception: Any error of :meth:`benchmark_from_parsed_uri`.
        """
        generator = random_state if random_state is not None else np.random.default_rng()
        uris = self._uris(part)
        return self.benchmark(uris[int(generator.integers(len(uris)))])

    def _uris(self, part: str | None) -> tuple[str, ...]:
        check_part(part, self.name)
        return _uris_of(self._lists, self.name, part)

    def part_of(self, uri: str | BenchmarkUri) -> str:
        """Returns the part of the package of a file.

        Raises:
            LookupError: There is no such package.
        """
        parsed = BenchmarkUri.from_string(str(uri))
        package = self.packages.get(parsed.path.removeprefix("/").partition("/")[0])
        if package is None:
            raise unknown_name("package", str(uri), self.packages)
        return package.part

    @property
    def _files(self) -> dict[str, dict[str, None]]:
        return _files_of(self._lists)

    def _bitcode(self, package: Package, root: Path, file: str) -> bytes:
        """Returns the unoptimised bitcode of a file, compiled now or earlier."""
        invocation = package.invocation(file)
        key = key_of_bitcode(shlex.join(invocation.args), file)
        path = self.site_data_path / "bitcode" / root.name / f"{key}.bc"
        name = f"{file} of {package.name}"
        return bitcode_made_once(
            path, name, lambda output: compile_source(invocation, output, cwd=root)
        )


class OpenSourceDatasetV1(OpenSourceDataset):
    """The programs of ``opensource-v0``, each once, by the same names.

    Programs are equal if their functions are, see :attr:`ProgramFacts.identity`. No program is in
    two parts, in either dataset. The datasets share their downloads: to uninstall one uninstalls
    all.
    """

    NAME = "benchmark://opensource-v1"
    DESCRIPTION = "Files of released C and C++ software, without duplicates"
    WITHOUT = DUPLICATES


class OpenSourceMiniDataset(OpenSourceDataset):
    """A fixed choice of programs of ``opensource-v1``: 100 of ``train``, 50 of ``test``.

    It is small enough for many experiments. Packages count about the same.
    """

    NAME = "benchmark://opensource-mini-v0"
    DESCRIPTION = "Files of released C and C++ software, a fixed choice of 150"
    LIST = MINI


class OpenSourceSealedDataset(OpenSourceDataset):
    """Programs of other packages, for the last measurement of a finished method.

    No model, policy or setting of this package was chosen by them, and draws from all datasets
    leave them out. All are of the part ``test``, and other packages have none of their functions.
    """

    NAME = "benchmark://opensource-sealed-v0"
    DESCRIPTION = "Files of released C and C++ software, to judge finished methods alone"
    LIST = "sealed.txt"
    SEALED = True


@cache
def packages_of(folder: Path = FOLDER) -> dict[str, Package]:
    """Returns the packages of a list by name."""
    packages = {}
    for facts in json.loads((folder / "packages.json").read_text(encoding="utf-8")):
        lists = {key: tuple(facts.get(key, ())) for key in ("include", "define")}
        packages[facts["name"]] = Package(**{**facts, **lists})
    return packages


@cache
def _used_packages(lists: _Lists) -> dict[str, Package]:
    """Returns the packages that have files, by name."""
    files = _files_of(lists)
    return {name: package for name, package in packages_of(lists.folder).items() if name in files}


@cache
def _files_of(lists: _Lists) -> dict[str, dict[str, None]]:
    """Returns the files of each package, as keys of a dict for quick lookups in order."""
    left_out = {line.partition(",")[0] for line in lists.lines(lists.without)}
    files: dict[str, dict[str, None]] = {}
    for line in lists.lines(lists.programs):
        if line not in left_out:
            name, _, file = line.partition("/")
            files.setdefault(name, {})[file] = None
    return files


@cache
def _uris_of(lists: _Lists, name: str, part: str | None) -> tuple[str, ...]:
    """Returns the URIs of all files of a part."""
    packages = packages_of(lists.folder)
    return tuple(
        f"{name}/{package}/{file}"
        for package, files in _files_of(lists).items()
        if part in (None, packages[package].part)
        for file in files
    )
