"""The datasets of former releases by the names of their classes."""

import pickle

import pytest

from compiler_gym.datasets import TarDataset, TarDatasetWithManifest
from compiler_gym.envs.llvm import datasets as module
from compiler_gym.envs.llvm.datasets import get_llvm_datasets
from compiler_gym.envs.llvm.datasets.published import published_facts

NAMES = {
    "AnghaBenchDataset": "benchmark://anghabench-v1",
    "BlasDataset": "benchmark://blas-v0",
    "CBenchDataset": "benchmark://cbench-v1",
    "CBenchLegacyDataset": "benchmark://cBench-v0",
    "CBenchLegacyDataset2": "benchmark://cBench-v1",
    "CHStoneDataset": "benchmark://chstone-v0",
    "CLgenDataset": "benchmark://clgen-v0",
    "GitHubDataset": "benchmark://github-v0",
    "JotaiBenchDataset": "benchmark://jotaibench-v0",
    "LinuxDataset": "benchmark://linux-v0",
    "MibenchDataset": "benchmark://mibench-v1",
    "NPBDataset": "benchmark://npb-v0",
    "OpenCVDataset": "benchmark://opencv-v0",
    "POJ104Dataset": "benchmark://poj104-v1",
    "POJ104LegacyDataset": "benchmark://poj104-v0",
    "TensorFlowDataset": "benchmark://tensorflow-v0",
}


@pytest.mark.parametrize("class_name, name", NAMES.items())
def test_class(class_name, name, tmp_path):
    dataset = getattr(module, class_name)(tmp_path, 7)
    facts = published_facts()[name]
    assert isinstance(dataset, TarDataset)
    assert isinstance(dataset, TarDatasetWithManifest) == ("manifest_urls" in facts)
    assert dataset.name == name
    assert dataset.sort_order == 7
    assert dataset.license == facts["license"]
    assert dataset.tar_sha256 == facts["tar_sha256"]
    assert dataset.deprecated == (facts["deprecated"] is not None)
    assert dataset.site_data_path.is_relative_to(tmp_path)
    assert type(pickle.loads(pickle.dumps(dataset))) is type(dataset)
    assert not any(tmp_path.iterdir())


def test_get_llvm_datasets(tmp_path):
    datasets = list(get_llvm_datasets(tmp_path))
    classes = {dataset.name: type(dataset).__name__ for dataset in datasets}
    # Two former releases of datasets are known by the names of the datasets only.
    classes.pop("benchmark://anghabench-v0")
    classes.pop("benchmark://mibench-v0")
    assert classes == {name: class_name for class_name, name in NAMES.items()} | {
        "benchmark://kernels-v0": "KernelsDataset",
        "benchmark://opensource-v0": "OpenSourceDataset",
        "benchmark://opensource-v1": "OpenSourceDatasetV1",
        "benchmark://opensource-mini-v0": "OpenSourceMiniDataset",
        "benchmark://opensource-sealed-v0": "OpenSourceSealedDataset",
        "benchmark://programs-v0": "ProgramsDataset",
        "generator://csmith-v0": "CsmithDataset",
        "generator://llvm-stress-v0": "LlvmStressDataset",
    }
    first = [dataset.name.partition("://")[2] for dataset in sorted(datasets)][:7]
    assert (first[0], first[5:]) == ("kernels-v0", ["programs-v0", "cbench-v1"])
    assert all(name.startswith("opensource-") for name in first[1:5])
