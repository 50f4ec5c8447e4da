"""A cache of transitions between states of programs, and of the observations in each state.

A learner often takes the same actions on the same program again, and the compiler would give the
same replies. A state is identified by all actions since the program was loaded, so it includes
everything that a compiler keeps between two actions. See
:class:`CachedSession` for how it is used.
"""

import itertools
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler_gym.errors import ServiceError
from compiler_gym.service.proto import Event, ObservationSpace, StartSessionReply, StepReply
from compiler_gym.service.session.session import Session

DEFAULT_BYTES = 256 << 20
"""What a cache may take by default."""

RequestKey = tuple[bytes, ...]
"""The actions of a request."""

# Approximate memory of a state and its transition, without observations.
_STATE_BYTES = 1200

# Each snapshot is a process.
_MAX_SNAPSHOTS = 8

# The share of a full cache that is kept.
_KEPT_SHARE = 0.7

# The time to copy a process, until it has been measured.
_FORK_SECONDS = 1e-3

# The number of measurements to average over.
_AVERAGED = 8


class State:
    """A state of a program.

    Attributes:
        outcomes: The outcomes of requests in this state.
        observations: The known observations, by the number of the observation space.
        snapshot: An unused session in this state, for copies.
        departures: The number of cache misses in this state.
        last_episode: The number of the last episode that visited the state.
    """

    __slots__ = ("departures", "last_episode", "observations", "outcomes", "snapshot")

    def __init__(self, episode: int):
        self.outcomes: dict[RequestKey, Outcome] = {}
        self.observations: dict[int, Event] = {}
        self.snapshot: Session | None = None
        self.departures = 0
        self.last_episode = episode


@dataclass(slots=True)
class Outcome:
    """The outcome of a request.

    Attributes:
        target: The next state.
        reply: The reply of the service.
        indices: The numbers of the observation spaces in the reply. None if some of them are not
            deterministic.
        seconds: How long it took.
        size: The approximate memory use in bytes.
    """

    target: State
    reply: StepReply
    indices: Sequence[int] | None
    seconds: float
    size: int

    def reply_with(self, indices: Sequence[int]) -> StepReply | None:
        """Returns the reply to the request with these observations; None if they are not known."""
        if indices == self.indices:
            return self.reply
        known = self.target.observations
        try:
            observations = [known[index] for index in indices]
        except KeyError:
            return None
        reply = StepReply()
        reply.CopyFrom(self.reply)
        del reply.observation[:]
        reply.observation.extend(observations)
        return reply


@dataclass
class TransitionStats:
    """Statistics of a cache: hits and misses.

    Attributes:
        hits: Requests that were answered without the service.
        misses: Requests that the service had to answer.
        saved_seconds: The original time of the requests that were hits.
        repeated_seconds: The time spent on repeating known requests to catch up before a miss.
        states: The number of states.
        size: Their approximate memory use in bytes.
        snapshots: The number of sessions that are kept for copies.
    """

    hits: int = 0
    misses: int = 0
    saved_seconds: float = 0
    repeated_seconds: float = 0
    states: int = 0
    size: int = 0
    snapshots: int = 0


