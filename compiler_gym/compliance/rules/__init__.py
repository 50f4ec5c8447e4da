"""All rules, in the order in which they are checked."""

from compiler_gym.compliance.rule import Rule
from compiler_gym.compliance.rules import (
    concurrency,
    failures,
    messages,
    observations,
    process,
    sessions,
    steps,
)

# Rules of the same theme are next to each other, whatever module they are in.
_THEMES = (
    "process",
    "version",
    "spaces",
    "start",
    "benchmark",
    "end",
    "step",
    "fork",
    "parameter",
    "observations",
    "rewards",
    "message",
    "limit",
    "concurrent",
    "cancel",
    "deadline",
    "crash",
    "hang",
    "lease",
    "direct",
)

_MODULES = (
    process,
    sessions,
    steps,
    observations,
    messages,
    concurrency,
    failures,
)


def _in_themes() -> tuple[Rule, ...]:
    found = [
        rule for module in _MODULES for rule in vars(module).values() if isinstance(rule, Rule)
    ]
    return tuple(sorted(found, key=lambda rule: _THEMES.index(rule.theme)))


#: All rules. If the first fails, no other is checked.
RULES: tuple[Rule, ...] = _in_themes()
