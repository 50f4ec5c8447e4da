"""The programs of the GCC environment, all of them in C."""

from compiler_gym.envs.gcc.datasets.gcc_datasets import GccDatasets, get_gcc_datasets
from compiler_gym.envs.llvm.datasets.generators import CsmithBenchmark

__all__ = ["CsmithBenchmark", "GccDatasets", "get_gcc_datasets"]
