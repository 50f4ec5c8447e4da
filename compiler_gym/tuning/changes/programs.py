"""The order in which programs are tried."""

import random
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from compiler_gym.datasets import Datasets
from compiler_gym.util.nearest_names import unknown_name

_KERNELS, _OPENSOURCE = "kernels-v0", "opensource-v0"


def breadth_first(
    datasets: Datasets, part: str, most: int, packages: Sequence[str] | None, seed: int
) -> Iterator[str]:
    """Yields the URIs of programs: one of each package first, then the second of each.

    Kernels count as a package. Nothing is downloaded before its turn.

    Args:
        datasets: Those of an LLVM environment.
        part: ``"train"``, ``"validation"`` or ``"test"``.
        most: The most files of each package.
        packages: Packages of ``opensource-v0`` to use; None for all.
        seed: Chooses the files and their order.

    Raises:
        ValueError: There is no such part.
        LookupError: The part has no such package.
    """
    rng = random.Random(seed)
    groups: dict[str, list[str]] = {}
    for uri in datasets.dataset(_OPENSOURCE).benchmark_uris(part):
        groups.setdefault(uri.split("/")[3], []).append(uri)
    for name in packages or ():
        if name not in groups:
            raise unknown_name("package", name, groups)
    lists = [group for name, group in groups.items() if not packages or name in packages]
    lists.append([*datasets.dataset(_KERNELS).benchmark_uris(part)])
    chosen = [rng.sample(group, min(most, len(group))) for group in lists]
    for row in zip_longest(*chosen):
        yield from (uri for uri in row if uri is not None)
