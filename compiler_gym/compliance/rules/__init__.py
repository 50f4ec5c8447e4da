"""All rules, in the order in which they are checked."""

from compiler_gym.compliance.rule import Rule
from compiler_gym.compliance.rules import (
    channels,
    concurrency,
    failures,
    forks,
    leases,
    messages,
    observations,
    parameters,
    process,
    sessions,
    spaces,
    steps,
)

_MODULES = (
    process,
    spaces,
    sessions,
    steps,
    observations,
    forks,
    parameters,
    messages,
    concurrency,
    failures,
    leases,
    channels,
)


def _in_themes() -> tuple[Rule, ...]:
    """Groups rules by theme, independent of their modules."""
    found = [
        rule for module in _MODULES for rule in vars(module).values() if isinstance(rule, Rule)
    ]
    themes = list(dict.fromkeys(rule.theme for rule in found))
    return tuple(sorted(found, key=lambda rule: themes.index(rule.theme)))


#: All rules. If the first fails, no other is checked.
RULES: tuple[Rule, ...] = _in_themes()
