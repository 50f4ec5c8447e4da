"""The skip-gram model with negative sampling, trained on counts of neighbours.

Mikolov et al., "Distributed Representations of Words and Phrases and their Compositionality",
NIPS 2013. Programs repeat few statements very often. So all pairs fit into one matrix of counts,
and each step computes the expectation over all pairs and all negative samples. Nothing is drawn at
random but the first embeddings.
"""

from collections.abc import Callable, Iterable

import numpy as np
from scipy import sparse
from scipy.special import expit

from compiler_gym.tuning.vocabulary_training.corpus import Sample

_NEGATIVE = 15
# word2vec's exponent of the distribution of negative samples.
_SMOOTHING = 0.75
_RATE = 0.05
_FIRST_DECAY, _SECOND_DECAY = 0.9, 0.999
_ROWS = 1024


def neighbours(samples: Iterable[Sample], numbers: np.ndarray, size: int) -> sparse.csr_array:
    """Counts the neighbours of each statement in the flows of control and data.

    Neighbours are at a distance of one or two flows, in either direction. The second ones count
    as a walk that goes on at random, so an instruction with many neighbours does not dominate.

    Args:
        samples: Programs.
        numbers: int64[statements of the corpus], the index of each in the vocabulary.
        size: The number of entries of the vocabulary.

    Returns:
        float64[size, size], symmetric.
    """
    total = sparse.csr_array((size, size), dtype=np.float64)
    for sample in samples:
        count = len(sample.statements)
        entries = (np.ones(count), (np.arange(count), numbers[sample.statements]))
        holds = sparse.csr_array(entries, shape=(count, size))
        sources, targets = sample.flows
        ones = np.ones(len(sources))
        flows = sparse.csr_array((ones, (sources, targets)), shape=(count, count))
        first = (flows + flows.T) @ holds
        degrees = np.maximum(first.sum(axis=1), 1)
        second = first.T @ sparse.diags_array(1 / degrees) @ first
        # A walk may return to its beginning.
        returns = (flows + flows.T).multiply(flows + flows.T) @ (1 / degrees)
        total += holds.T @ first + second - holds.T @ sparse.diags_array(returns) @ holds
    total.data = np.maximum(total.data, 0)
    total.eliminate_zeros()
    return sparse.csr_array(total)


def train(
    counts: sparse.csr_array,
    dimension: int,
    steps: int,
    seed: int,
    watch: Callable[[int], None] = lambda step: None,
) -> np.ndarray:
    """Trains embeddings.

    Args:
        counts: float64[n, n], the neighbours of each entry of the vocabulary.
        dimension: The length of the embeddings.
        steps: The number of steps of the optimiser.
        seed: Seeds the first embeddings.
        watch: Called with the number of each step.

    Returns:
        float32[n, dimension].
    """
    size = counts.shape[0]
    pairs = (counts / counts.sum()).astype(np.float32)
    noise = np.asarray(pairs.sum(axis=0)).ravel() ** _SMOOTHING
    noise /= noise.sum()
    rng = np.random.default_rng(seed)
    scale = 0.5 / dimension**0.5
    weights = rng.uniform(-scale, scale, (2, size, dimension)).astype(np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        watch(step)
        slope = _slope(weights, pairs, noise)
        first += (1 - _FIRST_DECAY) * (slope - first)
        second += (1 - _SECOND_DECAY) * (slope**2 - second)
        corrected = np.sqrt(second / (1 - _SECOND_DECAY**step)) + 1e-12
        rate = _RATE * (1 - (step - 1) / steps) / (1 - _FIRST_DECAY**step)
        weights -= rate * first / corrected
    return weights[0]


def _slope(weights: np.ndarray, pairs: sparse.csr_array, noise: np.ndarray) -> np.ndarray:
    """Returns the gradient of the loss, computed for some rows at a time to save memory."""
    embeddings, contexts = weights
    slope = np.zeros_like(weights)
    totals = np.asarray(pairs.sum(axis=1)).ravel()
    for begin in range(0, len(embeddings), _ROWS):
        rows = slice(begin, begin + _ROWS)
        # The model's probability of each pair to be a real one.
        chance = expit(embeddings[rows] @ contexts.T)
        real = pairs[rows].tocoo()
        error = chance * (_NEGATIVE * totals[rows, None] * noise)
        error[real.coords] -= real.data * (1 - chance[real.coords])
        slope[0, rows] = error @ contexts
        slope[1] += error.T @ embeddings[rows]
    return slope
