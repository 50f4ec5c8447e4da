"""The programs of the GCC environment, all of them in C."""

from compiler_gym.envs.gcc.datasets.gcc_datasets import GccDatasets, get_gcc_datasets

__all__ = ["GccDatasets", "get_gcc_datasets"]
