"""The search for a sequence of actions, whose trials share the work for common beginnings."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import chain, takewhile
from typing import NamedTuple

from compiler_gym.cli.search_state import Game, Limit
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.workbench import closed_on_error, fork_at
from compiler_gym.errors import ServiceError
from compiler_gym.tuning.policies.pieces_env import pieces
from compiler_gym.tuning.policies.policy import (
    FIRST_SEQUENCE,
    Levels,
    Policy,
    mutate,
)
from compiler_gym.tuning.policies.shipped import SEARCH_PIECES

PASS_SPACE = "PassesWithParameters"
"""The action space of passes, with variants of them and with marks of all functions."""

# How often the better of the best passes and the best pipelines are changed.
_SHARE_OF_THE_BETTER = 0.7

# How often a piece of a learnt sequence is inserted.
_SHARE_OF_PIECES = 0.5

# A sequence that is only as good as the best one replaces it. The effects of its actions may cancel
# each other, and a try takes the longer. Sequences longer than these do not replace it.
_MOST_LEVELS, _MOST_PASSES = 48, 256

# Sequences whose result is known are no tries. So many are one, as a program may have few results.
_KNOWN_AS_A_TRY = 8

# After so many tries without a better sequence, the search goes on from another one: from learnt
# ones, or from the smallest one after so many mutations.
_STALE, _MUTATIONS = 80, 6
_SHARE_OF_LEARNT = 0.5
_PIECES_OF_A_START = 3

# A copy of the episode is kept after so many actions of the best sequence, after twice as many, and
# so on. Each has a copy of the program.
_STRIDE = 16


class Trial(NamedTuple):
    """The result of a sequence of actions.

    Attributes:
        actions: Those that have an effect. They have the same result.
        cost: None if the compiler failed.
        is_known: Whether they were tried before.
    """

    actions: list[int]
    cost: int | None
    is_known: bool


class Trials:
    """Tries sequences of actions of one action space on a program.

    Most sequences begin as the best one so far does. They cost only their other actions, since
    copies of its episode are kept.

    Args:
        env: An environment whose benchmark is the program. It is not changed.
        space: The name of the action space.
        cost: The name of the observation to reduce.

    Attributes:
        space: The action space.
        actions: The best sequence since :meth:`begin_again`, see :meth:`keep`.
        best: Its cost; None before the first.
        smallest: The best sequence of all.
        stale: The tries since ``best`` has fallen.
    """

    def __init__(self, env: LlvmEnv, space: str, cost: str):
        self.actions: list[int] = []
        self.best: int | None = None
        self.smallest: list[int] = []
        self.stale = 0
        self._least: int | None = None
        self._observation = cost
        self._kept: dict[tuple[int, ...], LlvmEnv] = {}
        self._costs: dict[tuple[int, ...], int | None] = {}
        self._root = fork_at(env, action_space=space)
        self._benchmark = env.benchmark
        self.space = self._root.action_space

    def close(self) -> None:
        """Ends all sessions."""
        self._drop(list(self._kept))
        self._root.close()

    def attempt(self, actions: Sequence[int]) -> Trial:
        """Compiles with a sequence. Looks at the cost unless the same effects were tried before."""
        try:
            trial = self._attempt(actions)
        except ServiceError:  # A sequence before has ended the process, and all copies with it.
            self._drop(list(self._kept))
            self._root.reset(benchmark=self._benchmark)
            trial = self._attempt(actions)
        self._costs[tuple(actions)] = self._costs[tuple(trial.actions)] = trial.cost
        return trial

    def keep(self, actions: Sequence[int], cost: int) -> None:
        """Makes a sequence the best one."""
        if self.best is None or cost < self.best:
            self.stale = 0
        self.actions, self.best = list(actions), cost
        if self._least is None or cost <= self._least:
            self.smallest, self._least = self.actions, cost
        kept = tuple(actions)
        self._drop([prefix for prefix in self._kept if kept[: len(prefix)] != prefix])

    def begin_again(self) -> None:
        """Lets the next sequence be the best one, whatever its cost."""
        self.best, self.stale = None, 0

    def _attempt(self, actions: Sequence[int]) -> Trial:
        changed = _common(self.actions, actions)
        start = changed // _STRIDE * _STRIDE
        # From here on, the sequence is again the best one.
        end = len(actions) - _common(self.actions[::-1], actions[changed:][::-1])
        effective = list(actions[:changed])
        with self._after(tuple(actions[:start])).fork() as env:
            env.multistep(actions[start:changed])
            for place, action in enumerate(actions[changed:], changed):
                if place == end and (known := self._known(effective + list(actions[end:]))):
                    return known
                _, _, done, info = env.step(action)
                if done:
                    return Trial(list(actions), None, False)
                if not info["action_had_no_effect"]:
                    effective.append(action)
            if known := self._known(effective):
                return known
            (cost,), _, done, _ = env.multistep([], observation_spaces=[self._observation])
            return Trial(effective, None if done else int(cost), False)

    def _known(self, actions: list[int]) -> Trial | None:
        key = tuple(actions)
        return Trial(actions, self._costs[key], True) if key in self._costs else None

    def _after(self, prefix: tuple[int, ...]) -> LlvmEnv:
        """Returns an episode after a beginning of the best sequence. No step is taken in it."""
        if not prefix:
            return self._root
        if prefix not in self._kept:
            env = self._after(prefix[:-_STRIDE]).fork()
            with closed_on_error(env):
                env.multistep(prefix[-_STRIDE:])
            self._kept[prefix] = env
        return self._kept[prefix]

    def _drop(self, prefixes: Sequence[tuple[int, ...]]) -> None:
        for prefix in prefixes:
            self._kept.pop(prefix).close()


class SequenceSearch:
    """The search for one program, with pipelines and with passes.

    Args:
        game: What is found out is written there at once.
        levels: The trials of pipelines.
        passes: The trials of passes.
        llvm_only: See :class:`.Budget`.

    Attributes:
        best: The trials with the best sequence.
    """

    def __init__(self, game: Game, levels: Trials, passes: Trials, llvm_only: bool):
        self._game = game
        self._levels, self._passes = levels, passes
        # The first candidates, which are tried whatever the budget.
        self._first = Levels.among(levels.space.names).all
        self._allowed = {levels: [*range(int(levels.space.n))]}
        self._allowed[passes] = [
            number
            for number, name in enumerate(passes.space.names)
            if not llvm_only or not passes.space.options[number] or name.startswith("mark-for-size")
        ]
        self._known = 0
        self._most = {levels: _MOST_LEVELS, passes: _MOST_PASSES}
        self.best = levels
        costs = game.costs[game.goal]
        costs["best"] = costs["O0"]
        for each in (levels, passes):
            each.keep([], costs["O0"])

    def run(self, stop: threading.Event, limit: Limit, rng: random.Random) -> None:
        """Searches until the limit, or until it is stopped."""
        began = time.monotonic()
        # The first candidates are the floor, which a short time does not lower.
        first = self._first
        if self._game.goal == "bytes":  # The baseline of which is clang's level.
            first = (*first, ("clang<Oz>",))
        for level in first:
            if stop.is_set():
                return
            self._try(self._levels, [self._levels.space[name] for name in level], began)
        for trials, actions in self.candidates(rng):
            if stop.is_set() or limit.is_over(self._game.tries):
                return
            self._try(trials, actions, began)

    def candidates(self, rng: random.Random) -> Iterator[tuple[Trials, list[int]]]:
        """Yields sequences, each after the one before has been tried."""
        passes = self._passes
        learnt = [self._numbers(piece) for piece in Policy.load(SEARCH_PIECES).sequences]
        for piece in learnt:
            yield passes, [*passes.actions, *piece]
        mark = passes.space[self._first[0][0]]
        yield passes, [mark, *passes.actions]
        yield passes, self._numbers(FIRST_SEQUENCE)
        coreset = [self._numbers(sequence) for sequence in Policy.load("coreset").sequences]
        for sequence in coreset:
            yield passes, sequence
        chunks = [*map(self._numbers, pieces()), *learnt]
        while True:
            worse = passes if self.best is self._levels else self._levels
            trials = self.best if rng.random() < _SHARE_OF_THE_BETTER else worse
            if trials.stale >= _STALE:
                trials.begin_again()
                if trials is passes and rng.random() < _SHARE_OF_LEARNT:
                    some = rng.sample(chunks, _PIECES_OF_A_START)
                    yield passes, [*chain.from_iterable(some), *rng.choice(coreset)]
                else:
                    yield trials, self._far_from_smallest(trials, rng)
            elif trials is passes and rng.random() < _SHARE_OF_PIECES:
                place = rng.randint(0, len(passes.actions))
                chunk = rng.choice(chunks)
                yield passes, [*passes.actions[:place], *chunk, *passes.actions[place:]]
            else:
                yield trials, self._mutated(trials, trials.actions, rng)

    def _far_from_smallest(self, trials: Trials, rng: random.Random) -> list[int]:
        actions = trials.smallest
        for _ in range(_MUTATIONS):
            actions = self._mutated(trials, actions, rng)
        return actions

    def _numbers(self, names: Sequence[str]) -> list[int]:
        """Returns the numbers of passes, without those that are not allowed or not in this LLVM."""
        space = self._passes.space
        numbers = (space[name] for name in names if name in space.names)
        return [number for number in numbers if number in self._allowed[self._passes]]

    def _mutated(self, trials: Trials, actions: Sequence[int], rng: random.Random) -> list[int]:
        allowed = self._allowed[trials]
        places = [allowed.index(action) for action in actions]
        return [allowed[place] for place in mutate(places, len(allowed), rng)]

    def _try(self, trials: Trials, actions: list[int], began: float) -> None:
        """Evaluates a sequence, unless its result is known, and keeps it if it is good enough."""
        game = self._game
        actions, cost, is_known = trials.attempt(actions)
        self._known += is_known
        if is_known and self._known % _KNOWN_AS_A_TRY:
            return
        seconds = game.count_try(began)
        trials.stale += 1
        if cost is None or not self._is_kept(trials, actions, cost):
            return
        trials.keep(actions, cost)
        costs = game.costs[game.goal]
        if cost < costs["best"]:
            game.curve.append((game.tries, seconds, cost))
        if cost < costs["best"] or (trials is self.best and cost == costs["best"]):
            self.best, costs["best"], game.actions = trials, cost, actions
            game.commandline = trials.space.to_string(actions)

    def _is_kept(self, trials: Trials, actions: Sequence[int], cost: int) -> bool:
        if trials.best is None:  # The first after a new beginning.
            return True
        longest = max(len(trials.actions), self._most[trials])
        return cost < trials.best or (cost == trials.best and len(actions) <= longest)


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Returns how many actions at the beginning are the same."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
