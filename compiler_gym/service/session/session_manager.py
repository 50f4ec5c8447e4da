"""Keeps an environment connected to its service."""

import itertools
import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from compiler_gym.datasets import Benchmark
from compiler_gym.errors import (
    ServiceError,
    ServiceInitError,
    ServiceIsClosed,
    ServiceOSError,
    ServiceTransportError,
    SessionDied,
    SessionNotFound,
)
from compiler_gym.errors.service_errors import NoEpisode
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.proto import (
    Event,
    GetVersionReply,
    GetVersionRequest,
    StartSessionReply,
    StepReply,
)
from compiler_gym.service.session.cached_session import CachedSession
from compiler_gym.service.session.session import END_SECONDS, Session
from compiler_gym.service.session.session_start import SessionStarter
from compiler_gym.service.session.transition_cache import TransitionCache
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.util.deadline import Deadline
from compiler_gym.util.random_state import shallow_copy
from compiler_gym.util.shell_format import plural

logger = logging.getLogger(__name__)

# The time for a service that may be stuck to end by itself.
_STUCK_SERVICE_EXIT_SECONDS = 1

_IS_CLOSED = "The environment is closed. env.reset() starts it again"

# After these failures, the session no longer exists.
_SESSION_IS_LOST = (
    SessionDied,
    SessionNotFound,
    ServiceIsClosed,
    ServiceTransportError,
    TimeoutError,
)


