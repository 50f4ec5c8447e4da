"""The datasets of the MLIR environment."""

from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset, FilesDataset
from compiler_gym.errors import ServiceError, ValidationError
from compiler_gym.util.runfiles_path import runfiles_path


class KernelsDataset(FilesDataset):
    """The built-in kernels."""

    def __init__(self) -> None:
        super().__init__(
            name="benchmark://mlir-kernels-v0",
            description="Matrix products, convolutions, stencils and reductions in MLIR",
            license="MIT",
            source="built in",
            dataset_root=runfiles_path("compiler_gym/data/mlir-kernels-v0"),
            benchmark_file_suffix=".mlir",
            validatable="Yes",
            runnable="Yes",
        )

    @override
    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        """Returns the benchmark of a URI. The results of the kernel can be validated."""
        benchmark = super().benchmark_from_parsed_uri(uri)
        benchmark.add_validation_callback(compare_with_start)
        return benchmark


def compare_with_start(env: Any) -> Iterator[ValidationError]:
    """A validation callback: the kernel computes the same results as before any action.

    Yields:
        What goes wrong otherwise, e.g. the first element that is different.
    """
    try:
        _ = env.observation["Runtime"]
    except (ServiceError, TimeoutError) as error:
        yield ValidationError("Wrong results", {"error": str(error)})


def get_mlir_datasets() -> Iterator[Dataset]:
    """Makes the datasets: the built-in kernels."""
    yield KernelsDataset()
