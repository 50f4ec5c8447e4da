"""Finds pieces of sequences that are good one after the other, each on the best program so far."""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.workbench import fork_at
from compiler_gym.tuning.policies.policy import cost_after, level_costs, mutate
from compiler_gym.tuning.policy_training.laboratory import Laboratory, ProgramTask
from compiler_gym.tuning.policy_training.training import Passes

# A race begins on few programs. A sixth of the pieces goes on, with three times as many programs.
_FEW = 32
_MORE = 3
_SHARE = 6
_FINALISTS = 3
# Changed copies that are tried in a round.
_COPIES = 24

_INSTCOMBINE = "function(instcombine<no-verify-fixpoint>)"

CLEANING: tuple[Passes, ...] = (
    (),
    ("function(early-cse)", _INSTCOMBINE, "function(simplifycfg)"),
    ("function(gvn)", "function(dse)"),
    (
        "function(sroa)",
        "function(early-cse<memssa>)",
        _INSTCOMBINE,
        "function(simplifycfg<forward-switch-cond;switch-range-to-icmp;switch-to-lookup;"
        "no-keep-loops;hoist-common-insts;sink-common-insts;speculate-unpredictables;"
        "simplify-cond-branch;bonus-inst-threshold=1>)",
    ),
)
"""Sequences that remove what other passes leave behind. Many passes alone make nothing smaller."""


@dataclass(frozen=True)
class Extend(ProgramTask):
    """Tries pieces on what a program has become.

    Attributes:
        kept: The passes that have led there.
        pieces: The pieces.
        space: The action space of the passes; None for that of the environment.
    """

    kept: Passes
    pieces: tuple[Passes, ...]
    space: str | None = None

    def run_in(self, env: LlvmEnv) -> list[float]:
        """Returns the number of IR instructions after each piece; infinity if that failed."""
        with fork_at(env, action_space=self.space) as start:
            if self.kept:
                start.multistep([start.action_space[name] for name in self.kept])
            costs = [cost_after(start, piece) for piece in self.pieces]
        return [math.inf if cost is None else cost for cost in costs]


@dataclass(frozen=True)
class TryLevels(ProgramTask):
    """Tries the levels of the compiler, which come before all pieces."""

    def run_in(self, env: LlvmEnv) -> int:
        """Returns the number of IR instructions after the best of them."""
        return min(level_costs(env).values())


