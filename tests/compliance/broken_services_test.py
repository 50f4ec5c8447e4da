"""Each rule finds the service that breaks it, and no rule finds fault with one that breaks none."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from compiler_gym.compliance import RULES, Outcome, check
from compiler_gym.compliance import subject as module_of_subject
from compiler_gym.compliance.rules import concurrency, failures, process
from compiler_gym.compliance.runner import check_rule
from compiler_gym.compliance.subject import Subject
from tests.compliance.breakable import breakable


def test_correct_service():
    results = list(check(breakable()))
    assert [result.rule for result in results] == list(RULES)
    bad = {result.rule.id: result.text for result in results if result.outcome is not Outcome.OK}
    assert bad == {"direct.same": "the service has no direct channel"}


@pytest.fixture(scope="module", name="results")
def fixture_results():
    """A future for each rule: its result for the service that breaks it.

    Several rules are checked at a time, as most of the time is waiting.
    """
    with pytest.MonkeyPatch.context() as monkeypatch:
        be_impatient(monkeypatch)
        pool = ThreadPoolExecutor(4)
        yield {rule.id: pool.submit(result_of_broken, rule) for rule in RULES}
        pool.shutdown(cancel_futures=True)


def be_impatient(monkeypatch):
    """Shortens what rules allow for busy machines. A service that breaks them takes for ever.

    Other times are longer: on a busy machine a service needs them to notice that it is to break.
    """
    monkeypatch.setattr(failures, "_GRACE_SECONDS", 4.0)
    monkeypatch.setattr(failures, "_LOST_SECONDS", 1.0)
    monkeypatch.setattr(concurrency, "_GRACE_SECONDS", 3)
    monkeypatch.setattr(concurrency, "_GONE_SECONDS", 1)
    monkeypatch.setattr(process, "_GONE_SECONDS", 1)
    monkeypatch.setattr(process, "_EXIT_SECONDS", 4)
    monkeypatch.setattr(module_of_subject, "_ALIVE_SECONDS", 3)
    monkeypatch.setattr(concurrency, "_CANCEL_AFTER_SECONDS", (0, 0.5))
    monkeypatch.setattr(concurrency, "_SETTLE_SECONDS", 2)
    monkeypatch.setattr(concurrency, "_SHORT_SECONDS", (5,))


def result_of_broken(rule):
    subject = Subject(breakable(rule.id))
    try:
        return check_rule(rule, subject)
    finally:
        subject.give_up()


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_service_that_breaks_a_rule(rule, results):
    result = results[rule].result()
    assert result.outcome is Outcome.FAILED
    assert result.text
    assert "unexpected" not in result.text
