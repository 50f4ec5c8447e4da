"""Each rule finds the service that breaks it, and no rule finds fault with one that breaks none."""

import pytest

from compiler_gym.compliance import RULES, Outcome, check
from compiler_gym.compliance.runner import check_rule
from compiler_gym.compliance.subject import Subject
from tests.compliance.breakable import breakable


def test_a_service_that_breaks_none():
    results = list(check(breakable()))
    assert [result.rule for result in results] == list(RULES)
    bad = {result.rule.id: result.text for result in results if result.outcome is not Outcome.OK}
    assert bad == {"direct.same": "the service has no direct channel"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_service_that_breaks_it(rule):
    subject = Subject(breakable(rule.id))
    try:
        result = check_rule(rule, subject)
    finally:
        subject.give_up()
    assert result.outcome is Outcome.FAILED
    assert result.text
    assert "unexpected" not in result.text
