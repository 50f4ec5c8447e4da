"""The training of a model of what changes are worth."""

import numpy as np
import pytest

from compiler_gym.tuning.changes.local_training import train_calls, train_functions
from compiler_gym.tuning.changes.training import fit, train
from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.function_gains import Expected


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


def test_train_functions():
    """Functions with many loads lose a tenth without licm, others grow."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(20):
        pairs = [*zip(rng.integers(50, 200, 30).tolist(), rng.integers(0, 20, 30), strict=True)]
        features = [{"bytes": float(size), "Loads": float(loads)} for size, loads in pairs]
        after = [size * (0.9 if loads > 10 else 1.05) for size, loads in pairs]
        rows.append(
            {
                "functions": [size for size, _ in pairs],
                "function_features": [{}, *features[1:]],
                "adjustments": {"licm": {"functions": after}},
            }
        )
    functions = {
        name: {"bytes": 100, "unwinding": 0, "Loads": loads}
        for name, loads in (("many", 18), ("few", 2))
    }
    expected = train_functions(rows).expected(functions, ["licm"])
    many, few = expected["many"]["licm"], expected["few"]["licm"]
    assert many.saved > 5 and few.saved < -2
    assert many.improvement > 5 and abs(few.improvement) < 1
    assert train_functions([{"changes": []}]).expected(functions, ["licm"]) == {}


def test_train_calls():
    """Inlining saves if the callee is small."""
    rng = np.random.default_rng(0)

    def decision(size):
        return {"features": {"size": float(size), "inline": 1.0}, "code": int(2 * size - 40)}

    model = train_calls([{"decisions": [*map(decision, rng.integers(1, 40, 600))]}])
    small, large = model.expected([{"size": size, "inline": 1.0} for size in (5.0, 38.0)])
    assert small.saved == pytest.approx(30, abs=5) and large.saved == pytest.approx(-36, abs=5)
    assert small.improvement == pytest.approx(30, abs=5)
    assert large.improvement == pytest.approx(0, abs=0.5)
    assert model.expected([]) == []
    assert train_calls([{}]).expected([{"size": 5.0}]) == [Expected(0, 0)]


def test_train():
    def trial(option, loaded):
        return {"change": {"options": [option]}, "code": loaded - 100, "loaded": loaded}

    rows = [
        {
            "features": {"log_text": float(number)},
            "baseline": {"code": 900, "loaded": 1000},
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