class Growth:
    """Adds one piece after the other.

    Args:
        laboratory: Compiles.
        names: The names of all passes.
        sources: Sequences from which pieces are cut.
        seed: Seeds what is random.
        space: The action space of the passes; None for the default.

    Attributes:
        pieces: The pieces so far.
        costs: int64 [programs], the numbers of IR instructions after them.
    """

    def __init__(
        self,
        laboratory: Laboratory,
        names: Sequence[str],
        sources: Sequence[Passes],
        seed: int,
        space: str | None = None,
    ):
        self._laboratory = laboratory
        self._names = names
        self._numbers = {name: number for number, name in enumerate(names)}
        self._sources = sources
        self._rng = random.Random(seed)
        self._space = space
        self._kept: list[Passes] = [() for _ in laboratory.programs]
        self.pieces: list[Passes] = []
        self.costs = laboratory.first_sizes.copy()

    @property
    def row(self) -> np.ndarray:
        """float64 [programs], the logarithms of the sizes divided by those with -Oz."""
        return np.log(self.costs / self._laboratory.sizes)

    def add(self, most_passes: int, candidates: int, rounds: int) -> float:
        """Adds the most useful piece that is found.

        Args:
            most_passes: The maximum number of passes of the piece.
            candidates: The number of pieces that are cut from the sources.
            rounds: How often changes of the best piece are tried.

        Returns:
            The mean reduction of the logarithms.
        """
        best = self._race(self._cut(most_passes, candidates))
        for _ in range(rounds):
            best = self._race([best, *self._copies(best, most_passes)])
        return self.append(self._without_useless_passes(best))

    def append(self, piece: Passes) -> float:
        """Adds a piece. Returns the mean reduction of the logarithms."""
        everyone = range(len(self._kept))
        before = self.row.mean()
        for number, (cost,) in zip(everyone, self._costs([piece], everyone), strict=True):
            if cost <= self.costs[number]:
                self._kept[number] += piece
                self.costs[number] = cost
        self.pieces.append(piece)
        return float(before - self.row.mean())

    def append_all(self, pieces: Iterable[Passes]) -> None:
        """Adds pieces in a new order: each next one is the most useful of those left.

        A piece is useful where it makes programs smaller than the levels do, as a share of -Oz. If
        none is, it is useful where it makes programs smaller than the pieces before.
        """
        laboratory, everyone = self._laboratory, range(len(self._kept))
        floors = [*laboratory.in_order(laboratory.job(TryLevels, number) for number in everyone)]
        least, sizes = np.array(floors)[:, np.newaxis], laboratory.sizes[:, np.newaxis]
        left = list(pieces)
        while left:
            costs = np.array([*self._costs(left, everyone)])
            costs = np.minimum(costs, self.costs[:, np.newaxis])
            tries = costs, np.minimum(costs, least)
            shares = [(each / sizes).mean(axis=0) for each in tries]
            self.append(left.pop(int(np.lexsort(shares)[0])))

    def _cut(self, most_passes: int, count: int) -> list[Passes]:
        found: dict[Passes, None] = {}
        for _ in range(4 * count):
            source = self._rng.choice(self._sources)
            length = self._rng.randint(max(1, most_passes // 3), most_passes)
            begin = self._rng.randrange(max(1, len(source) - length + 1))
            found[source[begin : begin + length]] = None
            if len(found) == count:
                break
        return list(found)

    def _copies(self, passes: Passes, most_passes: int) -> Iterator[Passes]:
        actions = [self._numbers[name] for name in passes]
        for _ in range(_COPIES):
            copy = mutate(actions, len(self._names), self._rng)
            if 0 < len(copy) <= most_passes:
                yield tuple(self._names[action] for action in copy)

    def _race(self, candidates: Sequence[Passes]) -> Passes:
        """Returns the best of candidates, on more programs the fewer are left."""
        left = list(dict.fromkeys(candidates))
        everyone = range(len(self._kept))
        count = _FEW
        while len(left) > 1 or count < len(everyone):
            is_last = count >= len(everyone)
            programs = everyone if is_last else self._rng.sample(everyone, count)
            order = np.argsort(-self._gains(left, programs), kind="stable")
            finalists = 1 if is_last else max(len(left) // _SHARE, _FINALISTS)
            left = [left[number] for number in order[:finalists]]
            count *= _MORE
        return left[0]

    def _without_useless_passes(self, passes: Passes) -> Passes:
        everyone = range(len(self._kept))
        (least,) = self._gains([passes], everyone)
        while len(passes) > 1:
            shorter = [passes[:number] + passes[number + 1 :] for number in range(len(passes))]
            gains = self._gains(shorter, everyone)
            if gains.max() < least:
                break
            passes = shorter[int(gains.argmax())]
        return passes

    def _gains(self, pieces: Sequence[Passes], programs: Iterable[int]) -> np.ndarray:
        """Returns float64 [pieces], the mean reductions of the logarithms."""
        numbers = list(programs)
        costs = np.array([*self._costs(pieces, numbers)])
        before = self.costs[numbers][:, np.newaxis]
        return np.log(before / np.minimum(before, costs)).mean(axis=0)

    def _costs(self, pieces: Sequence[Passes], programs: Iterable[int]) -> Iterator[list[float]]:
        return self._laboratory.in_order(
            self._laboratory.job(
                Extend,
                number,
                kept=self._kept[number],
                pieces=tuple(pieces),
                space=self._space,
            )
            for number in programs
        )
