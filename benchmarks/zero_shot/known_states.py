"""Pieces of sequences as actions on many programs at once. No piece is compiled twice."""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.zero_shot.state_features import KINDS, Features
from benchmarks.zero_shot.task import PASSES
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.tuning.policies.pieces_env import pieces
from compiler_gym.tuning.policies.policy import COST, Policy

PIECES = tuple(dict.fromkeys([*Policy.load("pieces").sequences, *pieces()]))
"""The pieces of the shipped policy ``pieces``, and then those of ``llvm-pieces-ic-v0``."""

LENGTHS = np.array([len(each) for each in PIECES])
"""The number of passes of each piece."""

_SPACES = (COST, "Autophase", "IrSha1")
_TOTAL = AUTOPHASE_FEATURE_NAMES.index("TotalInsts")
_UNKNOWN = -1
# The copies of programs that are kept in the compiler service.
_SESSIONS = 400
_FIRST_ROWS = 1024
_SHIPPED = len(Policy.load("pieces").sequences)
_USUAL, _IMPOSSIBLE = 5, -1e9
# More changes ago than this counts as never.
_LONG_AGO = 12


def shares_of(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns Autophase [programs, features] as shares of instructions, and these [programs, 1]."""
    total = np.maximum(features[:, _TOTAL, None], 1)
    return features / total, total


class KnownStates:
    """The programs that pieces make of other programs, and how to get there.

    A piece that makes a program larger, or fails, is undone. A program is identified by the hash of
    its IR, so the environment must be made with ``analyses="fresh"``.

    Args:
        env: The environment.
        path: A file of states to begin with, if it exists. :meth:`save` writes it.
        seen: The features that a network sees.

    Attributes:
        costs: int32 [states], IR instructions.
        features: int32 [states, features], Autophase.
        compiled: The number of passes that were run since the object was made.
    """

    def __init__(self, env: LlvmEnv, path: Path, seen: Features = Features.AUTOPHASE):
        self.compiled = 0
        self._env = env
        self._path = path
        self._seen = seen
        # float32 [states, n] by kind of features. Those that were not observed yet are NaN.
        self._vectors: dict[str, np.ndarray] = {}
        self._sessions: OrderedDict[int, LlvmEnv] = OrderedDict()
        self._actions = [[env.action_space[name] for name in piece] for piece in PIECES]
        self._programs: list[str] = []
        self._count = 0
        self.costs = np.zeros(_FIRST_ROWS, np.int32)
        self.features = np.zeros((_FIRST_ROWS, len(AUTOPHASE_FEATURE_NAMES)), np.int32)
        self._next = np.full((_FIRST_ROWS, len(PIECES)), _UNKNOWN, np.int32)
        self._growth = np.zeros((_FIRST_ROWS, len(PIECES)), np.float16)
        # The number of the program, and the state and the piece that lead to a state.
        self._origins = np.zeros((_FIRST_ROWS, 3), np.int32)
        self._hashes = np.zeros(_FIRST_ROWS, "S40")
        if path.exists():
            with np.load(path) as saved:
                self._programs = saved["programs"].tolist()
                self._count = len(saved["costs"])
                for name in _ARRAYS:
                    setattr(self, name, saved[name.strip("_")])
                self._vectors = {
                    each.value: saved[each.value] for each in KINDS if each.value in saved
                }
        self._numbers = {
            (int(self._origins[state, 0]), self._hashes[state]): state
            for state in range(self._count)
        }
        self._roots = {
            self._programs[program]: state
            for state, (program, before, _) in enumerate(self._origins[: self._count])
            if before == _UNKNOWN
        }

    def save(self) -> None:
        """Writes all states to the file."""
        arrays = {name.strip("_"): getattr(self, name) for name in _ARRAYS} | self._vectors
        arrays = {name: each[: self._count] for name, each in arrays.items()}
        fresh = self._path.with_suffix(".new.npz")
        np.savez(fresh, programs=np.array(self._programs), **arrays)
        fresh.replace(self._path)

    def close(self) -> None:
        """Ends all copies of programs."""
        while self._sessions:
            self._sessions.popitem()[1].close()

    def root(self, benchmark: str) -> int:
        """Returns the state of a program before any pass."""
        if benchmark not in self._roots:
            self._env.reset(benchmark=benchmark)
            seen = self._env.observation.observe(_SPACES)
            self._programs.append(benchmark)
            origin = len(self._programs) - 1, _UNKNOWN, _UNKNOWN
            self._roots[benchmark] = self._number(origin, *seen)
        return self._roots[benchmark]

    def path(self, state: int) -> list[int]:
        """Returns the pieces that lead to a state."""
        path: list[int] = []
        while (origin := self._origins[state])[1] != _UNKNOWN:
            state = int(origin[1])
            path.append(int(origin[2]))
        return path[::-1]

    def smallest(self, programs: Sequence[str]) -> list[int]:
        """Returns the known state of each program that has the fewest instructions."""
        owners, costs = self._origins[: self._count, 0], self.costs[: self._count]
        found = []
        for uri in programs:
            states = np.flatnonzero(owners == self._origins[self.root(uri), 0])
            found.append(int(states[np.argmin(costs[states])]))
        return found

    def described(self, states: np.ndarray) -> np.ndarray:
        """Returns float32 [states, n], the features that a network sees."""
        if self._seen == Features.AUTOPHASE:
            features = np.maximum(self.features[states], 0).astype(np.float32)
            return np.concatenate([np.log1p(features) / 10, shares_of(features)[0]], axis=1)
        vectors = self._vectors.get(self._seen.value)
        if vectors is None:
            vectors = np.empty((0, len(self._vector(int(states[0])))), np.float32)
        if len(vectors) < self._count:
            more = np.full((len(self.costs) - len(vectors), vectors.shape[1]), np.nan, np.float32)
            vectors = self._vectors[self._seen.value] = np.concatenate([vectors, more])
        for state in np.unique(states[np.isnan(vectors[states, 0])]).tolist():
            vectors[state] = self._vector(state)
        return vectors[states]

    def _vector(self, state: int) -> np.ndarray:
        kind = KINDS[self._seen]
        return kind.vector(self._session(state).observation[kind.space], int(self.costs[state]))

    def follow(self, states: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Plays a piece in each state.

        Returns:
            The states after it, and the growth: the logarithm of the instructions after the piece,
            divided by those before.
        """
        for state, piece in zip(states.tolist(), chosen.tolist(), strict=True):
            if self._next[state, piece] == _UNKNOWN:
                self._compile(state, piece)
        return self._next[states, chosen], self._growth[states, chosen].astype(np.float32)

    def _compile(self, state: int, piece: int) -> None:
        """Plays a piece for the first time."""
        program, before, _ = self._origins[state].tolist()
        cost = int(self.costs[state])
        # A copy takes longer than a piece, so it is only made in states that are seen again.
        is_seen_again = before == _UNKNOWN or (self._next[state] != _UNKNOWN).any()
        env = self._session(state)
        env = env.fork() if is_seen_again else self._sessions.pop(state)
        self.compiled += len(PIECES[piece])
        seen, _, has_failed, _ = env.multistep(self._actions[piece], observation_spaces=_SPACES)
        growth = 1.0 if has_failed else float(np.log(max(seen[0], 1) / max(cost, 1)))
        target = state if growth > 0 else self._number((program, state, piece), *seen)
        if target in self._sessions or growth > 0:
            env.close()
        else:
            self._keep(target, env)
        self._next[state, piece], self._growth[state, piece] = target, growth

    def _session(self, state: int) -> LlvmEnv:
        """Returns a copy of the program in a state."""
        if state in self._sessions:
            self._sessions.move_to_end(state)
            return self._sessions[state]
        program, before, piece = self._origins[state].tolist()
        if before == _UNKNOWN:
            self._env.reset(benchmark=self._programs[program])
            env = self._env.fork()
        else:
            env = self._session(before).fork()
            env.multistep(self._actions[piece])
        self._keep(state, env)
        return env

    def _keep(self, state: int, env: LlvmEnv) -> None:
        self._sessions[state] = env
        if len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)[1].close()

    def _number(
        self, origin: tuple[int, int, int], cost: float, features: np.ndarray, ir_sha1: str
    ) -> int:
        """Returns the number of a state, which may be new."""
        key = origin[0], np.bytes_(ir_sha1)
        if key not in self._numbers:
            if self._count == len(self.costs):
                for name in _ARRAYS:
                    old = getattr(self, name)
                    empty = _UNKNOWN if name == "_next" else np.zeros((), old.dtype)
                    more = np.full(old.shape, empty, old.dtype)
                    setattr(self, name, np.concatenate([old, more]))
            number = self._numbers[key] = self._count
            self._count += 1
            self.costs[number], self.features[number] = cost, features
            self._origins[number], self._hashes[number] = origin, key[1]
        return self._numbers[key]


