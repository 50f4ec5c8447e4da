"""Where the bytes went: the functions of two object files compared."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

_OUTLINED = re.compile(r"OUTLINED_FUNCTION_\w+")
_ALL_OUTLINED = "OUTLINED_FUNCTION_…"


@dataclass(frozen=True)
class FunctionChange:
    """A function before and after.

    Attributes:
        name: Its symbol; all that the outliner has made count as one.
        before: Its bytes; 0 if there was none.
        after: Its bytes; 0 if there is none any more: it was inlined.
    """

    name: str
    before: int
    after: int

    @property
    def saved(self) -> int:
        """The bytes that it became smaller by."""
        return self.before - self.after


def compare_functions(before: Mapping[str, int], after: Mapping[str, int]) -> list[FunctionChange]:
    """Returns the functions whose size has changed, those that changed most first."""
    old, new = _grouped(before), _grouped(after)
    changes = [FunctionChange(name, old[name], new[name]) for name in {**old, **new}]
    changed = [each for each in changes if each.saved]
    return sorted(changed, key=lambda each: (-abs(each.saved), each.name))


def _grouped(sizes: Mapping[str, int]) -> Counter[str]:
    grouped: Counter[str] = Counter()
    for name, size in sizes.items():
        grouped[_OUTLINED.sub(_ALL_OUTLINED, name)] += size
    return grouped
