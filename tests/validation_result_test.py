import json
import pickle

import pytest

from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.errors import ValidationError
from compiler_gym.validation_result import ValidationResult

FAILURES = [
    "actions_replay_failed",
    "reward_validation_failed",
    "benchmark_semantics_validation_failed",
]
CHECKS = ["reward_validated", "benchmark_semantics_validated"]


def make_state(**kwargs):
    values = {"benchmark": "benchmark://kernels-v0/sha256", "commandline": "", "walltime": 1}
    return CompilerEnvState(**{**values, **kwargs})


def make(**kwargs):
    return ValidationResult(**{"state": make_state(), "walltime": 1, **kwargs})


def errors(*types):
    return [ValidationError(type=type) for type in types]


def test_malformed():
    with pytest.raises(ValueError, match="walltime"):
        make(walltime=-1)
    with pytest.raises(ValueError, match="okey"):
        make(okey=True)


def test_error_details():
    assert make().error_details == ""
    assert make(errors=errors("Wrong output")).error_details == "Wrong output"
    assert make(errors=errors("b", "a", "a")).error_details == "2 x a, b"
    assert make(errors=errors(*"abcdeb")).error_details == "2 x b, a, c, 2 more kinds of errors"
    assert make(actions_replay_failed=True).error_details == "Failed to replay the actions"
    result = make(reward_validation_failed=True, benchmark_semantics_validation_failed=True)
    assert result.error_details == "Reward differs, Program misbehaves"


def test_repr():
    run = {"benchmark_semantics_validated": True}
    assert repr(make(**run)) == "✅  kernels-v0/sha256"
    assert repr(make(state=make_state(reward=0.99999), **run)) == "✅  kernels-v0/sha256  1.0000"
    failed = make(
        state=make_state(reward=0.5),
        benchmark_semantics_validation_failed=True,
        errors=errors("Wrong output", "Wrong output"),
    )
    assert repr(failed) == str(failed) == "❌  kernels-v0/sha256  0.5000  2 x Wrong output"
    other = make(state=make_state(benchmark="generator://csmith-v0/1"), **run)
    assert repr(other) == "✅  generator://csmith-v0/1"
    result = make(state=make_state(reward=0.5), reward_validated=True)
    assert result.okay()
    assert repr(result) == "❔  kernels-v0/sha256  0.5000  not run, so its outputs are not checked"


def test_equality():
    assert make(walltime=1) == make(walltime=2)
    assert make(errors=errors("a", "b")) == make(errors=errors("b", "a"))
    assert make(errors=errors("a")) != make()
    assert make(state=make_state(commandline="-x")) != make()
    assert make() != "result"
    for flag in FAILURES + CHECKS:
        assert make(**{flag: True}) != make()


@pytest.mark.parametrize("flag", FAILURES + CHECKS)
def test_flags(flag):
    assert make(**{flag: True}).okay() == (flag in CHECKS)
    assert getattr(ValidationResult.join([make(), make(**{flag: True}), make()]), flag)
    assert not getattr(ValidationResult.join([make(), make()]), flag)
    assert make().okay()


def test_join_values():
    results = [make(walltime=1, errors=errors("a")), make(walltime=2, errors=errors("b", "a"))]
    joined = ValidationResult.join(iter(results))
    assert joined.walltime == 3
    assert [error.type for error in joined.errors] == ["a", "b", "a"]
    assert joined.state == make_state()


def test_refused_joins():
    with pytest.raises(ValueError, match="no validation results"):
        ValidationResult.join([])
    with pytest.raises(ValueError, match="different states"):
        ValidationResult.join([make(), make(state=make_state(commandline="-x"))])


def test_json_and_pickle():
    result = make(errors=[ValidationError(type="a", data={"seed": 1})], reward_validated=True)
    assert json.loads(result.model_dump_json())["errors"] == [{"type": "a", "data": {"seed": 1}}]
    assert ValidationResult.model_validate_json(result.model_dump_json()) == result
    assert pickle.loads(pickle.dumps(result)) == result


def test_the_line_says_why_a_replay_failed():
    reason = "'-prune-eh' of CompilerGym 0.2.5 has no counterpart\nTraceback"
    error = ValidationError(type="Action replay failed", data={"details": reason})
    line = str(make(actions_replay_failed=True, errors=[error]))
    assert "Action replay failed: '-prune-eh' of CompilerGym 0.2.5 has no counterpart" in line
    assert "Traceback" not in line
