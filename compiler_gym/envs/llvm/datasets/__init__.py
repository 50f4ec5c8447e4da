"""Datasets of the LLVM environments: built-in, downloaded and generated programs."""

from compiler_gym.envs.llvm.datasets.generators import (
    CsmithBenchmark,
    CsmithDataset,
    LlvmStressDataset,
)
from compiler_gym.envs.llvm.datasets.hugging_face_dataset import HuggingFaceDataset
from compiler_gym.envs.llvm.datasets.kernels_dataset import KernelsDataset
from compiler_gym.envs.llvm.datasets.llvm_datasets import (
    AnghaBenchDataset,
    BlasDataset,
    CBenchDataset,
    CBenchLegacyDataset,
    CBenchLegacyDataset2,
    CHStoneDataset,
    CLgenDataset,
    GitHubDataset,
    JotaiBenchDataset,
    JotaiBenchRunnableDataset,
    LinuxDataset,
    LlvmDatasets,
    MibenchDataset,
    NPBDataset,
    OpenCVDataset,
    POJ104Dataset,
    POJ104LegacyDataset,
    TensorFlowDataset,
    get_llvm_datasets,
)
from compiler_gym.envs.llvm.datasets.opensource_dataset import (
    OpenSourceDataset,
    OpenSourceDatasetV1,
    OpenSourceMiniDataset,
    OpenSourceSealedDataset,
)
from compiler_gym.envs.llvm.datasets.opensource_table import ProgramFacts
from compiler_gym.envs.llvm.datasets.programs_dataset import ProgramsDataset
from compiler_gym.envs.llvm.datasets.published import (
    SOURCE_COMPILERS,
    ClangSourceCompiler,
    published_dataset,
    published_datasets,
)

__all__ = [
    "AnghaBenchDataset",
    "BlasDataset",
    "CBenchDataset",
    "CBenchLegacyDataset",
    "CBenchLegacyDataset2",
    "CHStoneDataset",
    "CLgenDataset",
    "ClangSourceCompiler",
    "CsmithBenchmark",
    "CsmithDataset",
    "GitHubDataset",
    "HuggingFaceDataset",
    "JotaiBenchDataset",
    "JotaiBenchRunnableDataset",
    "KernelsDataset",
    "LinuxDataset",
    "LlvmDatasets",
    "LlvmStressDataset",
    "MibenchDataset",
    "NPBDataset",
    "OpenCVDataset",
    "OpenSourceDataset",
    "OpenSourceDatasetV1",
    "OpenSourceMiniDataset",
    "OpenSourceSealedDataset",
    "POJ104Dataset",
    "POJ104LegacyDataset",
    "ProgramFacts",
    "ProgramsDataset",
    "SOURCE_COMPILERS",
    "TensorFlowDataset",
    "get_llvm_datasets",
    "published_dataset",
    "published_datasets",
]
