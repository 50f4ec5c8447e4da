"""Errors of talking to a compiler service.

The names are those of the documented interface, hence the suppressed naming rule.
"""


class ServiceError(Exception):
    """The compiler service could not do what was asked of it.

    Raised when the compiler behind an environment fails: a pass crashes, leaves the
    program invalid, or an observation cannot be computed. ``env.step()`` does not raise it but
    ends the episode and reports it in ``info["error_type"]`` and ``info["error_details"]``;
    ``env.reset()`` and ``env.observation[...]`` raise it.
    """


class SessionNotFound(ServiceError):  # noqa: N818
    """The session is unknown to the service.

    Raised when users request something that needs a running episode, such as an
    observation, before ``env.reset()`` or after the episode ended abnormally.
    """


class NoEpisode(SessionNotFound, AttributeError):  # noqa: N818
    """There is no episode, so that properties which tell of it have no value.

    It is an AttributeError so that ``hasattr(env, "state")`` and ``inspect.getmembers(env)`` work.
    """


class SessionDied(ServiceError):  # noqa: N818
    """The process of the session has ended, most often because a pass crashed.

    Raised by observations. After a step, ``info["error_type"]`` has its name instead. The text
    names the action and the signal, and where there is one the directory of files by which the
    crash can be reproduced. The service goes on, and so do other sessions, forks included;
    ``env.reset()`` starts a new one. With ``recover=True`` the episode goes on without the action.
    """


class SessionLost(SessionDied):
    """The session has ended through no fault of the compiler.

    Raised when its process was killed from outside (``kill``, or the kernel for want of
    memory), or when a request was interrupted by Ctrl-C. The text says which. The episode is
    truncated, and no action is to blame.
    """


class ServiceOSError(ServiceError, OSError):
    """The operating system denied the service something.

    Raised when the service reaches a limit on memory, sessions, files or message size.
    """


class ServiceInitError(ServiceError, OSError):
    """The service did not start.

    Raised when making an environment: the service binary exits at once, does not report
    its port in time, or is of another version.
    """


class EnvironmentNotSupported(ServiceInitError):  # noqa: N818
    """This machine cannot run the environment.

    Raised when something that the environment needs is not there: the service binary
    has not been built, or a compiler is not installed.
    """


class ServiceTransportError(ServiceError, OSError):
    """The service cannot be reached, or the connection broke.

    Raised when an unmanaged service (one given as ``host:port``) is down, or when the
    connection fails more often than ``ConnectionOpts.rpc_max_retries``.
    """


class ServiceIsClosed(ServiceError, TypeError):  # noqa: N818
    """The connection or the service process has ended.

    Raised when users continue to use an environment after ``env.close()``, or when the
    service was killed from outside.
    """


#: Failures that say nothing about the program and the actions: elsewhere, or with more time, the
#: episode could have gone on. A step that fails so truncates the episode.
LOSSES: tuple[type[Exception], ...] = (
    TimeoutError,
    ServiceIsClosed,
    ServiceTransportError,
    SessionLost,
    SessionNotFound,
)

#: The names of those for which no action is to blame. An action may be why a step takes too long.
BLAME_NO_ACTION = frozenset(error.__name__ for error in LOSSES) - {"TimeoutError"}
