"""The learned order of changes."""

from pathlib import Path

import numpy as np
import pytest

from compiler_gym.tuning.size import ranking as module
from compiler_gym.tuning.size.call_gains import NO_CALL_GAINS
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.function_gains import FunctionGains
from compiler_gym.tuning.size.object_file import ObjectFile
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.ranking import (
    Ranking,
    expected_improvement,
    function_adjustments,
    function_properties,
    ir_features,
    is_experimental,
    object_features,
    read_properties,
    shipped_portfolio,
    shipped_ranking,
    toggles,
)

A, B, AB = Change(("a",)), Change(("b",)), Change(("a", "b"))


def small_ranking():
    """A model that expects 2 % of "a", which the feature makes 5 %, and 3 % of "b"."""
    return Ranking(
        words=("a", "b"),
        features=("size",),
        mean=np.array([1.0]),
        scale=np.array([2.0]),
        weights=np.array([[-0.03, 0.0], [-0.02, -0.03]]),
        covariance=np.eye(2) * 1e-4,
        noise=1e-6,
        candidates=(A, B),
        functions=FunctionGains((), {}),
        calls=NO_CALL_GAINS,
        about={"programs": 0},
    )


def test_features_decide_the_first_choice():
    ranking = small_ranking()
    assert ranking.belief({"size": 1}).choose([A, B], 0) == B
    assert ranking.belief({"size": 3}).choose([A, B], 0) == A
    assert ranking.belief({"size": 1}).choose([A, B, AB], 0) == AB


def test_results_decide_the_next_choice():
    belief = small_ranking().belief({"size": 1})
    belief.learn(AB, 0.1)
    belief.learn(A, -0.05)
    # So "b" costs much.
    assert belief.choose([A, B], 0) == A


def test_expected_improvement():
    assert expected_improvement(0.0, 1.0) == pytest.approx(1 / np.sqrt(2 * np.pi))
    assert expected_improvement(3.0, 1e-6) == pytest.approx(3)
    assert expected_improvement(-3.0, 1e-6) == pytest.approx(0)


def test_as_json_and_back():
    text = small_ranking().as_json()
    again = Ranking.from_json(text)
    assert again.as_json() == text
    assert again.candidates == (A, B)
    with pytest.raises(ValueError, match="expected a model"):
        Ranking.from_json("{}")


def test_the_shipped_model_belongs_to_the_shipped_portfolio():
    ranking = shipped_ranking()
    known = {each for each in ranking.candidates if not is_experimental(each)}
    assert known == {each.change for each in shipped_portfolio()}
    assert {*ranking.functions.trees} <= {*function_adjustments()}
    assert ranking.about["programs"] > 100
    path = Path(module.__file__).with_name("ranking.json")
    assert path.read_text() == ranking.as_json()
    assert path.stat().st_size < 2_000_000


def test_features():
    found = ObjectFile(100, 150, {"f": 20, "g": 80}, "", "")
    features = object_features(found, 200)
    assert features["text_share"] == 0.5
    assert features["linker_share"] == 0.25
    assert features["largest_share"] == 0.8
    assert features["small_share"] == 0.2
    head = "Printing analysis results of CFA for function '{}':\n"
    text = head + "Loads: {}\nTotalInstructionCount: {}\n"
    properties = read_properties(text.format("f", 2, 4) + "\n" + text.format("a b", 1, 2))
    assert properties["a b"] == {"Loads": 1, "TotalInstructionCount": 2}
    expected = {"Loads": 0.5, "log_instructions": pytest.approx(np.log(7))}
    assert ir_features(properties.values()) == expected
    assert read_properties("") == {} == ir_features([])
    assert function_properties(Path("missing.bc")) == {}


def test_a_function_that_stays_as_it_is_leaves_decisions_about_others(compilation, start):
    source = compilation.source
    source.write_text(f'{source.read_text()}\nvoid special(void) {{ __asm__("nop"); }}\n')
    search = Optimizer(start(compilation, evaluations=1), ranking=shipped_ranking())
    search.start()
    search.run()
    assert [each.name for each in search.stages] == ["portfolio"]
    change = search.best.change
    assert not change.options and (change.calls or change.functions)
    assert search.size(search.best) < search.size(search.baseline)


def test_the_shipped_order_is_by_gain():
    shipped = shipped_portfolio(with_experimental=True)
    assert len({each.name for each in shipped}) == len({each.change for each in shipped}) >= 8
    gains = [each.gain for each in shipped]
    assert gains == sorted(gains, reverse=True)
    assert 0.01 < gains[-1] < gains[0] < 0.1


def test_toggles_add_and_take_away():
    assert len(toggles(with_passes=True)) > len(toggles(with_passes=False)) > 5
    start = Change(("-inline-threshold=7", "-disable-lsr"))
    results = [toggle(start) for toggle in toggles(with_passes=True)]
    assert len({*results}) == len(results) and start not in results
    assert Change(("-inline-threshold=7",)) in results
    assert Change(("-disable-lsr", "-inline-threshold=-50")) in results
    for toggle in toggles(with_passes=True):
        assert toggle(toggle(Change())) == Change()


def test_experimental_options_are_left_out_unless_asked_for():
    everything = shipped_portfolio(with_experimental=True)
    assert {*shipped_portfolio()} < {*everything}
    for asked in (False, True):
        changes = [each.change for each in shipped_portfolio(asked)]
        changes += [toggle(Change()) for toggle in toggles(True, asked)]
        assert any(map(is_experimental, changes)) is asked
