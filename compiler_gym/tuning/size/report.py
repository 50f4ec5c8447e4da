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
        name: Its symbol; all that the outliner has made count as one.
        before: Its size, bytes or instructions; 0 if there was none.
        after: Its size; 0 if there is none any more: it was inlined.
    """

    name: str
    before: int
    after: int

    @property
    def saved(self) -> int:
        """The reduction of the size."""
        return self.before - self.after


def compare_functions(before: Mapping[str, int], after: Mapping[str, int]) -> list[FunctionChange]:
    """Returns the functions whose size has changed, those that changed most first."""
    old, new = group_functions(before), group_functions(after)
    changes = [FunctionChange(name, old[name], new[name]) for name in {**old, **new}]
    changed = [each for each in changes if each.saved]
    return sorted(changed, key=lambda each: (-abs(each.saved), each.name))


def readable_names(symbols: Sequence[str]) -> list[str]:
    """Returns the names of functions of C++ as their source has them, and others as they are."""
    try:
        command = [tools.tool_path("llvm-cxxfilt")]
        done = run_command(command, _DEMANGLE_SECONDS, stdin="\n".join(symbols))
    except (EnvironmentNotSupported, OSError, subprocess.SubprocessError):
        return [*symbols]
    names = done.stdout.splitlines()
    return names if len(names) == len(symbols) else [*symbols]


def group_functions(sizes: Mapping[str, int]) -> Counter[str]:
    """Returns the sizes of functions, with all that the outliner has made as one."""
    grouped: Counter[str] = Counter()
    for name, size in sizes.items():
        grouped[group_name(name)] += size
    return grouped


def group_name(symbol: str) -> str:
    """Returns the name that a function is compared by: all that the outliner made share one."""
    return _OUTLINED.sub(_ALL_OUTLINED, symbol)
