"""The datasets of the LLVM environments, including the user's own programs."""

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from urllib.parse import unquote

from compiler_gym.datasets import Benchmark, BenchmarkUri, BenchmarkWithSource, Dataset, Datasets
from compiler_gym.datasets.datasets import benchmark_of_file
from compiler_gym.datasets.uri import names_benchmark
from compiler_gym.envs.llvm.benchmarks.bitcode import SOURCE_SUFFIXES
from compiler_gym.envs.llvm.benchmarks.own_programs import make_benchmark
from compiler_gym.errors import UnknownNameError
from compiler_gym.service.proto import Benchmark as BenchmarkProto

_PROGRAM_SUFFIXES = (".bc", ".ll", *SOURCE_SUFFIXES)
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
        self._remembered: OrderedDict[str, Benchmark] = OrderedDict()

    def remember(self, benchmark: Benchmark) -> None:
        """Stores a benchmark by its URI."""
        uri = str(benchmark.uri)
        with _REMEMBERING:
            self._remembered[uri] = benchmark
            self._remembered.move_to_end(uri)
            if len(self._remembered) > _MAX_REMEMBERED:
                self._remembered.popitem(last=False)

    def benchmark(self, uri: str | BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI. For file names, errors say how to use the file."""
        try:
            return super().benchmark(uri)
        except (LookupError, ValueError):
            if not isinstance(uri, str) or "://" in uri or names_benchmark(uri):
                raise
            if uri.endswith(_PROGRAM_SUFFIXES):
                path = Path(uri).expanduser().absolute()
                raise UnknownNameError(
                    f"{uri!r} is the name of a file rather than of a benchmark: make a benchmark "
                    f"of it, env.make_benchmark({uri!r}), or write its URI, 'file://{path}'"
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
        if uri.scheme == "file" and uri.path.endswith(SOURCE_SUFFIXES):
            return _compiled(uri)
        if uri.dataset_uri == _FILE_DATASET:
            return benchmark_of_file(uri, _file_of(uri))
        if uri.dataset_uri in _MAKERS:
            return self._user_benchmark(uri)
        return super().benchmark_from_parsed_uri(uri)

    def _user_benchmark(self, uri: BenchmarkUri) -> Benchmark:
        benchmark = self._remembered.get(str(uri))
        if benchmark is None:
            raise LookupError(
                f"Benchmark {uri} is a user's program that this environment does not have: make it "
                f"with {_MAKERS[uri.dataset_uri]}, or pass the Benchmark itself"
            )
        return benchmark


def _file_of(uri: BenchmarkUri) -> Path:
    path = Path(uri.path)
    return path if path.exists() else Path(unquote(uri.path))


def _compiled(uri: BenchmarkUri) -> Benchmark:
    program = make_benchmark(_file_of(uri))
    proto = BenchmarkProto(uri=str(uri), program=program.proto.program)
    return BenchmarkWithSource(proto, sources=program.sources)