class SessionManager:
    """Holds the session of an environment, and its connection.

    Forks share the connection. If the service has ended, the manager connects again.

    Args:
        endpoint: The path of a service, or the address of a running one, see
            :class:`CompilerGymServiceConnection`.
        opts: Options of the connection.
        connection: A connection to use in place of a new one. If it fails, the manager connects to
            the same service again, not to ``endpoint``.
        transition_bytes: The memory limit of the cache of transitions; 0 for no cache.

    Attributes:
        opts: The options of connections.
        session: The session, or None.
        params: Session parameters to be sent to each new session.
        transition_bytes: The memory limit of the cache of transitions.
        is_closed: True after :meth:`close`, until a session is started.
        step_deadline: The deadline of the step whose rewards are being computed, or None.
    """

    def __init__(
        self,
        endpoint: str | Path,
        opts: ConnectionOpts,
        connection: CompilerGymServiceConnection | None = None,
        transition_bytes: int = 0,
    ):
        self.opts = opts
        self.session: Session | CachedSession | None = None
        self.transition_bytes = transition_bytes
        self.step_deadline: Deadline | None = None
        self._identity: int | None = None
        self.params: dict[str, str] = {}
        # The endpoint to connect to after a failure.
        self._endpoint, self._connection_opts = endpoint, opts
        if connection is not None:
            self._endpoint, self._connection_opts = connection.endpoint, connection.opts
        self._connection: CompilerGymServiceConnection | None = None
        self.is_closed = False
        self._owner_pid = os.getpid()
        self._starter = SessionStarter()
        self._versions: GetVersionReply | None = None
        connection = connection or CompilerGymServiceConnection(endpoint, opts)
        self._connection = connection.retain()
        # These never change, because indices refer to them.
        self.action_spaces = connection.action_spaces
        self.observation_spaces = connection.observation_spaces

    @property
    def connection(self) -> CompilerGymServiceConnection:
        """A connection without known failures. Opened if there is none.

        Raises:
            ServiceIsClosed: If the manager is closed, or was made by another process.
            ServiceInitError: If the service cannot be started, or has changed.
            ServiceTransportError: If an unmanaged service cannot be reached.
        """
        self._check_owner()
        if self.is_closed:
            raise ServiceIsClosed(_IS_CLOSED)
        if self._connection is not None and not self._connection.is_alive:
            self.disconnect()
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    @property
    def _is_inherited(self) -> bool:
        """True if the sessions belong to the process from which this one was forked."""
        return self._owner_pid != os.getpid()

    def _check_owner(self) -> None:
        if self._owner_pid != os.getpid():
            raise ServiceIsClosed(
                "This environment belongs to another process, from which this one was forked. "
                "Make one of its own in each process"
            )

    @property
    def versions(self) -> GetVersionReply:
        """The versions of service and compiler."""
        if self._versions is None:
            connection = self.connection
            self._versions = connection(connection.stub.GetVersion, GetVersionRequest())
        return self._versions

    def _connect(self) -> CompilerGymServiceConnection:
        connection = CompilerGymServiceConnection(self._endpoint, self._connection_opts).retain()
        offered = connection.action_spaces, connection.observation_spaces
        if offered != (self.action_spaces, self.observation_spaces):
            connection.release()
            raise ServiceInitError(
                f"The service {self._endpoint} offers other spaces than before. Make a new "
                "environment"
            )
        return connection

    def prepare(
        self,
        benchmark: Benchmark,
        action_space: int,
        observation_indices: Sequence[int],
        timeout: float,
    ) -> None:
        """Ends the session, and requests that of the next :meth:`start` without waiting.

        Args:
            benchmark: The benchmark of the next :meth:`start`. If its arguments differ, or anything
                fails, it starts a session as usual.
            action_space: The number of the action space.
            observation_indices: The numbers of the observations.
            timeout: The time limit in seconds, from now on.
        """
        self.end(wait=False)
        # With a cache of transitions, the session may not be needed.
        if self.is_connected and not self.transition_bytes:
            first_indices = () if self.params else observation_indices
            self._starter.begin(self._connection, benchmark, action_space, first_indices, timeout)

    def start(
        self,
        benchmark: Benchmark,
        action_space: int,
        observation_indices: Sequence[int],
        deadline: Deadline,
    ) -> tuple[StartSessionReply, Sequence[Event]]:
        """Starts a session; up to ``opts.init_max_attempts`` times if the service fails.

        A session whose own code raises an error, such as an ``AttributeError``, is not tried again.

        Args:
            benchmark: The program.
            action_space: The number of the action space.
            observation_indices: The numbers of the observations to compute at the start.
            deadline: The time limit, over all attempts.

        Returns:
            The reply of the service, and the observations.

        Raises:
            BenchmarkInitError: If the service refuses the program.
            TimeoutError: If the time limit is exceeded.
            ServiceInitError: If the service cannot be started.
            ServiceOSError: If all attempts failed.
        """
        self.is_closed = False
        for attempt in itertools.count(1):
            connection = self.connection
            try:
                return self._start(
                    connection, benchmark, action_space, observation_indices, deadline
                )
            except (ServiceError, TimeoutError) as error:
                logger.debug("Attempt %d to start a session failed: %s", attempt, error)
                self.abandon(error)
                deadline.left()
                # A defect of the service is the same the next time: the status is INTERNAL.
                if attempt == self.opts.init_max_attempts or type(error) is ServiceError:
                    raise ServiceOSError(
                        f"Cannot start a session on {benchmark}; gave up after "
                        f"{plural(attempt, 'attempt')}. The last error was "
                        f"{type(error).__name__}: {error}"
                    ) from error
            except BaseException:
                self.end()
                raise

    def _start(
        self,
        connection: CompilerGymServiceConnection,
        benchmark: Benchmark,
        action_space: int,
        observation_indices: Sequence[int],
        deadline: Deadline,
    ) -> tuple[StartSessionReply, Sequence[Event]]:
        params = tuple(self.params.items())
        starter = self._starter

        def open_session(
            indices: Sequence[int], deadline: Deadline
        ) -> tuple[Session, StartSessionReply, Sequence[Event]]:
            # Parameters may change what is observed, so they come first.
            first_indices = () if params else indices
            session, reply = starter.start(
                connection, benchmark, action_space, first_indices, deadline
            )
            if not params:
                return session, reply, reply.observation
            try:
                session.send_params(params, deadline.left())
                if not indices:
                    return session, reply, ()
                return session, reply, session.step((), indices, deadline.left()).observation
            except BaseException:
                session.abandon()
                raise

        if not self.transition_bytes:
            self.session, reply, observations = open_session(observation_indices, deadline)
            return reply, observations
        key = starter.digest_of(benchmark), action_space, params
        cached = CachedSession(self._transitions_of(connection), key, open_session, self._identity)
        self.session = cached
        return cached.begin(observation_indices, deadline)

    def identify_states_by(self, name: str) -> None:
        """Sets the observation that identifies states, whatever their history.

        The cache of transitions otherwise identifies a state by its history.
        """
        names = [space.name for space in self.observation_spaces]
        self._identity = names.index(name)

    @property
    def transitions(self) -> TransitionCache | None:
        """The cache of transitions, or None."""
        return self._transitions_of(self.connection) if self.transition_bytes else None

    def _transitions_of(self, connection: CompilerGymServiceConnection) -> TransitionCache:
        """Returns the cache that all users of a connection share."""
        cache = connection.transitions
        if cache is None:
            cache = TransitionCache(self.observation_spaces, self.transition_bytes)
            connection.transitions = cache
        cache.max_bytes = max(cache.max_bytes, self.transition_bytes)
        return cache

    def require_session(self) -> Session | CachedSession:
        """Returns the session.

        Raises:
            SessionNotFound: If there is none.
            ServiceIsClosed: If the manager was made by another process.
        """
        self._check_owner()
        if self.session is None:
            if self.is_closed:
                raise NoEpisode(_IS_CLOSED)
            raise NoEpisode("There is no episode. Call env.reset() first")
        return self.session

    def step(self, actions: Sequence[Event], indices: Sequence[int], timeout: float) -> StepReply:
        """Makes a step, see :meth:`Session.step`."""
        return self.require_session().step(actions, indices, timeout)

    def end(self, wait: bool = True) -> bool:
        """Ends the session if there is one.

        Args:
            wait: Wait for the end of the session.

        Returns:
            False if the service is known to have failed.
        """
        session, self.session = self.session, None
        if session is None or self._is_inherited:
            return True
        try:
            session.end(END_SECONDS, wait)
        except SessionNotFound:
            return True  # The session ended abnormally.
        except (ServiceError, OSError) as error:
            logger.debug("Cannot end a session: %s", error)
            return False
        return True

    def abandon(self, error: Exception) -> None:
        """Abandons the session after a failure, and the service too if it may be the cause."""
        obeyed = self.end()
        if not obeyed or isinstance(error, ServiceIsClosed | ServiceTransportError):
            self.disconnect(_STUCK_SERVICE_EXIT_SECONDS)
        elif isinstance(error, TimeoutError) and self._is_expendable():
            # The service may still be busy with the request. A service that isolates sessions has
            # killed the session.
            self.disconnect(_STUCK_SERVICE_EXIT_SECONDS)

    def _is_expendable(self) -> bool:
        connection = self._connection
        if connection is None or connection.service is None:
            return False
        return not (connection.is_shared or connection.isolates_sessions)

    def is_lost_by(self, error: Exception) -> bool:
        """Returns true if the session no longer exists after a request failed."""
        if isinstance(error, ServiceOSError):
            # In other services, a single message may have been too large.
            return self._connection is not None and self._connection.isolates_sessions
        return isinstance(error, _SESSION_IS_LOST)

    def disconnect(self, exit_max_seconds: float | None = None) -> None:
        """Releases the connection. The service ends unless others use it."""
        if self._is_inherited:
            return
        self._starter.discard()
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.release(exit_max_seconds)
            except ServiceError as error:
                logger.warning("%s", error)

    def close(self) -> None:
        """Ends the session and releases the connection, until a session is started."""
        self.is_closed = True
        self.end()
        self.disconnect()

    @property
    def is_connected(self) -> bool:
        """True if there is a connection without known failures."""
        return self._connection is not None and self._connection.is_alive

    def share(self, others: Iterable["SessionManager"]) -> None:
        """Uses the connection of another manager if this one has none that works.

        Args:
            others: Managers of the same service.
        """
        if self.is_connected:
            return
        for other in others:
            if other.is_connected:
                self.end()
                self.disconnect()
                self._connection = other.connection.retain()
                self.is_closed = False
                return

    def sibling(self) -> "SessionManager":
        """Returns a manager without a session that shares the connection, if there is one."""
        self._check_owner()
        clone = shallow_copy(self)
        clone.session = None
        clone.params = self.params.copy()
        clone._connection = None if self.is_closed else self.connection.retain()
        clone._starter = SessionStarter()
        return clone
