"""The path by which programs written for former releases import these functions."""

from compiler_gym.envs.llvm.benchmarks.own_programs import (
    make_benchmark,
    make_benchmark_from_source,
)
from compiler_gym.envs.llvm.benchmarks.system_libraries import get_system_library_flags

__all__ = ["get_system_library_flags", "make_benchmark", "make_benchmark_from_source"]
