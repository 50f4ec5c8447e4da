"""Lists of pieces that are played on all programs: a portfolio, and nearest neighbours."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.zero_shot.known_states import LENGTHS, PIECES, Episodes, KnownStates, shares_of
from benchmarks.zero_shot.task import PASSES
from compiler_gym.tuning.policies.pieces_env import cut
from compiler_gym.tuning.policies.policy import Policy

PieceList = tuple[int, ...]
"""The numbers of pieces."""


def shipped_list() -> PieceList:
    """Returns the shipped policy ``pieces45``."""
    return tuple(PIECES.index(piece) for piece in Policy.load("pieces45").sequences)


def coreset_lists() -> list[PieceList]:
    """Returns the sequences of the shipped coreset, cut into pieces."""
    return [tuple(map(PIECES.index, cut(each))) for each in Policy.load("coreset").sequences]


def best_lists(known: KnownStates, programs: Sequence[str]) -> list[PieceList]:
    """Returns the pieces that lead to the smallest known state of each program."""
    found = []
    for state in known.smallest(programs):
        path = known.path(state)
        within = np.cumsum(LENGTHS[path]) <= PASSES if path else ()
        found.append(tuple(piece for piece, fits in zip(path, within, strict=True) if fits))
    return [*dict.fromkeys(each for each in found if each)]


def costs_of_lists(
    known: KnownStates, programs: Sequence[str], lists: Sequence[PieceList]
) -> np.ndarray:
    """Returns int [lists, programs], the instructions after each list, whose pieces are undone."""
    costs = []
    rows = np.arange(len(programs))
    for pieces in lists:
        episodes = Episodes(known, programs)
        for piece in pieces:
            episodes.play(rows, np.full(len(rows), piece))
        costs.append(episodes.costs)
    return np.array(costs)


class Portfolio(NamedTuple):
    """Lists that were tried on training programs.

    Attributes:
        lists: The lists.
        logarithms: float [lists, programs], of the instructions after each list.
        features: float [programs, features], of the training programs.
    """

    lists: list[PieceList]
    logarithms: np.ndarray
    features: np.ndarray

    @classmethod
    def of(
        cls, known: KnownStates, programs: Sequence[str], lists: Sequence[PieceList]
    ) -> "Portfolio":
        """Tries lists on training programs."""
        logarithms = np.log(np.maximum(costs_of_lists(known, programs, lists), 1))
        return cls([*lists], logarithms, features_of(known, programs))

    def chosen(self, count: int) -> list[int]:
        """Returns the numbers of lists, each chosen for its gain beside those before."""
        least = np.full(self.logarithms.shape[1], np.inf)
        order: list[int] = []
        while len(order) < min(count, len(self.lists)):
            means = np.minimum(self.logarithms, least).mean(axis=1)
            means[order] = np.inf
            order.append(int(np.argmin(means)))
            least = np.minimum(least, self.logarithms[order[-1]])
        return order

    def nearest(self, features: np.ndarray, count: int) -> list[int]:
        """Returns the best lists of the nearest training programs, the nearest first.

        Args:
            features: float [features], of another program.
            count: The number of different lists.
        """
        scale = self.features.std(axis=0) + 1e-6
        distances = np.linalg.norm((self.features - features) / scale, axis=1)
        best = self.logarithms.argmin(axis=0)[np.argsort(distances, kind="stable")].tolist()
        return [*dict.fromkeys([*best, *self.chosen(len(self.lists))])][:count]


def features_of(known: KnownStates, programs: Sequence[str]) -> np.ndarray:
    """Returns float [programs, features], shares of Autophase and the logarithm of the size."""
    features = known.features[[known.root(uri) for uri in programs]].astype(float)
    shares, total = shares_of(features)
    return np.concatenate([shares, np.log(total)], axis=1)
