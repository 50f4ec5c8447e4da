"""The datasets of the LLVM environments, including the user's own programs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import ClassVar

from cachetools import LRUCache

from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset, Datasets
from compiler_gym.datasets.datasets import benchmark_of_file
from compiler_gym.datasets.tar_dataset import TarDataset, TarDatasetWithManifest
from compiler_gym.datasets.uri import names_benchmark
from compiler_gym.envs.llvm.benchmarks.bitcode import (
    PROGRAM_SUFFIXES,
    SOURCE_SUFFIXES,
    readable_text,
)
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_program_config
from compiler_gym.envs.llvm.benchmarks.own_programs import benchmark_of_program
from compiler_gym.envs.llvm.benchmarks.validation import (
    LIBRARIES,
    ReferenceValidator,
    validate_against_opt,
)
from compiler_gym.envs.llvm.datasets.cbench import CBenchInputs, with_recipe
from compiler_gym.envs.llvm.datasets.generators import CsmithDataset, LlvmStressDataset
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS, KernelsDataset
from compiler_gym.envs.llvm.datasets.opensource_dataset import (
    OpenSourceDataset,
    OpenSourceDatasetV1,
    OpenSourceMiniDataset,
    OpenSourceSealedDataset,
)
from compiler_gym.envs.llvm.datasets.programs_dataset import ProgramsDataset
from compiler_gym.envs.llvm.datasets.published import (
    SOURCE_COMPILERS,
    published_arguments,
    published_datasets,
)
from compiler_gym.errors import UnknownNameError
from compiler_gym.util.runfiles_path import site_data_path

_FILE_DATASET = "benchmark://file-v0"
_MAKERS = {
    "benchmark://user-v0": "env.make_benchmark()",
    "benchmark://clang-v0": "env.make_benchmark_from_command_line()",
    "benchmark://llvm-link-v0": "merge_benchmarks()",
}
_MAX_REMEMBERED = 128

# Forks share their datasets, and may run in different threads. The lock is shared by all datasets,
# because they must be picklable and a lock is not.
_REMEMBERING = Lock()


class LlvmDatasets(Datasets):
    """Datasets by name, including the user's own programs.

    Programs of the user are not listed, but have URIs:

    - ``file:///absolute/path`` of a bitcode file, of textual IR (``.ll``), or of a C or C++ source,
      which is compiled each time;
    - ``benchmark://file-v0/absolute/path.bc``, a bitcode file;
    - ``benchmark://user-v0/...`` and ``benchmark://clang-v0/...``, programs that have been made by
      ``env.make_benchmark()`` and ``env.make_benchmark_from_command_line()``. The last 128 of them
      are remembered. They cannot be made again from the URI, because a URI must not run commands.

    Args:
        datasets: The datasets.
    """

    def __init__(self, datasets: Iterable[Dataset] = ()):
        super().__init__(datasets)
        self._remembered: LRUCache[str, Benchmark] = LRUCache(_MAX_REMEMBERED)

    def remember(self, benchmark: Benchmark) -> None:
        """Stores a benchmark by its URI."""
        uri = str(benchmark.uri)
        with _REMEMBERING:
            self._remembered[uri] = benchmark

    def benchmark(self, uri: str | BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI. For file names, errors say how to use the file."""
        try:
            return super().benchmark(uri)
        except (LookupError, ValueError):
            if not isinstance(uri, str) or "://" in uri or names_benchmark(uri):
                raise
            if uri.endswith(PROGRAM_SUFFIXES):
                raise UnknownNameError(
                    f"{uri!r} is the name of a file rather than of a benchmark: pass its path, "
                    f"pathlib.Path({uri!r}), or a benchmark, env.make_benchmark({uri!r})"
                ) from None
            raise

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI.

        Raises:
            LookupError: If there is no such dataset, no such benchmark in it, or the program of a
                user is not remembered.
            FileNotFoundError: If the URI refers to a missing file.
            BenchmarkInitError: If a source does not compile.
            DatasetInitError: If the dataset cannot be installed.
        """
        if uri.scheme == "file" and uri.file().name.endswith(SOURCE_SUFFIXES):
            return benchmark_of_program(uri, uri.file())
        if uri.dataset_uri == _FILE_DATASET:
            return benchmark_of_file(uri, uri.file())
        if uri.dataset_uri in _MAKERS:
            return self._user_benchmark(uri)
        benchmark = super().benchmark_from_parsed_uri(uri)
        is_text = uri.scheme == "file" and uri.file().suffix == ".ll"
        return _readable(benchmark) if is_text else benchmark

    def _user_benchmark(self, uri: BenchmarkUri) -> Benchmark:
        with _REMEMBERING:
            benchmark = self._remembered.get(str(uri))
        if benchmark is None:
            raise LookupError(
                f"Benchmark {uri} is a user's program that this environment does not have: make it "
                f"with {_MAKERS[uri.dataset_uri]}, or pass the Benchmark itself"
            )
        return benchmark


def _readable(benchmark: Benchmark) -> Benchmark:
    contents = benchmark.proto.program.contents
    text = readable_text(contents)
    return benchmark if text == contents else Benchmark.from_file_contents(benchmark.uri, text)


# The datasets of former releases as classes, for programs that import them.
#
# Environments have all available ones: ``env.datasets["benchmark://npb-v0"]``.


class _Published(TarDataset):
    """A published dataset with a class of its own.

    Args:
        site_data_base: The directory for the files of the dataset.
        sort_order: Datasets are listed by this number; by default the published one.
    """

    NAME: ClassVar[str]
    """The full name of the dataset."""

    CHANGES: ClassVar[Mapping[str, str]] = {}
    """Arguments of :class:`Dataset` that differ from the published ones."""

    def __init__(self, site_data_base: str | Path, sort_order: int | None = None):
        arguments = published_arguments(self.NAME, site_data_base, SOURCE_COMPILERS)
        arguments.update(self.CHANGES)
        if sort_order is not None:
            arguments["sort_order"] = sort_order
        super().__init__(**arguments)


class _PublishedWithManifest(_Published, TarDatasetWithManifest):
    """A published dataset that can be listed before it is downloaded."""


class AnghaBenchDataset(_PublishedWithManifest):
    """C functions mined from public repositories."""

    NAME = "benchmark://anghabench-v1"


class BlasDataset(_PublishedWithManifest):
    """Linear algebra routines."""

    NAME = "benchmark://blas-v0"


class CBenchDataset(_PublishedWithManifest):
    """The cBench programs. Most of them can be run and validated: see :mod:`.cbench`."""

    NAME = "benchmark://cbench-v1"

    def __init__(self, site_data_base: str | Path, sort_order: int | None = None):
        super().__init__(site_data_base, sort_order)
        self._inputs = CBenchInputs(site_data_base)

    def prefetch(
        self, part: str | None = None, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Downloads the programs and their inputs. Without inputs, programs can be optimised.

        Args:
            part: A part. The archives have all of them.
            on_progress: Same as in :meth:`Dataset.prefetch`.

        Raises:
            ValueError: There is no such part.
            DatasetInitError: The programs are not available.
        """
        super().prefetch(part, on_progress)
        _ = self._inputs.folder

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI. Downloads its inputs if they are missing.

        Raises:
            ValueError: The parameter ``dataset`` of the URI is out of range.
        """
        return with_recipe(super().benchmark_from_parsed_uri(uri), uri, self._inputs)


class CBenchLegacyDataset(CBenchDataset):
    """The cBench programs, built with noinline. Deprecated."""

    NAME = "benchmark://cBench-v0"


class CBenchLegacyDataset2(CBenchDataset):
    """The cBench programs, by their former name. Deprecated."""

    NAME = "benchmark://cBench-v1"


class CHStoneDataset(_Published):
    """Programs for high-level synthesis."""

    NAME = "benchmark://chstone-v0"


class CLgenDataset(_PublishedWithManifest):
    """OpenCL kernels that a model has written, compiled for graphics processors of NVIDIA."""

    NAME = "benchmark://clgen-v0"


class GitHubDataset(_PublishedWithManifest):
    """Object files of repositories on GitHub."""

    NAME = "benchmark://github-v0"


class JotaiBenchDataset(_PublishedWithManifest):
    """C functions mined from public repositories, with drivers that call them."""

    NAME = "benchmark://jotaibench-v0"


class JotaiBenchRunnableDataset(JotaiBenchDataset):
    """The same functions, run by their drivers. No environment has it unless it is added.

    A driver takes the number of an input; they are run with the first one. What they do is compared
    with what they do when they are not optimised. Source: the paper of :attr:`references`.
    """

    CHANGES: ClassVar[Mapping[str, str]] = {
        "name": "benchmark://jotai-runnable-v0",
        "runnable": "Yes",
        "validatable": "Yes",
    }
    #: The command that runs a program.
    RUN = "./a.out 0"

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI."""
        benchmark = super().benchmark_from_parsed_uri(uri)
        benchmark.proto.dynamic_config.CopyFrom(make_program_config(self.RUN))
        for callback in (validate_against_opt, ReferenceValidator(LIBRARIES, commands=[self.RUN])):
            benchmark.add_validation_callback(callback)
        return benchmark


