"""The programs that policies learn from, and those that they are judged by.

They have nothing in common: other kernels, other seeds of csmith, other packages.
"""

import random
from collections.abc import Sequence

from compiler_gym.datasets import Datasets
from compiler_gym.datasets.parts import TEST_KERNELS
from compiler_gym.envs.llvm.datasets import OpenSourceDataset

HELD_BACK_KERNELS = TEST_KERNELS
_HELD_BACK_SEEDS = 1_000_000
# Each is a download.
_PACKAGES = 10
_KERNELS, _CSMITH, _OPENSOURCE = "kernels-v0", "csmith-v0", "opensource-v0"


def training_programs(datasets: Datasets, count: int, seed: int) -> list[str]:
    """Returns the URIs of kernels, and of as many programs of csmith and of real software.

    Args:
        datasets: Those of an environment. Real software is downloaded where need be.
        count: How many of csmith, and of real software.
        seed: Chooses packages of real software, and files of them.
    """
    return _programs(datasets, count, seed, "train")


def held_back_programs(datasets: Datasets, count: int, seed: int) -> list[str]:
    """The same of programs that policies do not learn from."""
    return _programs(datasets, count, seed, "test")


def _programs(datasets: Datasets, count: int, seed: int, part: str) -> list[str]:
    is_held_back = part == "test"
    kernels = [
        uri
        for uri in datasets.require(_KERNELS).benchmark_uris()
        if (uri.rpartition("/")[2] in HELD_BACK_KERNELS) == is_held_back
    ]
    first = _HELD_BACK_SEEDS if is_held_back else 0
    generated = [f"generator://{_CSMITH}/{first + number}" for number in range(count)]
    return [*kernels, *generated, *_opensource(datasets, part, count, seed)]


def _opensource(datasets: Datasets, part: str, count: int, seed: int) -> Sequence[str]:
    dataset = datasets.require(_OPENSOURCE)
    assert isinstance(dataset, OpenSourceDataset)
    rng = random.Random(seed)
    names = sorted(name for name, package in dataset.packages.items() if package.part == part)
    prefixes = [f"{dataset.name}/{name}/" for name in rng.sample(names, min(_PACKAGES, len(names)))]
    uris = [uri for uri in dataset.benchmark_uris(part) if uri.startswith(tuple(prefixes))]
    return rng.sample(uris, min(count, len(uris)))
