"""The rules as tests for pytest.

A test file defines the service, and imports the rest::

    from pathlib import Path

    import pytest
    from compiler_gym.compliance import Target, benchmark_of
    from compiler_gym.compliance.testing import *

    @pytest.fixture(scope="session")
    def compliance_target():
        return Target(Path("my_service.py"), [benchmark_of("program.txt")])

Each rule is a test, such as ``test_rule[process.starts]``. A rule that cannot be checked is skipped
with the reason. Fixtures of the same names in the test file replace those of this module.
"""

from collections.abc import Iterator

import pytest

from compiler_gym.compliance.rule import Outcome, Rule
from compiler_gym.compliance.rules import RULES
from compiler_gym.compliance.runner import DEFAULT_TIME_LIMIT, check_rule
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.target import Target

__all__ = ["compliance_subject", "compliance_target", "compliance_time_limit", "test_rule"]


@pytest.fixture(scope="session")
def compliance_target() -> Target:
    """The service to check. The test file must define this fixture."""
    raise NotImplementedError(
        "Define a fixture compliance_target of the scope 'session', which returns a "
        "compiler_gym.compliance.Target"
    )


@pytest.fixture(scope="session")
def compliance_time_limit() -> float:
    """The time limit of each rule in seconds."""
    return DEFAULT_TIME_LIMIT


@pytest.fixture(scope="session")
def compliance_subject(
    compliance_target: Target, compliance_time_limit: float
) -> Iterator[Subject]:
    """The subject of all rules. They share one service process, which ends with the tests."""
    subject = Subject(compliance_target, compliance_time_limit)
    yield subject
    subject.give_up()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule(rule: Rule, compliance_subject: Subject) -> None:
    """The service does what the rule says."""
    result = check_rule(rule, compliance_subject)
    if result.outcome is Outcome.NOT_CHECKED:
        pytest.skip(result.text)
    if result.outcome is Outcome.FAILED:
        pytest.fail(f"{rule.sentence}\nFound:  {result.text}\nChange: {rule.advice}", pytrace=False)
