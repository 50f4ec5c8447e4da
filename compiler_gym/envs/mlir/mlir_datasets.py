"""The datasets of the MLIR environment."""

from collections.abc import Iterator

from compiler_gym.datasets import Dataset, FilesDataset
from compiler_gym.util.runfiles_path import runfiles_path


def get_mlir_datasets() -> Iterator[Dataset]:
    """Makes the datasets: the built-in kernels."""
    yield FilesDataset(
        name="benchmark://mlir-kernels-v0",
        description="Matrix products, convolutions, stencils and reductions in MLIR",
        license="MIT",
        source="built in",
        dataset_root=runfiles_path("compiler_gym/data/mlir-kernels-v0"),
        benchmark_file_suffix=".mlir",
        runnable="Yes",
    )
