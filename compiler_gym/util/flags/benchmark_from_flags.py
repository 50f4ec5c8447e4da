"""Import path of 0.2.5 for these."""

from compiler_gym.compat.benchmark_from_flags import (
    benchmark_from_flags,
)

__all__ = [
    "benchmark_from_flags",
]
