"""The LLVM environment, and ways to make benchmarks of one's own programs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler_gym.envs.llvm.clang_invocation import ClangInvocation
    from compiler_gym.envs.llvm.command_line_benchmark import (
        BenchmarkFromCommandLine,
        make_benchmark_from_command_line,
    )
    from compiler_gym.envs.llvm.dynamic_config import with_dynamic_config
    from compiler_gym.envs.llvm.llvm_benchmark import make_benchmark, make_benchmark_from_source
    from compiler_gym.envs.llvm.llvm_command_line import LlvmCommandline
    from compiler_gym.envs.llvm.llvm_env import LlvmEnv
    from compiler_gym.envs.llvm.observation_tool import compute_observation
    from compiler_gym.envs.llvm.system_libraries import get_system_library_flags
    from compiler_gym.envs.llvm.validation import validate_against_opt

__all__ = [
    "BenchmarkFromCommandLine",
    "ClangInvocation",
    "LlvmCommandline",
    "LlvmEnv",
    "compute_observation",
    "get_system_library_flags",
    "make_benchmark",
    "make_benchmark_from_command_line",
    "make_benchmark_from_source",
    "validate_against_opt",
    "with_dynamic_config",
]

# Loaded when first used: registering the environments imports this package.
_MODULES = {
    "BenchmarkFromCommandLine": "command_line_benchmark",
    "ClangInvocation": "clang_invocation",
    "LlvmCommandline": "llvm_command_line",
    "LlvmEnv": "llvm_env",
    "compute_observation": "observation_tool",
    "get_system_library_flags": "system_libraries",
    "make_benchmark": "llvm_benchmark",
    "make_benchmark_from_command_line": "command_line_benchmark",
    "make_benchmark_from_source": "llvm_benchmark",
    "validate_against_opt": "validation",
    "with_dynamic_config": "dynamic_config",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