class LinuxDataset(_PublishedWithManifest):
    """Object files of the Linux kernel."""

    NAME = "benchmark://linux-v0"


class MibenchDataset(_PublishedWithManifest):
    """The MiBench programs."""

    NAME = "benchmark://mibench-v1"


class NPBDataset(_PublishedWithManifest):
    """The NAS parallel benchmarks."""

    NAME = "benchmark://npb-v0"


class OpenCVDataset(_PublishedWithManifest):
    """Object files of OpenCV."""

    NAME = "benchmark://opencv-v0"


class POJ104Dataset(_PublishedWithManifest):
    """Solutions of exercises by students."""

    NAME = "benchmark://poj104-v1"


class POJ104LegacyDataset(_PublishedWithManifest):
    """Solutions of exercises by students, in their first publication. Deprecated."""

    NAME = "benchmark://poj104-v0"


class TensorFlowDataset(_PublishedWithManifest):
    """Object files of TensorFlow."""

    NAME = "benchmark://tensorflow-v0"


NAMED_DATASETS: tuple[type[_Published], ...] = (
    AnghaBenchDataset,
    BlasDataset,
    CBenchDataset,
    CBenchLegacyDataset,
    CBenchLegacyDataset2,
    CHStoneDataset,
    CLgenDataset,
    GitHubDataset,
    JotaiBenchDataset,
    LinuxDataset,
    MibenchDataset,
    NPBDataset,
    OpenCVDataset,
    POJ104Dataset,
    POJ104LegacyDataset,
    TensorFlowDataset,
)
"""The classes of the datasets that there are."""


