"""The metric of evaluations, and its interval."""

import json
import math

import pytest

from compiler_gym.evaluation.result import ENDLESS, NOT_CHECKED, Evaluation, EvaluationRow


def row(final, seed=0, benchmark="a", best=None, output=NOT_CHECKED):
    costs = {"unoptimised": 200, "baseline": 100, "final": final, "best": best or final}
    return EvaluationRow(benchmark, seed, **costs, actions=(), output=output)


def evaluation(*rows):
    return Evaluation("llvm-ic-v0", "IrInstructionCount", "IrInstructionCountOz", rows)


def test_metric():
    result = evaluation(row(80, best=50), row(125, benchmark="b", best=100))
    assert math.isclose(result.final, 1)
    assert math.isclose(result.best, math.sqrt(0.5))
    assert result.smaller == 1
    assert str(result) == (
        "100.0% of IrInstructionCountOz, 70.7% at best on the way; 1 of 2 episodes end below it"
    )


def test_results_below_the_baseline_are_not_clipped():
    assert evaluation(row(300)).final == pytest.approx(3)


def test_programs_that_do_not_end_are_left_out():
    rows = row(80), row(80, 1), row(1, 0, "endless", output=ENDLESS), row(1, 1, "endless")
    result = evaluation(*rows)
    assert (result.final, result.best) == pytest.approx((0.8, 0.8))
    assert result.interval() == pytest.approx((0.8, 0.8))
    assert result.smaller == 2
    assert "2 of 2 episodes end below it; 2 left out that do not end in time" in str(result)
    assert len(result.as_dict()["rows"]) == 4
    assert str(evaluation(rows[2])) == "no episode counts; 1 left out that do not end in time"


def test_interval_over_seeds():
    assert evaluation(row(80)).interval() is None
    assert evaluation(row(80), row(80, seed=1)).interval() == pytest.approx((0.8, 0.8))
    low, high = evaluation(*(row(80 + seed, seed) for seed in range(10))).interval()
    assert 0.8 < low < 0.845 < high < 0.89


def test_plain_data_and_html():
    result = evaluation(row(80, benchmark="<a>"))
    assert json.loads(json.dumps(result.as_dict()))["rows"][0]["final"] == 80
    assert "&lt;a&gt;" in result._repr_html_()
