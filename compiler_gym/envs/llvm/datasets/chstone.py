"""The CHStone programs, by the module name of former releases."""

from compiler_gym.envs.llvm.datasets.llvm_datasets import CHStoneDataset

__all__ = ["CHStoneDataset"]
