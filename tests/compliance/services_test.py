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


# What services do otherwise on purpose. Remarks are what the last action has said, of an action without
# an effect, too; they are declared deterministic because they are the same after the same actions.
DIFFERENT = {"llvm-v0": {"step.no-effect": "has changed Remarks"}}


@pytest.mark.parametrize("id", SERVICES)
def test_service(id):
    results = list(check(target_of_env(id)))
    texts = {result.rule.id: result.text for result in results}
    by_outcome = {
        outcome: {result.rule.id for result in results if result.outcome is outcome}
        for outcome in Outcome
    }
    different = DIFFERENT.get(id, {})
    assert {rule: texts[rule] for rule in by_outcome[Outcome.FAILED] - different.keys()} == {}
    for rule, text in different.items():
        assert text in texts[rule]
    assert by_outcome[Outcome.NOT_CHECKED] == SERVICES[id]
