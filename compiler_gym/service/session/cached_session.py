"""A session that answers known requests from a cache of transitions."""

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress

from compiler_gym.service.proto import Event, StartSessionReply, StepReply
from compiler_gym.service.session.session import Session, reply_behind
from compiler_gym.service.session.session_start import ENOUGH_ACTIONS, REFUSALS, repeat_step
from compiler_gym.service.session.transition_cache import (
    RequestKey,
    State,
    TransitionCache,
    request_key,
)
from compiler_gym.util.deadline import TIMEOUT, Deadline

OpenSession = Callable[
    [Sequence[int], Deadline], tuple[Session, StartSessionReply, Sequence[Event]]
]
"""Starts a session. Returns it, the reply, and the observations of these numbers."""

# A snapshot pays off if reaching its state again takes this many times as long as a copy.
_WORTHWHILE = 2


class DeferredStep:
    """A step that is made in :meth:`finish_step`, because it is most likely in the cache.

    Args:
        actions: The actions.
        indices: The numbers of the observation spaces.
    """

    deadline = None
    fd = -1

    def __init__(self, actions: list[Event], indices: Sequence[int]):
        self.actions = actions
        self.indices = indices

    def cancel(self) -> None:
        """Does nothing, because nothing has begun."""


class CachedSession:
    """A session that answers requests from a :class:`TransitionCache` if possible.

    Has the methods of :class:`Session`. It starts a session of the service on the first cache miss.
    That session may lag behind; it catches up before the next miss. If a copy of a snapshot catches
    up sooner, the copy replaces the session.

    Args:
        cache: The cache of transitions.
        key: The key of the initial state, see :meth:`TransitionCache.root`.
        open_session: Starts a session of the service.
        identity: The number of an observation space that identifies states, if a state does not
            depend on its history.

    Attributes:
        last_was_known: True if the last request was a cache hit.
    """

    def __init__(
        self,
        cache: TransitionCache,
        key: Hashable,
        open_session: OpenSession,
        identity: int | None = None,
    ):
        self.last_was_known = False
        self._cache = cache
        self._key = key
        self._open_session = open_session
        self._identity = identity
        self._episode = cache.next_episode()
        # The states from the beginning to the current one, and the requests between them. None once
        # a request was made that the cache does not track.
        self._states: list[State] | None = []
        self._requests: list[tuple[list[Event], float]] = []
        self._session: Session | None = None
        # The number of requests that the session of the service has served.
        self._served = 0

    def begin(
        self, indices: Sequence[int], deadline: Deadline
    ) -> tuple[StartSessionReply, Sequence[Event]]:
        """Begins the session. Call it once, before anything else.

        Args:
            indices: The numbers of the observation spaces to compute.
            deadline: The time limit.
        """
        root = self._cache.root(self._key)
        if root is None:
            begin = time.perf_counter()
            self._session, reply, observations = self._open_session(indices, deadline)
            state = self._cache.add_root(self._key, self._episode, reply)
            self._states = [state]
            step = StepReply(action_had_no_effect=True, observation=observations)
            self._cache.add(state, (), indices, step, time.perf_counter() - begin, self._episode)
            return reply, observations
        state, reply = root
        state.last_episode = self._episode
        self._states = [state]
        if not indices:
            return reply, ()
        return reply, self.step((), indices, deadline.left()).observation

    def step(self, actions: Iterable[Event], indices: Sequence[int], timeout: float) -> StepReply:
        """Applies actions, then computes observations. Uses the cache if possible."""
        events = list(actions)
        if self._states is None:
            self.last_was_known = False
            deadline = Deadline(timeout)
            return self._catch_up(deadline).step(events, indices, deadline.left())
        key = request_key(events)
        outcome = self._states[-1].outcomes.get(key)
        if outcome is not None:
            reply = outcome.reply_with(indices)
            if reply is not None:
                self._cache.note_hit(outcome, self._episode)
                self.last_was_known = True
                if events:
                    self._states.append(outcome.target)
                    self._requests.append((events, outcome.seconds))
                return reply
        self.last_was_known = False
        return self._ask(events, key, indices, Deadline(timeout))

    def begin_step(
        self, actions: Iterable[Event], indices: Sequence[int], timeout: float
    ) -> DeferredStep:
        """Prepares a step. Unlike in the base class, :meth:`finish_step` makes it."""
        return DeferredStep(list(actions), indices)

    def finish_step(self, begun: DeferredStep, timeout: float) -> StepReply:
        """Makes the step that :meth:`begin_step` has prepared. Returns the reply."""
        return self.step(begun.actions, begun.indices, timeout)

    def _ask(
        self, events: list[Event], key: RequestKey, indices: Sequence[int], deadline: Deadline
    ) -> StepReply:
        session = self._catch_up(deadline)
        identity = None
        begin = time.perf_counter()
        try:
            if self._identity is None or not events:
                reply = session.step(events, indices, deadline.left())
            else:
                reply = session.step(events, [*indices, self._identity], deadline.left())
                identity = self._key, reply.observation.pop().SerializeToString()
        except REFUSALS as error:
            # The actions before the refused one have been applied, or all of them if an observation
            # failed.
            if len(events) > 1 or (events and reply_behind(error)):
                self._states = None
            raise
        seconds = time.perf_counter() - begin
        target = self._cache.add(
            self._states[-1], key, indices, reply, seconds, self._episode, identity
        )
        target.last_episode = self._episode
        if events:
            self._states.append(target)
            self._requests.append((events, seconds))
            self._served += 1
        return reply

    # ------------------------------------------------------------------------------------------

    def _catch_up(self, deadline: Deadline) -> Session:
        """Returns a session of the service in the current state."""
        if self._states is None:
            assert self._session is not None, "a session is there before anything is not tracked"
            return self._session
        begin = time.perf_counter()
        self._take_copy_of_snapshot(deadline)
        if self._session is None:
            self._session, _, _ = self._open_session((), deadline)
            self._served = 0
        session = self._session
        missed = [event for events, _ in self._requests[self._served :] for event in events]
        for first in range(0, len(missed), ENOUGH_ACTIONS):
            repeat_step(session, missed[first : first + ENOUGH_ACTIONS], deadline)
        self._served = len(self._requests)
        seconds = time.perf_counter() - begin
        if missed:
            self._cache.stats.repeated_seconds += seconds
            self._consider_snapshot(session, seconds, deadline)
        return session

    def _take_copy_of_snapshot(self, deadline: Deadline) -> None:
        """Replaces the session by a copy of a snapshot, if that catches up sooner."""
        missed_seconds = 0.0
        first = self._served + 1 if self._session is not None else 0
        for position in range(len(self._requests), first - 1, -1):
            state = self._states[position]
            if state.snapshot is not None:
                break
            if position > 0:
                missed_seconds += self._requests[position - 1][1]
        else:
            return
        own_seconds = sum(seconds for _, seconds in self._requests[self._served :])
        if self._session is not None and own_seconds < self._cache.fork_seconds + missed_seconds:
            return
        begin = time.perf_counter()
        copy = self._cache.copy_snapshot(state, deadline.left())
        if copy is None:
            return
        self._cache.note_fork(time.perf_counter() - begin)
        if self._session is not None:
            self._session.abandon()
        self._session, self._served = copy, position

    def _consider_snapshot(self, session: Session, seconds: float, deadline: Deadline) -> None:
        """Keeps a copy of the session if other sessions are likely to need it."""
        state = self._states[-1]
        state.departures += 1
        if state.snapshot is not None or state.departures < 2:
            return
        if seconds < _WORTHWHILE * self._cache.fork_seconds:
            return
        begin = time.perf_counter()
        with suppress(NotImplementedError):  # The service cannot fork sessions.
            self._cache.keep(state, session.fork(deadline.left()))
            self._cache.note_fork(time.perf_counter() - begin)

    # ------------------------------------------------------------------------------------------

    def fork(
        self, timeout: float = TIMEOUT, meanwhile: Callable[[], object] | None = None
    ) -> "CachedSession":
        """Starts another session in exactly the state of this one."""
        clone = CachedSession(self._cache, self._key, self._open_session, self._identity)
        if self._states is None:
            clone._states = None
        else:
            clone._states = self._states.copy()
            for state in self._states:
                state.last_episode = clone._episode
        clone._requests = self._requests.copy()
        clone._served = self._served
        if self._session is not None:
            clone._session = self._session.fork(timeout, meanwhile)
        return clone

    def send_params(self, params: Iterable[tuple[str, str]], timeout: float = TIMEOUT) -> list[str]:
        """Sends parameters, and stops using the cache, because they may change results."""
        deadline = Deadline(timeout)
        session = self._catch_up(deadline)
        self._states = None
        return session.send_params(params, deadline.left())

    def end(self, timeout: float, wait: bool = True) -> None:
        """Ends the session. Makes one attempt only."""
        session, self._session = self._session, None
        if session is not None:
            session.end(timeout, wait)
