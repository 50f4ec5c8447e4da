"""Wrappers that change the behaviour of environments, see ``docs/guides/wrappers.md``."""

from typing import TYPE_CHECKING

from compiler_gym.util.lazy_names import lazy_names

if TYPE_CHECKING:
    from compiler_gym.wrappers.commandline import (
        CommandlineWithTerminalAction,
        ConstrainedCommandline,
        Macros,
    )
    from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper
    from compiler_gym.wrappers.core import ActionWrapper, ObservationWrapper, RewardWrapper
    from compiler_gym.wrappers.counter import Counter
    from compiler_gym.wrappers.datasets import (
        CycleOverBenchmarks,
        CycleOverBenchmarksIterator,
        IterateOverBenchmarks,
        RandomOrderBenchmarks,
    )
    from compiler_gym.wrappers.fork import ForkOnStep, UndoLarger
    from compiler_gym.wrappers.llvm import RuntimePointEstimateReward
    from compiler_gym.wrappers.observations import (
        ActionHistogram,
        ActionMask,
        AutophaseNorm,
        FloatObservations,
        LastActions,
    )
    from compiler_gym.wrappers.rewards import BestSoFar, LogReward
    from compiler_gym.wrappers.sqlite_logger import SynchronousSqliteLogger
    from compiler_gym.wrappers.time_limit import TimeLimit
    from compiler_gym.wrappers.validation import ValidateBenchmarkAfterEveryStep

__all__ = [
    "ActionHistogram",
    "ActionMask",
    "ActionWrapper",
    "AutophaseNorm",
    "BestSoFar",
    "CommandlineWithTerminalAction",
    "CompilerEnvWrapper",
    "ConstrainedCommandline",
    "Counter",
    "CycleOverBenchmarks",
    "CycleOverBenchmarksIterator",
    "FloatObservations",
    "ForkOnStep",
    "IterateOverBenchmarks",
    "LastActions",
    "LogReward",
    "Macros",
    "ObservationWrapper",
    "RandomOrderBenchmarks",
    "RewardWrapper",
    "RuntimePointEstimateReward",
    "SynchronousSqliteLogger",
    "TimeLimit",
    "UndoLarger",
    "ValidateBenchmarkAfterEveryStep",
]

# Loaded when first used.
_MODULES = {
    "ActionHistogram": ".observations",
    "ActionMask": ".observations",
    "ActionWrapper": ".core",
    "AutophaseNorm": ".observations",
    "BestSoFar": ".rewards",
    "CommandlineWithTerminalAction": ".commandline",
    "CompilerEnvWrapper": ".compiler_env_wrapper",
    "ConstrainedCommandline": ".commandline",
    "Counter": ".counter",
    "CycleOverBenchmarks": ".datasets",
    "CycleOverBenchmarksIterator": ".datasets",
    "FloatObservations": ".observations",
    "ForkOnStep": ".fork",
    "IterateOverBenchmarks": ".datasets",
    "LastActions": ".observations",
    "LogReward": ".rewards",
    "Macros": ".commandline",
    "ObservationWrapper": ".core",
    "RandomOrderBenchmarks": ".datasets",
    "RewardWrapper": ".core",
    "RuntimePointEstimateReward": ".llvm",
    "SynchronousSqliteLogger": ".sqlite_logger",
    "TimeLimit": ".time_limit",
    "UndoLarger": ".fork",
    "ValidateBenchmarkAfterEveryStep": ".validation",
}


if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES)
