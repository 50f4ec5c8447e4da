"""The choice of programs to train on and to report results on, which all evaluations share."""

import random
from collections.abc import Iterator, Sequence

from compiler_gym.datasets.datasets import Datasets, round_robin_iterables
from compiler_gym.datasets.parts import check_part
from compiler_gym.errors.nearest_names import unknown_name

_KERNELS, _CSMITH, _OPENSOURCE = "kernels-v0", "csmith-v0", "opensource-v0"
# Seeds of csmith by part.
_FIRST_SEED = {"train": 0, "validation": 500_000, "test": 1_000_000}
# Each is a download.
_PACKAGES = 10


def programs_of(
    datasets: Datasets, part: str, count: int = 0, generated: int = 0, seed: int = 0
) -> list[str]:
    """Returns the URIs of programs of a part: kernels, generated programs, and real software.

    Real software comes from ten packages at most, as each is a download. Packages, rather than
    files, are split into parts.

    Args:
        datasets: Those of an LLVM environment. Nothing is downloaded.
        part: ``"train"``, ``"validation"`` or ``"test"``.
        count: Number of files of ``opensource-v0``.
        generated: Number of programs of ``csmith-v0``.
        seed: Chooses packages of real software, and their files.

    Raises:
        ValueError: There is no such part, or its packages have fewer files.
    """
    check_part(part, "the datasets")
    kernels = datasets.dataset(_KERNELS).benchmark_uris(part)
    seeds = range(_FIRST_SEED[part], _FIRST_SEED[part] + generated)
    files = _real_software(datasets, part, count, seed) if count else []
    return [*kernels, *(f"generator://{_CSMITH}/{number}" for number in seeds), *files]


def _real_software(datasets: Datasets, part: str, count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    packages = files_by_package(datasets, part)
    names = {*rng.sample(sorted(packages), min(_PACKAGES, len(packages)))}
    # In the order of the dataset.
    files = [uri for name, uris in packages.items() if name in names for uri in uris]
    if count > len(files):
        raise ValueError(
            f"expected at most {len(files)} files of {_OPENSOURCE} with the seed {seed}, "
            f"got {count}"
        )
    return rng.sample(files, count)


def files_by_package(
    datasets: Datasets, part: str, dataset: str = _OPENSOURCE
) -> dict[str, list[str]]:
    """Returns the URIs of the files of each package of real software. Nothing is downloaded.

    Args:
        datasets: Those of an LLVM environment.
        part: ``"train"``, ``"validation"`` or ``"test"``.
        dataset: ``"opensource-v0"`` or ``"opensource-v1"``.

    Raises:
        ValueError: There is no such part.
    """
    packages: dict[str, list[str]] = {}
    for uri in datasets.dataset(dataset).benchmark_uris(part):
        packages.setdefault(opensource_package(uri), []).append(uri)
    return packages


def opensource_package(uri: str) -> str:
    """Returns the package of a file of real software."""
    return uri.split("/")[3]


def breadth_first(
    datasets: Datasets,
    part: str,
    most: int,
    packages: Sequence[str] | None,
    seed: int,
    dataset: str = _OPENSOURCE,
) -> Iterator[str]:
    """Yields the URIs of programs: one of each package first, then the second of each.

    Kernels count as a package. Nothing is downloaded before its turn.

    Args:
        datasets: Those of an LLVM environment.
        part: ``"train"``, ``"validation"`` or ``"test"``.
        most: The most files of each package.
        packages: Packages of real software to use; None for all.
        seed: Chooses the files and their order.
        dataset: ``"opensource-v0"`` or ``"opensource-v1"``.

    Raises:
        ValueError: There is no such part.
        LookupError: The part has no such package.
    """
    rng = random.Random(seed)
    groups = files_by_package(datasets, part, dataset)
    for name in packages or ():
        if name not in groups:
            raise unknown_name("package", name, groups)
    lists = [group for name, group in groups.items() if not packages or name in packages]
    lists.append([*datasets.dataset(_KERNELS).benchmark_uris(part)])
    chosen = [rng.sample(group, min(most, len(group))) for group in lists]
    yield from round_robin_iterables(chosen)
