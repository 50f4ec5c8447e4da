"""A comparison of two object files, function by function."""

import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler_gym.envs.llvm import tools
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util.commands import run_command

_OUTLINED = re.compile(r"OUTLINED_FUNCTION_\w+")
_ALL_OUTLINED = "OUTLINED_FUNCTION_…"
_DEMANGLE_SECONDS = 60


@dataclass(frozen=True)
class FunctionChange:
    """A function before and after.

    Attributes:
        name: The symbol. All functions of the outliner count as one.
        before: The size before, in bytes or instructions; 0 if there was no such function.
        after: The size after; 0 if the function has gone, for example by inlining.
    """

    name: str
    before: int
    after: int

    @property
    def saved(self) -> int:
        """The reduction of the size."""
        return self.before - self.after


def compare_functions(before: Mapping[str, int], after: Mapping[str, int]) -> list[FunctionChange]:
    """Returns the functions with a different size, the largest change first."""
    old, new = group_functions(before), group_functions(after)
    changes = [FunctionChange(name, old[name], new[name]) for name in {**old, **new}]
    changed = [each for each in changes if each.saved]
    return sorted(changed, key=lambda each: (-abs(each.saved), each.name))


def readable_names(symbols: Sequence[str]) -> list[str]:
    """Returns demangled names of C++ functions. Other names are unchanged."""
    try:
        command = [tools.tool_path("llvm-cxxfilt")]
        done = run_command(command, _DEMANGLE_SECONDS, stdin="\n".join(symbols))
    except (EnvironmentNotSupported, OSError, subprocess.SubprocessError):
        return [*symbols]
    names = done.stdout.splitlines()
    return names if len(names) == len(symbols) else [*symbols]


def group_functions(sizes: Mapping[str, int]) -> Counter[str]:
    """Returns the sizes of functions. All functions of the outliner count as one."""
    grouped: Counter[str] = Counter()
    for name, size in sizes.items():
        grouped[group_name(name)] += size
    return grouped


def group_name(symbol: str) -> str:
    """Returns the name for comparisons. All functions of the outliner share one."""
    return _OUTLINED.sub(_ALL_OUTLINED, symbol)
