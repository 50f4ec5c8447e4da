"""The LLVM environment, and ways to make benchmarks of one's own programs."""

from pathlib import Path
from typing import TYPE_CHECKING

from compiler_gym.util.lazy_names import lazy_names

if TYPE_CHECKING:
    from compiler_gym.envs.llvm.benchmarks.bitcode import ClangInvocation, get_system_library_flags
    from compiler_gym.envs.llvm.benchmarks.command_line_benchmark import (
        BenchmarkFromCommandLine,
        make_benchmark_from_command_line,
    )
    from compiler_gym.envs.llvm.benchmarks.dynamic_config import with_dynamic_config
    from compiler_gym.envs.llvm.benchmarks.own_programs import (
        make_benchmark,
        make_benchmark_from_source,
    )
    from compiler_gym.envs.llvm.benchmarks.parts import (
        merge_benchmarks,
        split_benchmark_by_function,
    )
    from compiler_gym.envs.llvm.benchmarks.sanitizers import with_sanitizers
    from compiler_gym.envs.llvm.benchmarks.validation import validate_against_opt
    from compiler_gym.envs.llvm.llvm_command_line import LlvmCommandline
    from compiler_gym.envs.llvm.llvm_env import LlvmEnv
    from compiler_gym.envs.llvm.observation_tool import compute_observation

    LLVM_SERVICE_BINARY: Path

__all__ = [
    "LLVM_SERVICE_BINARY",
    "BenchmarkFromCommandLine",
    "ClangInvocation",
    "LlvmCommandline",
    "LlvmEnv",
    "compute_observation",
    "get_system_library_flags",
    "make_benchmark",
    "make_benchmark_from_command_line",
    "make_benchmark_from_source",
    "merge_benchmarks",
    "split_benchmark_by_function",
    "validate_against_opt",
    "with_dynamic_config",
    "with_sanitizers",
]

# Loaded when first used: registering the environments imports this package.
_MODULES = {
    "BenchmarkFromCommandLine": ".benchmarks.command_line_benchmark",
    "ClangInvocation": ".benchmarks.bitcode",
    "LlvmCommandline": ".llvm_command_line",
    "LlvmEnv": ".llvm_env",
    "compute_observation": ".observation_tool",
    "get_system_library_flags": ".benchmarks.bitcode",
    "make_benchmark": ".benchmarks.own_programs",
    "make_benchmark_from_command_line": ".benchmarks.command_line_benchmark",
    "make_benchmark_from_source": ".benchmarks.own_programs",
    "merge_benchmarks": ".benchmarks.parts",
    "split_benchmark_by_function": ".benchmarks.parts",
    "validate_against_opt": ".benchmarks.validation",
    "with_dynamic_config": ".benchmarks.dynamic_config",
    "with_sanitizers": ".benchmarks.sanitizers",
}


def _service_binary() -> Path:
    """The executable of the LLVM service. Raises EnvironmentNotSupported if it is not built."""
    from compiler_gym.util.runfiles_path import find_service_binary

    return find_service_binary("compiler_gym-llvm-service")


if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES, LLVM_SERVICE_BINARY=_service_binary)
