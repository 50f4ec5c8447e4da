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

# About what the objects of a state and of the way to it take besides what was observed.
_STATE_BYTES = 1200

# Each snapshot is a process.
_MAX_SNAPSHOTS = 8

# What is kept when a cache is full.
_KEPT_SHARE = 0.7

# To copy a process takes about this long, until it was measured.
_FORK_SECONDS = 1e-3

# Measurements are averaged over about so many.
_AVERAGED = 8


class State:
    """A state of a program.

    Attributes:
        outcomes: What came of the requests that were made here.
        observations: What was observed, by the number of the observation space.
        snapshot: A session in this state that nobody uses, to be copied.
        departures: How often a session has had to come here for a request of unknown outcome.
        last_episode: The number of the last episode that came by, see :class:`TransitionCache`.
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
        target: The state that it led to.
        reply: What the service replied.
        indices: The numbers of the observation spaces in the reply. None if some of them may have
            another value the next time.
        seconds: How long it took.
        size: About how many bytes of memory this takes.
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
        saved_seconds: What those that were answered without the service took it before.
        repeated_seconds: What was spent on doing again what was known, to come to a state in
            which something unknown was asked.
        states: How many states are known.
        size: About how many bytes of memory they take.
        snapshots: How many sessions are kept to be copied.
    """

    hits: int = 0
    misses: int = 0
    saved_seconds: float = 0
    repeated_seconds: float = 0
    states: int = 0
    size: int = 0
    snapshots: int = 0


class TransitionCache:
    """The known states of the programs of a service. May be used from several threads.

    Every state is reached from that of a program which was just loaded; a session that begins
    there counts as an episode. When the cache is full, the states are forgotten which no episode
    has come by for longest. A state is never forgotten before those that are reached through it.

    Args:
        observation_spaces: Those of the service.
        max_bytes: About how many bytes of memory it may take.

    Attributes:
        stats: How it has done.
        max_bytes: As above.
        fork_seconds: How long it takes to copy a session.
    """

    def __init__(self, observation_spaces: Sequence[ObservationSpace], max_bytes: int):
        self.stats = TransitionStats()
        self.max_bytes = max_bytes
        self.fork_seconds = _FORK_SECONDS
        self._varying = frozenset(
            index for index, space in enumerate(observation_spaces) if not space.deterministic
        )
        # A state that is known by what it is does not say what has led to it.
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
        """Returns the state of a program that was just loaded, and the reply that told of it.

        Args:
            key: The program, and what else tells apart how sessions begin.
        """
        return self._roots.get(key)

    def add_root(self, key: Hashable, episode: int, reply: StartSessionReply) -> State:
        """Adds the state of a program that was just loaded."""
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
            state: Where the request was made.
            key: Its actions.
            indices: The numbers of the observation spaces that it asked for.
            reply: The reply of the service.
            seconds: How long it took.
            episode: The number of the episode.
            identity: What tells the state that it led to apart from others. None if only the way
                to a state does.

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
        """Notes that an outcome was of use."""
        outcome.target.last_episode = episode
        self.stats.hits += 1
        self.stats.saved_seconds += outcome.seconds

    # ------------------------------------------------------------------------------------------

    def keep(self, state: State, session: Session) -> None:
        """Takes over a session, to be copied by those that come to its state."""
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
        """Returns a copy of the session that is kept in a state; None if there is none."""
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
        """Notes how long it took to copy a session."""
        self.fork_seconds += (seconds - self.fork_seconds) / _AVERAGED

    def _drop_snapshot(self, state: State, waits: bool = False) -> None:
        session, state.snapshot = state.snapshot, None
        if session is not None:
            del self._snapshots[id(state)]
            self.stats.snapshots -= 1
            session.abandon(waits)

    def close(self) -> None:
        """Forgets everything, and ends the sessions that were kept."""
        with self._lock:
            for state in list(self._snapshots.values()):
                self._drop_snapshot(state, waits=True)
            self._roots.clear()
            self._identified.clear()
            self.stats.states = self.stats.size = 0

    # ------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Forgets the states that no episode has come by for longest."""
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
    """Returns what tells apart the actions of a request."""
    return tuple([action.SerializeToString() for action in actions])
