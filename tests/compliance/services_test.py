"""The services of this repository keep all rules."""

import pytest

from compiler_gym.compliance import Outcome, check, target_of_env

# What cannot be checked: none of their actions crashes, hangs or ends a session by design.
_FATAL = {
    "crash.status",
    "crash.others-live",
    "crash.session-is-lost",
    "hang.deadline",
    "hang.others-live",
    "hang.end",
    "hang.stop",
}
_ENDING = {"step.end-of-session", "step.stops-at-end", "fork.ended"}

# To add a service, add the id of one of its environments, and what cannot be checked for it.
SERVICES = {
    "llvm-v0": _FATAL | _ENDING,
    "examples.example_compiler_gym_service:example-cc-v0": _FATAL | _ENDING,
    "examples.example_compiler_gym_service:example-py-v0": _FATAL | _ENDING,
}


@pytest.mark.parametrize("id", SERVICES)
def test_service(id):
    results = list(check(target_of_env(id)))
    texts = {result.rule.id: result.text for result in results}
    by_outcome = {
        outcome: {result.rule.id for result in results if result.outcome is outcome}
        for outcome in Outcome
    }
    assert {id: texts[id] for id in by_outcome[Outcome.FAILED]} == {}
    assert by_outcome[Outcome.NOT_CHECKED] == SERVICES[id]
