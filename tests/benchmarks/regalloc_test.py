import numpy as np
import pytest

import compiler_gym
from benchmarks import regalloc_learner, regalloc_report, regalloc_runtime

SHA256 = "benchmark://kernels-v0/sha256"


@pytest.fixture(scope="module", autouse=True)
def require_llvm_22():
    with compiler_gym.make("llvm-regalloc-v0", benchmark=SHA256) as env:
        try:
            env.reset()
        except NotImplementedError as error:
            pytest.skip(str(error))


def test_learnt_answers_are_tried(monkeypatch):
    monkeypatch.setattr(regalloc_learner, "SAMPLES", 8)
    with compiler_gym.make("llvm-regalloc-v0", reward_space="SpillCostNorm") as env:
        pairs = regalloc_learner.questions(env, SHA256)
        assert len({number for number, *_ in pairs}) > 10
        assert len({len(row) for *_, row in pairs}) == 1
        rank = regalloc_learner.learn_from(env, [SHA256], np.random.default_rng(0))
        assert rank(np.array([row for *_, row in pairs])).shape == (len(pairs),)
        regalloc_learner.try_best(env, SHA256, pairs, rank, 5)
        assert env.episode_reward >= 0


def test_run_time_of_a_program(monkeypatch):
    monkeypatch.setattr(regalloc_runtime, "SAMPLE_SECONDS", 0)
    searches = {"evictions for bytes": regalloc_runtime.SEARCHES["evictions for bytes"]}
    monkeypatch.setattr(regalloc_runtime, "SEARCHES", searches)
    found = regalloc_runtime.measure(SHA256, tries=2, pairs=6)
    assert {*found} == {"clang -O3", *searches}
    share, _ = found["evictions for bytes"]
    assert share <= 1
    assert found["clang -O3"][0] > 1


def test_priorities_of_a_kernel_are_those_of_clang():
    totals = regalloc_report.Totals()
    spaces = {"action_space": "Priorities"}
    with compiler_gym.make("llvm-regalloc-v0", **spaces) as env, compiler_gym.make("llvm-v0") as o:
        regalloc_report.compare(env, o, SHA256, totals, at_once=1000)
    assert (totals.equal, totals.different) == (1, [])
    assert totals.questions > 500
