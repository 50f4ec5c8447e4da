"""Training of the network. Requires SciPy."""

import numpy as np
from scipy.optimize import minimize

from compiler_gym.tuning.policies.network import Network, normalised, with_one


def train(
    features: np.ndarray, logarithms: np.ndarray, units: int, decay: float, seed: int
) -> Network:
    """Returns a network that predicts what sequences do to programs.

    Args:
        features: float64 [programs, features].
        logarithms: float64 [programs, sequences], see above.
        units: How many the hidden layer has.
        decay: How much large weights cost: their squares times this are added to the mean square
            of the errors.
        seed: Of the first weights.
    """
    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-6
    inputs = normalised(features, mean, scale)
    rng = np.random.default_rng(seed)
    shapes = (inputs.shape[1], units), (units + 1, logarithms.shape[1])
    first = [rng.normal(scale=shape[0] ** -0.5, size=shape) for shape in shapes]
    border = first[0].size

    def cost(weights: np.ndarray) -> tuple[float, np.ndarray]:
        hidden, output = weights[:border].reshape(shapes[0]), weights[border:].reshape(shapes[1])
        active = np.tanh(inputs @ hidden)
        errors = with_one(active) @ output - logarithms
        slope = 2 * errors / errors.size
        back = (slope @ output[:-1].T) * (1 - active**2)
        gradient = np.concatenate([(inputs.T @ back).ravel(), (with_one(active).T @ slope).ravel()])
        penalty = decay * float(weights @ weights)
        return float((errors**2).mean()) + penalty, gradient + 2 * decay * weights

    start = np.concatenate([each.ravel() for each in first])
    weights = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return Network(
        mean, scale, weights[:border].reshape(shapes[0]), weights[border:].reshape(shapes[1])
    )
