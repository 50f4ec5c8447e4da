"""Checks of compiler services against the rules that clients rely on.

The checks work from outside on the executable of a service in any language: requests and replies,
files, flags and exit codes::

    python -m compiler_gym.compliance my_service.py --benchmark program.txt

In Python::

    from pathlib import Path
    from compiler_gym.compliance import Target, benchmark_of, check

    for result in check(Target(Path("my_service.py"), [benchmark_of("program.txt")])):
        print(result.outcome.value, result.rule.id, result.text)

:mod:`compiler_gym.compliance.testing` has the same checks as tests for pytest.
"""

from typing import TYPE_CHECKING

from compiler_gym.util.lazy_names import lazy_names

if TYPE_CHECKING:
    from compiler_gym.compliance.rule import NotChecked, Outcome, Result, Rule, Violation
    from compiler_gym.compliance.rules import RULES
    from compiler_gym.compliance.runner import check, select
    from compiler_gym.compliance.target import (
        Target,
        benchmark_of,
        benchmarks_of_dataset,
        target_of_env,
    )

__all__ = [
    "RULES",
    "NotChecked",
    "Outcome",
    "Result",
    "Rule",
    "Target",
    "Violation",
    "benchmark_of",
    "benchmarks_of_dataset",
    "check",
    "select",
    "target_of_env",
]

_MODULES = {
    **dict.fromkeys(("NotChecked", "Outcome", "Result", "Rule", "Violation"), ".rule"),
    "RULES": ".rules",
    **dict.fromkeys(("check", "select"), ".runner"),
    **dict.fromkeys(
        ("Target", "benchmark_of", "benchmarks_of_dataset", "target_of_env"), ".target"
    ),
}


if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES)