_OPENSOURCE = (
    OpenSourceDataset,
    OpenSourceDatasetV1,
    OpenSourceMiniDataset,
    OpenSourceSealedDataset,
)


def get_llvm_datasets(site_data_base: str | Path | None = None) -> Iterator[Dataset]:
    """Makes the datasets of the LLVM environments: built-in, generated, then published programs.

    Args:
        site_data_base: The folder where they keep their files, by default that of
            ``site_data_path()``.
    """
    base = site_data_path() if site_data_base is None else Path(site_data_base)
    yield KernelsDataset(base, sort_order=-2)  # Before cbench-v1, which has -1.
    for opensource in _OPENSOURCE:
        yield opensource(base, sort_order=-2)
    yield ProgramsDataset(base, sort_order=-2)
    yield CsmithDataset(base)
    yield LlvmStressDataset(base)
    classes = {dataset_class.NAME: dataset_class for dataset_class in NAMED_DATASETS}
    for dataset in published_datasets(base, SOURCE_COMPILERS):
        yield classes[dataset.name](base) if dataset.name in classes else dataset


def uri_of_name(name: str) -> str:
    """Returns the URI of a program of a dataset. The program may not exist.

    Args:
        name: A URI with or without its scheme, or the name of a built-in program.
    """
    if "://" in name:
        return name
    if "/" not in name:
        return f"{KERNELS}/{name}"
    try:
        scheme = LlvmDatasets(get_llvm_datasets()).dataset(name.partition("/")[0]).scheme
    except (LookupError, ValueError):
        scheme = "benchmark"
    return f"{scheme}://{name}"
