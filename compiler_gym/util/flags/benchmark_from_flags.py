"""The path by which programs written for former releases import these."""

from compiler_gym.compat.benchmark_from_flags import (
    benchmark_from_flags,
)

__all__ = [
    "benchmark_from_flags",
]
