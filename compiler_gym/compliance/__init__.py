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
