"""Helpers for tests of actions: the built-in programs, and checks that they still work."""

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.llvm.benchmarks.validation import ProgramValidator
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from compiler_gym.errors import ValidationError
from tests.effort import sample

KERNELS = sorted(path.parent.name for path in KERNELS_PATH.glob("*/program.c"))

SOME_KERNELS = sample(KERNELS, 4)
"""All built-in programs in long runs, otherwise a few of them."""

ACTION_SPACE = "PassesWithParameters"
"""Every pass there is: PassesAll is the beginning of it."""


def kernel_uri(kernel: str) -> str:
    return f"benchmark://kernels-v0/{kernel}"


def output_errors(env: LlvmEnv) -> list[ValidationError]:
    """Builds the program of an environment, runs it on all its inputs, and compares the output."""
    validators = env.benchmark.validation_callbacks()
    (validator,) = (each for each in validators if isinstance(each, ProgramValidator))
    return list(validator(env))
