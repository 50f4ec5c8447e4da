"""Environments for optimising programs one compiler action at a time, by hand or by learning.

>>> import compiler_gym
>>> env = compiler_gym.make("llvm-autophase-ic-v0")
>>> env.reset()
>>> env.step(env.action_space.sample())
>>> env.close()

Importing this package registers its environments, see :data:`COMPILER_GYM_ENVS`; everything else
is loaded when it is first used.
"""

from compiler_gym.util import interrupts as _interrupts  # noqa: F401 - from here on, Ctrl-C ends programs of ours.

# isort: split
from typing import TYPE_CHECKING, Any

from compiler_gym.envs import registration as _registration
from compiler_gym.random_search import random_search
from compiler_gym.util.lazy_names import lazy_names
from compiler_gym.util.registration import COMPILER_GYM_ENVS
from compiler_gym.util.version import package_version as _package_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal, overload

    from compiler_gym import config as config
    from compiler_gym import datasets as datasets
    from compiler_gym import envs as envs
    from compiler_gym import errors as errors
    from compiler_gym import service as service
    from compiler_gym import spaces as spaces
    from compiler_gym import util as util
    from compiler_gym import vector as vector
    from compiler_gym import views as views
    from compiler_gym import wrappers as wrappers
    from compiler_gym.compiler_env_state import (
        CompilerEnvState,
        CompilerEnvStateReader,
        CompilerEnvStateWriter,
    )
    from compiler_gym.datasets.dataset import BenchmarkChoice
    from compiler_gym.envs.compiler_env import CompilerEnv
    from compiler_gym.envs.gcc.gcc_env import GccEnv
    from compiler_gym.envs.llvm.benchmarks.command_line_benchmark import collect_bitcode
    from compiler_gym.envs.llvm.benchmarks.own_programs import benchmark
    from compiler_gym.envs.llvm.datasets.folder_dataset import dataset
    from compiler_gym.envs.llvm.inline_env import InlineEnv
    from compiler_gym.envs.llvm.llvm_env import LlvmEnv
    from compiler_gym.envs.llvm.regalloc.inline_regalloc_env import InlineRegallocEnv
    from compiler_gym.envs.llvm.regalloc.regalloc_env import RegallocEnv
    from compiler_gym.envs.mlir.mlir_env import MlirEnv
    from compiler_gym.envs.registration import LlvmId
    from compiler_gym.errors import ValidationError
    from compiler_gym.evaluation import evaluate
    from compiler_gym.util.debug_util import get_debug_level, get_logging_level, set_debug_level
    from compiler_gym.util.download import download
    from compiler_gym.util.runfiles_path import cache_path, site_data_path, transient_cache_path
    from compiler_gym.validate import validate_states
    from compiler_gym.validation_result import ValidationResult
    from compiler_gym.vector.making import make_vec

    __version__: str
    Wrappers = Iterable[Callable[[CompilerEnv], CompilerEnv]]

    # ruff: noqa: D103
    # The class that an id makes. With a step limit, benchmarks or wrappers, make() returns a
    # wrapper around it, which has the same attributes.
    @overload
    def make(
        id: LlvmId,
        max_episode_steps: int | None = None,
        benchmarks: BenchmarkChoice | None = None,
        random_benchmarks: bool = False,
        wrappers: Wrappers = (),
        **kwargs: Any,
    ) -> LlvmEnv: ...
    @overload
    def make(
        id: Literal["llvm-inline-v0"],
        max_episode_steps: int | None = None,
        benchmarks: BenchmarkChoice | None = None,
        random_benchmarks: bool = False,
        wrappers: Wrappers = (),
        **kwargs: Any,
    ) -> InlineEnv: ...
    @overload
    def make(
        id: Literal["llvm-regalloc-v0"],
        max_episode_steps: int | None = None,
        benchmarks: BenchmarkChoice | None = None,
        random_benchmarks: bool = False,
        wrappers: Wrappers = (),
        **kwargs: Any,
    ) -> RegallocEnv: ...
    @overload
    def make(
        id: Literal["llvm-inline-regalloc-v0"],
        max_episode_steps: int | None = None,
        benchmarks: BenchmarkChoice | None = None,
        random_benchmarks: bool = False,
        wrappers: Wrappers = (),
        **kwargs: Any,
    ) -> InlineRegallocEnv: ...
    @overload
    def make(
        id: Literal["gcc-v0"],
        max_episode_steps: int | None = None,
        benchmarks: BenchmarkChoice | None = None,
        random_benchmarks: bool = False,
        wrappers: Wrappers = (),
        **kwargs: Any,
    ) -> GccEnv: ...
    @overload
    def make(
        id: Literal["mlir-v0"],
        max_episode_steps: int | None = None,
        benchmarks: BenchmarkChoice | None = None,
        random_benchmarks: bool = False,
        wrappers: Wrappers = (),
        **kwargs: Any,
    ) -> MlirEnv: ...
    @overload
    def make(
        id: str,
        max_episode_steps: int | None = None,
        benchmarks: BenchmarkChoice | None = None,
        random_benchmarks: bool = False,
        wrappers: Wrappers = (),
        **kwargs: Any,
    ) -> CompilerEnv: ...
    def make(id: str, *args: Any, **kwargs: Any) -> CompilerEnv: ...
else:
    from compiler_gym.util.registration import make

__all__ = [
    "__version__",
    "COMPILER_GYM_ENVS",
    "CompilerEnv",
    "CompilerEnvState",
    "CompilerEnvStateReader",
    "CompilerEnvStateWriter",
    "ValidationError",
    "ValidationResult",
    "benchmark",
    "cache_path",
    "collect_bitcode",
    "dataset",
    "download",
    "evaluate",
    "get_debug_level",
    "get_logging_level",
    "make",
    "make_vec",
    "random_search",
    "set_debug_level",
    "site_data_path",
    "transient_cache_path",
    "validate_states",
]

_MODULES = {
    "CompilerEnv": ".envs.compiler_env",
    "CompilerEnvState": ".compiler_env_state",
    "CompilerEnvStateReader": ".compiler_env_state",
    "CompilerEnvStateWriter": ".compiler_env_state",
    "ValidationError": ".errors",
    "ValidationResult": ".validation_result",
    "benchmark": ".envs.llvm.benchmarks.own_programs",
    "cache_path": ".util.runfiles_path",
    "collect_bitcode": ".envs.llvm.benchmarks.command_line_benchmark",
    "dataset": ".envs.llvm.datasets.folder_dataset",
    "download": ".util.download",
    "evaluate": ".evaluation",
    "get_debug_level": ".util.debug_util",
    "get_logging_level": ".util.debug_util",
    "make_vec": ".vector.making",
    "set_debug_level": ".util.debug_util",
    "site_data_path": ".util.runfiles_path",
    "transient_cache_path": ".util.runfiles_path",
    "validate_states": ".validate",
}

_SUBPACKAGES = (
    "config",
    "datasets",
    "envs",
    "errors",
    "service",
    "spaces",
    "util",
    "vector",
    "views",
    "wrappers",
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})


if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES, _SUBPACKAGES, __version__=_package_version)

_registration.register_environments()
