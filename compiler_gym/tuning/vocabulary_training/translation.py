"""The model TransE, which trains the seed vectors of IR2Vec.

Bordes et al., "Translating Embeddings for Modeling Multi-relational Data", NIPS 2013. IR2Vec
(VenkataKeerthy et al., ACM TACO 2020) uses it for triplets of an opcode, a relation, and a type,
the next opcode or the kind of an argument. There are few entities. So each step compares each
triplet with all wrong ones, and nothing is drawn at random but the first vectors.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from compiler_gym.tuning.vocabulary_training.corpus import Triplet

_MARGIN = 1.0
_RATE = 0.02
_FIRST_DECAY, _SECOND_DECAY = 0.9, 0.999


@dataclass(frozen=True, eq=False)
class Translations:
    """A trained model.

    Attributes:
        entities: float64[entities, d], of length one; zeros for those in no triplet.
        relations: float64[relations, d].
    """

    entities: np.ndarray
    relations: np.ndarray

    def ranks(self, asked: Collection[Triplet], known: Collection[Triplet]) -> np.ndarray:
        """Returns the rank of each tail among the entities that make no known triplet.

        Args:
            asked: The triplets with these tails.
            known: All known triplets, those included.

        Returns:
            int64[asked]. The best rank is 1.
        """
        heads, tails, relations = np.array(sorted(asked), dtype=np.intp).reshape(-1, 3).T
        distances = _distances(self.entities[heads] + self.relations[relations], self.entities)
        right = distances[np.arange(len(tails)), tails]
        is_wrong = ~_known(known, len(self.entities), len(self.relations))[heads, relations]
        is_wrong &= self.entities.any(axis=1)
        ranks: np.ndarray = 1 + (is_wrong & (distances < right[:, None])).sum(axis=1)
        return ranks


def train(
    triplets: Collection[Triplet], entities: int, dimension: int, steps: int, seed: int
) -> Translations:
    """Trains vectors.

    Args:
        triplets: Different triplets.
        entities: The number of entities.
        dimension: The length of the vectors.
        steps: The number of steps of the optimiser.
        seed: Seeds the first vectors.
    """
    heads, tails, relations = np.array(sorted(triplets)).T
    rng = np.random.default_rng(seed)
    kinds = int(relations.max()) + 1
    vectors = rng.uniform(-1, 1, (entities + kinds, dimension)) * 6 / dimension**0.5
    vectors[:entities] = _unit(vectors[:entities])
    known = _known(triplets, entities, kinds)
    wrong_tails = ~known[heads, relations]
    wrong_heads = ~known.transpose(2, 1, 0)[tails, relations]
    first, second = np.zeros_like(vectors), np.zeros_like(vectors)
    for step in range(1, steps + 1):
        slope = np.zeros_like(vectors)
        moves = entities + relations
        _add_slope(slope, vectors, (heads, moves, 1), tails, wrong_tails)
        _add_slope(slope, vectors, (tails, moves, -1), heads, wrong_heads)
        first += (1 - _FIRST_DECAY) * (slope - first)
        second += (1 - _SECOND_DECAY) * (slope**2 - second)
        corrected = np.sqrt(second / (1 - _SECOND_DECAY**step)) + 1e-12
        rate = _RATE * (1 - (step - 1) / steps) / (1 - _FIRST_DECAY**step)
        vectors -= rate * first / corrected
        vectors[:entities] = _unit(vectors[:entities])
    vectors[np.setdiff1d(np.arange(entities), [heads, tails])] = 0
    return Translations(vectors[:entities], vectors[entities:])


def _add_slope(
    slope: np.ndarray,
    vectors: np.ndarray,
    moved: tuple[np.ndarray, np.ndarray, int],
    right: np.ndarray,
    is_wrong: np.ndarray,
) -> None:
    """Adds the gradient of the margins between right and wrong ends of triplets.

    Args:
        slope: float64[n, d], to add to.
        vectors: float64[n, d], those of entities and then of relations.
        moved: The known ends, the relations, and the sign by which these are added.
        right: The right other ends.
        is_wrong: bool[triplets, entities].
    """
    known, moves, sign = moved
    entities = vectors[: is_wrong.shape[1]]
    targets = vectors[known] + sign * vectors[moves]
    distances = _distances(targets, entities)
    rows = np.arange(len(right))
    is_near = is_wrong & (distances < _MARGIN + distances[rows, right][:, None])
    # The derivatives of the loss by the squared distances.
    weights = -is_near.astype(np.float64)
    weights[rows, right] = is_near.sum(axis=1)
    weights /= is_wrong.size
    slope[: len(entities)] += 2 * (entities * weights.sum(axis=0)[:, None] - weights.T @ targets)
    pull = -2 * weights @ entities  # The weights of a row add up to zero.
    np.add.at(slope, known, pull)
    np.add.at(slope, moves, sign * pull)


def _distances(targets: np.ndarray, entities: np.ndarray) -> np.ndarray:
    """Returns squared distances: float64[targets, entities]."""
    lengths = (targets**2).sum(axis=1)[:, None] + (entities**2).sum(axis=1)
    distances: np.ndarray = lengths - 2 * targets @ entities.T
    return distances


def _known(triplets: Collection[Triplet], entities: int, relations: int) -> np.ndarray:
    """Returns the tails in known triplets: bool[entities, relations, entities]."""
    table = np.zeros((entities, relations, entities), dtype=bool)
    heads, tails, kinds = np.array(sorted(triplets)).T
    table[heads, kinds, tails] = True
    return table


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
