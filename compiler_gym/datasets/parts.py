"""The fixed train, validation and test parts of datasets, which make results comparable."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from inspect import signature
from typing import Any

PARTS = ("train", "validation", "test")
"""What benchmarks are for: to learn from, to choose settings by, and to report results on."""

# Shares of benchmarks without a part of their own, as upper bounds of a number from 0 to 1.
_TRAIN, _VALIDATION = 0.7, 0.85

TEST_KERNELS = (
    "bitops", "containers", "graphs", "life", "mini_language", "sha256", "text_stats",
)  # fmt: skip
"""The programs of ``kernels-v0`` to report results on: every fourth, alphabetically."""

VALIDATION_KERNELS = ("bigint", "checksums", "fft", "json", "matrix", "regex", "sudoku")
"""Those to choose settings by: the one before each of these."""

_KERNELS = {
    f"benchmark://kernels-v0/{name}": part
    for part, names in (("test", TEST_KERNELS), ("validation", VALIDATION_KERNELS))
    for name in names
}


def part_of_uri(uri: str) -> str:
    """Returns the part of a benchmark.

    ``kernels-v0`` has a list of parts. For other datasets, the SHA-256 digest of the URI decides:
    70% train, 15% validation, 15% test.

    Args:
        uri: The URI, without parameters.
    """
    if uri.startswith("benchmark://kernels-v0/"):
        return _KERNELS.get(uri, "train")
    digest = hashlib.sha256(uri.encode(errors="surrogatepass")).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64
    return "train" if share < _TRAIN else "validation" if share < _VALIDATION else "test"


def check_part(part: str | None, dataset: str) -> None:
    """Raises ValueError unless a part is one of :data:`PARTS` or None."""
    if part not in (None, *PARTS):
        raise ValueError(f"Expected a part of {dataset} out of {PARTS}, got {part!r}")


def with_part(list_uris: Callable[[Any], Iterable[str]]) -> Callable[..., Iterator[str]]:
    """Returns ``Dataset.benchmark_uris`` with the argument ``part``, which it may not have."""
    if "part" in signature(list_uris).parameters:
        return list_uris  # type: ignore[return-value]  # It is complete.

    @wraps(list_uris)
    def benchmark_uris(self: Any, part: str | None = None) -> Iterator[str]:
        check_part(part, self.name)
        uris = iter(list_uris(self))
        return uris if part is None else (uri for uri in uris if self.part_of(uri) == part)

    return benchmark_uris
