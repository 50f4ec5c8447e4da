import json
import math
from dataclasses import replace

import pytest

from compiler_gym.evaluation.result import Evaluation
from compiler_gym.evaluation.rows import ENDLESS, NOT_CHECKED, EvaluationRow, package_of


def row(final, seed=0, benchmark="a", best=None, output=NOT_CHECKED, baseline=100):
    costs = {"unoptimised": 200, "baseline": baseline, "final": final, "best": best or final}
    return EvaluationRow(benchmark, seed, **costs, actions=(), output=output)


def evaluation(*rows):
    return Evaluation("llvm-ic-v0", "IrInstructionCount", "IrInstructionCountOz", rows)


def test_metric():
    result = evaluation(row(80, best=50), row(125, benchmark="b", best=100))
    assert math.isclose(result.final, 1)
    assert math.isclose(result.best, math.sqrt(0.5))
    assert result.smaller == 1
    assert "100.0% of IrInstructionCountOz" in str(result) and "1 of 2 episodes" in str(result)
    assert evaluation(row(300)).final == pytest.approx(3)


def test_programs_that_do_not_end_are_left_out():
    rows = row(80), row(80, 1), row(1, 0, "endless", output=ENDLESS), row(1, 1, "endless")
    result = evaluation(*rows)
    assert (result.final, result.best) == pytest.approx((0.8, 0.8))
    assert result.interval() == pytest.approx((0.8, 0.8))
    assert result.smaller == 2
    assert "2 of 2 episodes end below it; left out: 1 programs" in str(result)
    assert len(result.as_dict()["rows"]) == 4
    assert "no episode counts" in str(evaluation(rows[2]))


def test_interval_over_seeds():
    assert evaluation(row(80)).interval() is None
    assert evaluation(row(80), row(80, seed=1)).interval() == pytest.approx((0.8, 0.8))
    low, high = evaluation(*(row(80 + seed, seed) for seed in range(10))).interval()
    assert 0.8 < low < 0.845 < high < 0.89


def test_interval_over_packages():
    """Files of a package count as one draw, so its many files do not narrow the interval."""
    uris = [f"benchmark://opensource-v0/p{number // 5}/f{number}.c" for number in range(20)]
    finals = [80 + 10 * (number // 5) for number in range(20)]
    result = evaluation(*map(row, finals, [0] * 20, uris))
    by_package = result.interval(over="packages")
    alone = [f"benchmark://kernels-v0/k{number}" for number in range(20)]
    by_file = evaluation(*map(row, finals, [0] * 20, alone)).interval(over="packages")
    assert by_package[0] < by_file[0] < result.final < by_file[1] < by_package[1]
    assert evaluation(*map(row, finals[:5], [0] * 5, uris)).interval(over="packages") is None
    with pytest.raises(ValueError, match="'programs'"):
        result.interval(over="programs")


def test_package():
    assert package_of("benchmark://opensource-v0/zlib/src/a.c") == "benchmark://opensource-v0/zlib"
    assert package_of("benchmark://cbench-v1/qsort") == "benchmark://cbench-v1/qsort"
    assert package_of("file:///home/me/a.c") == "file:///home/me"
    assert package_of("benchmark://file-v0/home/me/a.bc") == "benchmark://file-v0/home/me"


def test_robust_summaries():
    result = evaluation(*(row(final, 0, str(final)) for final in (50, 90, 100, 110, 1900)))
    assert result.quantiles(0.5) == [1.0]
    assert result.interquartile_mean() == pytest.approx((0.9 * 1.0 * 1.1) ** (1 / 3))
    assert result.profile([0.5, 1, 2]) == [0.2, 0.6, 0.8]


def test_best_of_some_episodes():
    """The expectation over all choices of episodes, not that of the first ones."""
    result = evaluation(*(row(final, seed) for seed, final in enumerate((100, 50, 25))))
    assert result.best_of(1) == pytest.approx(result.final)
    assert result.best_of(2) == pytest.approx((0.5 * 0.25 * 0.25) ** (1 / 3))
    assert result.best_of(3) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="1 to 3"):
        result.best_of(4)


def test_programs_that_the_baseline_removes_are_apart():
    result = evaluation(row(80), row(90, 0, "gone", baseline=3))
    assert result.final == pytest.approx(0.8)
    assert "apart: 1 programs that the baseline nearly removes, 3000.0%" in str(result)


def test_nothing_is_as_large_as_nothing():
    assert replace(row(0, baseline=0), unoptimised=0).final_ratio == 1


def test_comparison():
    programs = [f"benchmark://kernels-v0/{number}" for number in range(8)]
    scales = [(number + 1) for number in range(8)]
    first = evaluation(*(row(90 * s, 0, uri) for s, uri in zip(scales, programs, strict=True)))
    second = evaluation(*(row(100 * s, 1, uri) for s, uri in zip(scales, programs, strict=True)))
    comparison = first.compared_with(second)
    assert comparison.ratio == pytest.approx(0.9)
    assert comparison.interval == pytest.approx((0.9, 0.9))
    assert (comparison.better, comparison.worse, comparison.programs) == (8, 0, 8)
    assert not first.compared_with(first).is_significant
    with pytest.raises(ValueError, match="same programs"):
        first.compared_with(evaluation(row(80)))


def test_comparison_names_two_compilers():
    old = replace(evaluation(row(80)), compiler_version="22.1.8")
    new = replace(evaluation(row(70)), compiler_version="23.1.4")
    assert str(new.compared_with(old)).endswith("; compilers 23.1.4 and 22.1.8")
    for other in (old, replace(old, compiler_version=None)):
        assert not old.compared_with(other).compilers


def test_saved(tmp_path):
    result = replace(evaluation(row(80), row(90, 1)), compiler_version="22.1.8")
    result.save(tmp_path / "rows.json")
    assert Evaluation.load(tmp_path / "rows.json") == result
    # It may be one from before there was a version.
    values = result.as_dict()
    del values["compiler_version"]
    (tmp_path / "rows.json").write_text(json.dumps(values))
    assert Evaluation.load(tmp_path / "rows.json") == replace(result, compiler_version=None)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="evaluation"):
        Evaluation.load(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"final": None}, "a row has None"),
        ({"baseline": "100"}, "a row has '100'"),
        ({"seed": "1"}, "a row has '1'"),
        ({"benchmark": 3}, "a row has 3"),
        ({"seed": 0}, "two rows"),
        ({"cost": 1}, "'cost'"),
    ],
)
def test_rows_that_were_changed(tmp_path, change, message):
    values = evaluation(row(80), row(90, 1)).as_dict()
    values["rows"][1].update(change)
    (tmp_path / "rows.json").write_text(json.dumps(values))
    with pytest.raises(ValueError, match=f"expected a saved evaluation.*{message}"):
        Evaluation.load(tmp_path / "rows.json")


def test_plain_data_and_html():
    result = evaluation(row(80, benchmark="<a>"))
    assert json.loads(json.dumps(result.as_dict()))["rows"][0]["final"] == 80
    assert "&lt;a&gt;" in result._repr_html_()
