"""The programs that the LLVM environments come with or can download, and the user's own."""

from compiler_gym.envs.llvm.datasets.kernels_dataset import KernelsDataset
from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets
from compiler_gym.envs.llvm.datasets.published import published_dataset, published_datasets
from compiler_gym.envs.llvm.datasets.source_compilers import SOURCE_COMPILERS, ClangSourceCompiler

__all__ = [
    "ClangSourceCompiler",
    "KernelsDataset",
    "LlvmDatasets",
    "SOURCE_COMPILERS",
    "published_dataset",
    "published_datasets",
]
