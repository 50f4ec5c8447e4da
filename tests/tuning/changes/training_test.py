"""The training of a model of what changes are worth."""

import numpy as np
import pytest

from compiler_gym.tuning.changes.training import fit, order_of_adjustments, train
from compiler_gym.tuning.size.compilation import Change


def test_fit_recovers_weights():
    rng = np.random.default_rng(0)
    weights = np.array([[0.02, 0.0, -0.01], [-0.03, 0.01, 0.0]])
    values = np.stack([rng.normal(size=300), np.ones(300)], axis=1)
    effects = values @ weights + rng.normal(scale=0.005, size=(300, 3))
    designs = [rng.integers(0, 2, (12, 3)).astype(float) for _ in effects]
    targets = [
        it @ each + rng.normal(scale=1e-3, size=12)
        for it, each in zip(designs, effects, strict=True)
    ]
    found, covariance, noise = fit(designs, targets, values)
    np.testing.assert_allclose(found, weights, atol=4e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), 0.005, atol=1e-3)
    assert noise**0.5 == pytest.approx(1e-3, rel=0.3)


def test_adjustments_are_ordered_by_their_additional_gain():
    def row(**adjustments):
        sizes = {name: {"functions": each} for name, each in adjustments.items()}
        return {"functions": [100, 100], "start": {"loaded": 200}, "adjustments": sizes}

    # The second helps less than the third alone, but more after the first.
    rows = [row(gvn=[80, 100], licm=[100, 90], sroa=[85, 100])]
    assert order_of_adjustments(rows) == ["gvn", "licm", "sroa"]
    assert order_of_adjustments([{"functions": []}]) == []


def test_train():
    def trial(option, loaded):
        return {"change": {"options": [option]}, "loaded": loaded}

    rows = [
        {
            "features": {"log_text": float(number)},
            "baseline": {"loaded": 1000},
            "changes": [trial("-a", 950 - number), trial("-b", 1010), trial("-b", 9000)],
        }
        for number in range(10)
    ]
    ranking = train(rows, about={"programs": 10})
    belief = ranking.belief({"log_text": 5.0})
    assert belief.choose([Change(("-b",)), Change(("-a",))], 0) == Change(("-a",))
    assert ranking.as_json() == train(rows, about={"programs": 10}).as_json()
    with pytest.raises(ValueError, match="expected rows"):
        train([])
