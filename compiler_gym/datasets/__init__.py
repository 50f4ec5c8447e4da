"""Benchmarks, which are the programs to compile, and datasets, which are collections of them."""

from compiler_gym.compat.dataset_functions import activate, deactivate, delete, require
from compiler_gym.datasets.benchmark import (
    AnyBenchmark,
    Benchmark,
    BenchmarkSource,
    BenchmarkWithSource,
    ValidationCallback,
    fingerprint_of_file,
)
from compiler_gym.datasets.dataset import Dataset
from compiler_gym.datasets.datasets import Datasets, round_robin_iterables
from compiler_gym.datasets.files_dataset import FilesDataset, SourceCompiler
from compiler_gym.datasets.parts import PARTS
from compiler_gym.datasets.subset import Subset
from compiler_gym.datasets.tar_dataset import TarDataset, TarDatasetWithManifest
from compiler_gym.datasets.uri import BenchmarkUri
from compiler_gym.errors import BenchmarkInitError, DatasetInitError
from compiler_gym.util.download import download

__all__ = [
    "AnyBenchmark",
    "Benchmark",
    "BenchmarkInitError",
    "BenchmarkSource",
    "BenchmarkUri",
    "BenchmarkWithSource",
    "Dataset",
    "DatasetInitError",
    "Datasets",
    "FilesDataset",
    "PARTS",
    "SourceCompiler",
    "Subset",
    "TarDataset",
    "TarDatasetWithManifest",
    "ValidationCallback",
    "activate",
    "deactivate",
    "delete",
    "download",
    "fingerprint_of_file",
    "require",
    "round_robin_iterables",
]
