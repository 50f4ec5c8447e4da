from dataclasses import replace

import numpy as np
import pytest

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.tuning.pass_measurement import (
    Estimate,
    Failure,
    Measurement,
    Trial,
    estimate_mean,
    estimate_saving,
    estimate_saving_of_programs,
    measure_trials,
)
from compiler_gym.util.runfiles_path import runfiles_path
from tests.envs.llvm.kernel_programs import kernel_uri


def trial(without: float, with_pass: float) -> Trial:
    return Trial("benchmark://x/y", (), without != with_pass, without, with_pass)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_savings_and_verdicts():
    assert [trial(200, 150).saving, trial(200, 220).saving, trial(0, 0).saving] == [0.25, -0.1, 0]
    estimates = [(0.1, 0.05, 0.2), (-0.1, -0.2, -0.05), (0.1, -0.05, 0.2), (0, 0, 0)]
    verdicts = [Estimate(*each).verdict for each in estimates]
    assert verdicts == ["helps", "harms", "not shown", "not shown"]


def test_interval_holds_the_true_mean_as_often_as_it_says():
    draws = np.random.default_rng(1)
    samples = (draws.exponential(1, size=60) for _ in range(200))
    estimates = [estimate_mean(sample, draws) for sample in samples]
    assert 0.88 < np.mean([each.low <= 1 <= each.high for each in estimates]) < 0.99


def test_programs_count_alike_however_many_prefixes_they_have():
    trials = [[trial(100, 90)] * 50, [trial(100, 100)], []]
    assert estimate_saving_of_programs(trials, rng()).mean == pytest.approx(0.05)
    assert estimate_saving(trials[0], rng()).mean == pytest.approx(0.1)


def measure(env, name, clean_up="", seed=0, program="huffman", prefixes=6, **changes):
    """Returns the trials and failures of a pass."""
    measured = [env.action_space[name]]
    others = [env.action_space[each] for each in clean_up.split()]
    measurement = Measurement(
        measured, others, cost="IrInstructionCount", max_prefix=8, timeout=60, runs=1
    )
    measurement, rng = replace(measurement, **changes), np.random.default_rng(seed)
    return [*measure_trials(env, kernel_uri(program), measurement, prefixes=prefixes, rng=rng)]


@pytest.fixture(name="env")
def fixture_env():
    with LlvmEnv() as env:
        yield env


def test_a_pass_that_helps_and_one_that_does_nothing(env):
    helps = measure(env, "mem2reg")
    assert len(helps) == 6
    assert max(each.saving for each in helps) > 0.1
    assert any(each.changed for each in helps)
    nothing = measure(env, "strip-dead-prototypes", clean_up="dce")
    assert all(each.saving == 0 and not each.is_run for each in nothing)


def test_the_requested_number_of_changed_programs_is_run(env):
    assert [each.is_run for each in measure(env, "reg2mem", runs=2)].count(True) == 2
    assert not any(each.is_run for each in measure(env, "reg2mem", runs=0))


def test_a_seed_repeats_a_measurement(env):
    assert measure(env, "gvn", seed=3) == measure(env, "gvn", seed=3)
    assert measure(env, "gvn", seed=3) != measure(env, "gvn", seed=4)


@pytest.fixture(scope="module")
def broken_env():
    plugin = runfiles_path("tests/llvm_service/BrokenPasses.so")
    with LlvmEnv(action_space="PassesAll", pass_plugins=[plugin]) as env:
        yield env


@pytest.mark.parametrize(
    ("name", "kind", "details"),
    [
        ("erase-terminators", "invalid IR", "After function(erase-terminators), LLVM's verifier"),
        ("multiply-by-three", "wrong output", "Wrong output"),
        ("abort", "crash", "function(abort)"),
        ("never-end", "time limit", "function(never-end)"),
    ],
)
def test_failures_of_a_pass_are_classified(broken_env, name, kind, details):
    timeout = 2 if name == "never-end" else 60
    outcomes = measure(broken_env, name, program="sha256", prefixes=2, timeout=timeout)
    failures = [each for each in outcomes if isinstance(each, Failure)]
    assert {each.kind for each in failures} == {kind}
    assert details in failures[0].details
    if kind != "wrong output":
        assert len(failures) == len(outcomes) == 2


def test_failures_of_other_passes_are_not_counted(broken_env):
    after_wrong = {"clean_up": "multiply-by-three", "program": "sha256", "prefixes": 2}
    assert len(measure(broken_env, "mem2reg", **after_wrong, runs=0)) == 2
    outcomes = measure(broken_env, "mem2reg", **after_wrong, runs=2)
    assert not any(isinstance(each, Failure) for each in outcomes)
    assert measure(broken_env, "mem2reg", clean_up="abort", prefixes=2) == []
