"""A small network that looks at a program, and says which sequence of passes to run on it.

It has one hidden layer. What it predicts of each sequence is the logarithm of the IR instructions
that the sequence leaves, less the mean of that over all sequences.
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
        units = np.tanh(normalised(features, self.mean, self.scale) @ self.hidden)
        return with_one(units) @ self.output


def normalised(features: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Returns what the hidden layer is given: float64 [..., features + 1]."""
    # Nothing of a program that is unlike all others is worth more than five deviations.
    return with_one(np.clip((features - mean) / scale, -5, 5))


def with_one(values: np.ndarray) -> np.ndarray:
    """Returns float64 [..., n + 1] for float64 [..., n]: ones, for the weights that are added."""
    return np.concatenate([values, np.ones((*values.shape[:-1], 1))], axis=-1)
