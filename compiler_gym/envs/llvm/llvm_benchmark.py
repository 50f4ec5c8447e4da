"""Import path of 0.2.5 for these functions."""

from compiler_gym.envs.llvm.benchmarks.bitcode import (
    ClangInvocation,
    HostCompilerFailure,
    UnableToParseHostCompilerOutput,
    get_system_library_flags,
)
from compiler_gym.envs.llvm.benchmarks.own_programs import (
    make_benchmark,
    make_benchmark_from_source,
)
from compiler_gym.envs.llvm.benchmarks.parts import merge_benchmarks, split_benchmark_by_function

__all__ = [
    "ClangInvocation",
    "HostCompilerFailure",
    "UnableToParseHostCompilerOutput",
    "get_system_library_flags",
    "make_benchmark",
    "make_benchmark_from_source",
    "merge_benchmarks",
    "split_benchmark_by_function",
]
