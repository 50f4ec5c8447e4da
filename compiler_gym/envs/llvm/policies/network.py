"""A small network that looks at a program, and says which sequence of passes to run on it.

It has one hidden layer. What it predicts of each sequence is the logarithm of the IR instructions
that the sequence leaves, divided by those that -Oz leaves.
"""

from dataclasses import dataclass

import numpy as np

from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES

FEATURES = ("Autophase", "InstCountNorm", "IrInstructionCount")
"""The observations before the first pass that it looks at."""

_TOTAL = AUTOPHASE_FEATURE_NAMES.index("TotalInsts")


def features_of(env: LlvmEnv) -> np.ndarray:
    """Returns what the network sees of the program of an episode.

    Returns:
        float64 [features]: Autophase by the number of instructions, the shares of kinds of
        instructions, and the logarithm of the number of instructions.
    """
    autophase, shares, count = env.observation.observe(FEATURES)
    instructions = np.maximum(autophase[_TOTAL], 1)
    return np.concatenate([autophase / instructions, shares, [np.log1p(float(count))]])


@dataclass(frozen=True)
class Network:
    """A network with one hidden layer.

    Attributes:
        mean: float64 [features], what is taken from the features.
        scale: float64 [features], what they are divided by then.
        hidden: float64 [features + 1, units], the weights of the hidden layer; the last are added.
        output: float64 [units + 1, sequences], those of the output.
    """

    mean: np.ndarray
    scale: np.ndarray
    hidden: np.ndarray
    output: np.ndarray

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Returns float64 [..., sequences] for features float64 [..., features]."""
        inputs = (features - self.mean) / self.scale
        # Nothing of a program that is unlike all others is worth more than five deviations.
        units = np.tanh(_with_one(np.clip(inputs, -5, 5)) @ self.hidden)
        return _with_one(units) @ self.output


def _with_one(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values, np.ones((*values.shape[:-1], 1))], axis=-1)


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
    from scipy.optimize import minimize

    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-6
    inputs = _with_one(np.clip((features - mean) / scale, -5, 5))
    rng = np.random.default_rng(seed)
    shapes = (inputs.shape[1], units), (units + 1, logarithms.shape[1])
    first = [rng.normal(scale=shape[0] ** -0.5, size=shape) for shape in shapes]
    border = first[0].size

    def cost(weights: np.ndarray) -> tuple[float, np.ndarray]:
        hidden, output = weights[:border].reshape(shapes[0]), weights[border:].reshape(shapes[1])
        active = np.tanh(inputs @ hidden)
        errors = _with_one(active) @ output - logarithms
        slope = 2 * errors / errors.size
        back = (slope @ output[:-1].T) * (1 - active**2)
        gradient = np.concatenate(
            [(inputs.T @ back).ravel(), (_with_one(active).T @ slope).ravel()]
        )
        penalty = decay * float(weights @ weights)
        return float((errors**2).mean()) + penalty, gradient + 2 * decay * weights

    start = np.concatenate([each.ravel() for each in first])
    weights = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return Network(
        mean, scale, weights[:border].reshape(shapes[0]), weights[border:].reshape(shapes[1])
    )