_ARRAYS = ("costs", "features", "_next", "_growth", "_origins", "_hashes")


class Episodes:
    """An episode of each program, all at once.

    Args:
        known: Plays the pieces.
        programs: The programs. They may repeat.
        passes: The maximum number of passes of an episode.

    Attributes:
        states: int [episodes], the current states.
        passes_run: int [episodes], the passes run so far.
    """

    def __init__(self, known: KnownStates, programs: Sequence[str], passes: int = PASSES):
        self.states = np.array([known.root(uri) for uri in programs])
        self.passes_run = np.zeros(len(programs), int)
        self._known = known
        self._passes = passes
        self._first = np.maximum(known.costs[self.states], 1)
        shape = len(programs), len(PIECES)
        self._changes = np.zeros(len(programs), int)
        self._tried = np.full(shape, -_LONG_AGO)
        self._growth = np.zeros(shape, np.float32)

    @property
    def costs(self) -> np.ndarray:
        """int32 [episodes], the instructions."""
        return self._known.costs[self.states]

    @property
    def allowed(self) -> np.ndarray:
        """bool [episodes, pieces]: pieces that fit, and were not tried since the last change."""
        fits = self._passes - self.passes_run[:, None] >= LENGTHS
        return fits & (self._tried != self._changes[:, None])

    @property
    def offsets(self) -> np.ndarray:
        """float32 [episodes, pieces], what is added to the logits of a network.

        The next piece in the order of the shipped policy ``pieces`` is likely from the beginning.
        Pieces that are not allowed are impossible.
        """
        allowed = self.allowed
        is_next = allowed & (self._tried == -_LONG_AGO)
        is_next[:, _SHIPPED:] = False
        is_next &= np.cumsum(is_next, axis=1) == 1
        return np.where(allowed, _USUAL * is_next, _IMPOSSIBLE).astype(np.float32)

    @property
    def inputs(self) -> np.ndarray:
        """float32 [episodes, inputs], all that a network sees."""
        cost = np.maximum(self.costs, 1)
        sizes = [
            np.log(cost) / 10,
            np.log(cost / self._first),
            self._changes / _LONG_AGO,
            1 - self.passes_run / self._passes,
        ]
        parts = [
            self._known.described(self.states),
            np.minimum(self._changes[:, None] - self._tried, _LONG_AGO) / _LONG_AGO,
            np.clip(self._growth * 10, -1, 1),
            np.stack(sizes, axis=1),
        ]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def play(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        """Plays a piece in some of the episodes.

        Args:
            rows: int [rows], the episodes.
            chosen: int [rows], the pieces.
        """
        before = self.states[rows]
        self.states[rows], growth = self._known.follow(before, chosen)
        self.passes_run[rows] += LENGTHS[chosen]
        self._changes[rows] += self.states[rows] != before
        self._tried[rows, chosen] = self._changes[rows]
        self._growth[rows, chosen] = growth