class TransitionCache:
    """The known states of a service's programs. It is thread-safe.

    The root of each tree of states is a newly loaded program. A session that begins there counts as
    an episode. A full cache evicts the states that were least recently visited by an episode, and
    never a state before its successors.

    Args:
        observation_spaces: The observation spaces of the service.
        max_bytes: The approximate memory limit in bytes.

    Attributes:
        stats: Statistics of hits and misses.
        max_bytes: The approximate memory limit in bytes.
        fork_seconds: The average time to copy a session.
    """

    def __init__(self, observation_spaces: Sequence[ObservationSpace], max_bytes: int):
        self.stats = TransitionStats()
        self.max_bytes = max_bytes
        self.fork_seconds = _FORK_SECONDS
        self._varying = frozenset(
            index for index, space in enumerate(observation_spaces) if not space.deterministic
        )
        # A state that is identified by an observation does not tell its history.
        self._varying_with_actions = self._varying.union(
            index for index, space in enumerate(observation_spaces) if space.of_last_action
        )
        self._identified: dict[Hashable, State] = {}
        self._roots: dict[Hashable, tuple[State, StartSessionReply]] = {}
        self._snapshots: OrderedDict[int, State] = OrderedDict()
        self._episodes = itertools.count(1)
        self._lock = threading.RLock()

    def next_episode(self) -> int:
        """Returns the number of a new episode."""
        return next(self._episodes)

    def root(self, key: Hashable) -> tuple[State, StartSessionReply] | None:
        """Returns the state of a newly loaded program, and the reply to its start.

        Args:
            key: The program, and everything else that initial states depend on.
        """
        return self._roots.get(key)

    def add_root(self, key: Hashable, episode: int, reply: StartSessionReply) -> State:
        """Adds the state of a newly loaded program."""
        with self._lock:
            if key not in self._roots:
                self._roots[key] = State(episode), reply
                self.stats.states += 1
                self.stats.size += _STATE_BYTES
            return self._roots[key][0]

    def add(
        self,
        state: State,
        key: RequestKey,
        indices: Sequence[int],
        reply: StepReply,
        seconds: float,
        episode: int,
        identity: Hashable = None,
    ) -> State:
        """Adds the outcome of a request.

        Args:
            state: The state of the request.
            key: Its actions.
            indices: The numbers of the observation spaces that it asked for.
            reply: The reply of the service.
            seconds: How long it took.
            episode: The number of the episode.
            identity: The identity of the next state. None if its history identifies it.

        Returns:
            The state that it led to.
        """
        with self._lock:
            former = state.outcomes.get(key)
            is_new = False
            if former is not None:
                target = former.target
            elif not key or (identity is not None and reply.action_had_no_effect):
                target = state
            else:
                target = new = State(episode)
                if identity is not None:
                    target = self._identified.setdefault(identity, new)
                is_new = target is new
            is_fixed = self._varying.isdisjoint(indices)
            varying = self._varying if identity is None else self._varying_with_actions
            for index, event in zip(indices, reply.observation, strict=True):
                if index not in varying:
                    target.observations[index] = event
            size = reply.ByteSize() + (_STATE_BYTES if former is None else 0)
            state.outcomes[key] = Outcome(
                target,
                reply,
                tuple(indices) if is_fixed else None,
                seconds,
                size + (former.size if former is not None else 0),
            )
            self.stats.size += size
            self.stats.states += is_new
            self.stats.misses += 1
            if self.stats.size > self.max_bytes:
                self._forget()
            return target

    def note_hit(self, outcome: Outcome, episode: int) -> None:
        """Records a cache hit."""
        outcome.target.last_episode = episode
        self.stats.hits += 1
        self.stats.saved_seconds += outcome.seconds

    # ------------------------------------------------------------------------------------------

    def keep(self, state: State, session: Session) -> None:
        """Takes over a session as the snapshot of its state."""
        with self._lock:
            if state.snapshot is not None:
                session.abandon()
                return
            state.snapshot = session
            self._snapshots[id(state)] = state
            self.stats.snapshots += 1
            if len(self._snapshots) > _MAX_SNAPSHOTS:
                self._drop_snapshot(next(iter(self._snapshots.values())))

    def copy_snapshot(self, state: State, timeout: float) -> Session | None:
        """Returns a copy of the snapshot of a state; None if there is none."""
        with self._lock:
            if state.snapshot is None:
                return None
            self._snapshots.move_to_end(id(state))
            try:
                return state.snapshot.fork(timeout)
            except (ServiceError, OSError):
                self._drop_snapshot(state)
                return None

    def note_fork(self, seconds: float) -> None:
        """Records the time that copying a session took."""
        self.fork_seconds += (seconds - self.fork_seconds) / _AVERAGED

    def _drop_snapshot(self, state: State, wait: bool = False) -> None:
        session, state.snapshot = state.snapshot, None
        if session is not None:
            del self._snapshots[id(state)]
            self.stats.snapshots -= 1
            session.abandon(wait)

    def close(self) -> None:
        """Clears the cache, and ends all snapshots."""
        with self._lock:
            for state in list(self._snapshots.values()):
                self._drop_snapshot(state, wait=True)
            self._roots.clear()
            self._identified.clear()
            self.stats.states = self.stats.size = 0

    # ------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Evicts the least recently visited states."""
        states = self._all_states()
        sizes: dict[int, int] = {}
        for state in states:
            size = _STATE_BYTES + sum(outcome.size for outcome in state.outcomes.values())
            sizes[state.last_episode] = sizes.get(state.last_episode, 0) + size
        size, first = 0, max(sizes, default=0) + 1
        for episode in sorted(sizes, reverse=True):
            size += sizes[episode]
            if size > self.max_bytes * _KEPT_SHARE:
                break
            first = episode
        self._forget_before(first, states)

    def _all_states(self) -> list[State]:
        found = {id(state): state for state, _ in self._roots.values()}
        waiting = list(found.values())
        while waiting:
            for outcome in waiting.pop().outcomes.values():
                if id(outcome.target) not in found:
                    found[id(outcome.target)] = outcome.target
                    waiting.append(outcome.target)
        return list(found.values())

    def _forget_before(self, episode: int, states: Sequence[State]) -> None:
        self._roots = {
            key: root for key, root in self._roots.items() if root[0].last_episode >= episode
        }
        kept = [state for state in states if state.last_episode >= episode]
        size = _STATE_BYTES * len(self._roots)
        for state in states:
            if state.last_episode < episode:
                self._drop_snapshot(state)
        for state in kept:
            state.outcomes = {
                key: outcome
                for key, outcome in state.outcomes.items()
                if outcome.target.last_episode >= episode
            }
            size += sum(outcome.size for outcome in state.outcomes.values())
        self._identified = {
            identity: state
            for identity, state in self._identified.items()
            if state.last_episode >= episode
        }
        self.stats.states = len(kept)
        self.stats.size = size


def request_key(actions: Sequence[Any]) -> RequestKey:
    """Returns the cache key for the actions of a request."""
    return tuple([action.SerializeToString() for action in actions])
