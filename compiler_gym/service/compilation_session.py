"""The class that a compiler in Python implements to become a service."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compiler_gym.service.proto import ActionSpace, Benchmark, Event, ObservationSpace


class CompilationSession:
    """One program under compilation.

    Subclass it, set the class attributes, implement :meth:`apply_action` and
    :meth:`get_observation`, and hand the class to
    :func:`compiler_gym.service.runtime.create_and_run_compiler_gym_service`. What is said of its
    C++ twin, ``compiler_gym/service/CompilationSession.h``, holds for it.

    A session begins with the constructor, which is called with a program. Then come any number of
    steps, each of them :meth:`begin_step`, :meth:`apply_action` for each action,
    :meth:`get_observation` for each observation, and :meth:`end_of_step`.

    Each session has a process of its own, and a fork of it is a copy of that process, as
    ``os.fork()`` makes one. So are the sessions on a program: the constructor runs once for each
    program. A copy has all memory of its original, the state of ``random`` included, and the same
    open files, but none of its threads and child processes; :meth:`after_fork` and
    :meth:`forkable` are for sessions that have more than memory. A session whose process has other
    threads after a request is copied by repeating what was done with it.

    An exception becomes the error of the request, with its traceback. ``ValueError`` is
    INVALID_ARGUMENT, ``FileNotFoundError`` and ``LookupError`` are NOT_FOUND, ``TypeError`` is
    FAILED_PRECONDITION, ``NotImplementedError`` is UNIMPLEMENTED: raise these from
    :meth:`apply_action` for an action that is refused, before anything has changed, and the session
    goes on. After any other, nobody knows what the program is, and the session takes no more
    requests: ``TimeoutError`` is DEADLINE_EXCEEDED, ``compiler_gym.errors.ServiceOSError`` is
    RESOURCE_EXHAUSTED, everything else INTERNAL. ``compiler_gym.errors.ServiceError`` is for
    failures that are no bugs of the session, and comes without a traceback.

    Args:
        working_directory: A directory of the service that all its sessions share.
        action_space: The element of :attr:`action_spaces` that the client has chosen.
        benchmark: The program. Raise ``ValueError`` if it is not one.

    Attributes:
        compiler_version: The version of the compiler, in free form.
        action_spaces: What actions there are; at least one space.
        observation_spaces: What can be observed. Spaces have names of their own.
    """

    compiler_version: str = ""
    action_spaces: Sequence[ActionSpace] = ()
    observation_spaces: Sequence[ObservationSpace] = ()

    def __init__(self, working_directory: Path, action_space: ActionSpace, benchmark: Benchmark):
        pass

    def apply_action(self, action: Event) -> tuple[bool, ActionSpace | None, bool]:
        """Applies one action.

        Args:
            action: Not necessarily an element of the action space.

        Returns:
            Whether no further action can follow; the action space from now on if it has changed;
            and whether the action changed nothing, so that every deterministic observation keeps
            its value (when in doubt, ``False``).

        Raises:
            ValueError: If the action is not in the action space. The program is as before.
        """
        raise NotImplementedError(f"{type(self).__name__} has no apply_action()")

    def get_observation(self, observation_space: ObservationSpace) -> Event:
        """Computes an observation. It must not change what later actions do.

        Args:
            observation_space: An element of :attr:`observation_spaces`.

        Returns:
            An element of that space.
        """
        raise NotImplementedError(f"{type(self).__name__} has no get_observation()")

    def begin_step(self, actions: int) -> None:
        """Called before the actions of a step, with how many there are."""

    def end_of_step(
        self,
        action_had_no_effect: bool,
        end_of_session: bool,
        new_action_space: ActionSpace | None,
    ) -> tuple[bool, ActionSpace | None] | None:
        """Called at the end of a step, after its observations, e.g. to check the program.

        Args:
            action_had_no_effect: What the client will be told of all actions together.
            end_of_session: What the actions have reported.
            new_action_space: Likewise.

        Returns:
            What is to be reported instead of the last two, or ``None`` for no change.
        """

    def handle_session_parameter(self, key: str, value: str) -> str | None:
        """Handles a parameter that a client sends.

        Returns:
            The reply, or ``None`` if the key is not known.

        Raises:
            ValueError: If the value is malformed.
        """
        return None

    def forkable(self) -> bool:
        """Returns true if forking the process copies the session. Called after each request."""
        return True

    def after_fork(self) -> None:
        """Called first in a copy of the process.

        There it makes a directory, a child or a connection of its own in place of those of the
        original, which it leaves alone.
        """

    def fork(self) -> "CompilationSession":
        """Returns a new session like this one.

        The runtime does not call it, because it copies processes. It is here for session classes
        that were written for CompilerGym 0.2.5.
        """
        raise NotImplementedError(
            "This compiler cannot fork sessions: start a new session on the same benchmark and "
            "repeat the actions"
        )

    def save_reproducer(self, action: Event, directory: Path) -> None:
        """Saves what is needed to repeat an action outside of this service.

        It is called on a session like one that did not survive the action.

        Args:
            action: The action, which must not be applied.
            directory: Where to write the files to. It exists.
        """
        raise NotImplementedError("This compiler has no form for reproducers")

    def holds_only_memory(self) -> bool:
        """Returns true if :meth:`close` need not be called: all resources are memory."""
        return False

    def close(self) -> None:
        """Called at the end of the session in each process, to give back what is that process's.

        It is not if the process was killed.
        """


def check_session_class(session_type: Any) -> None:
    """Raises an error if a class cannot be made a service of.

    Raises:
        TypeError: If it is no subclass of :class:`CompilationSession`, or its spaces are not.
        ValueError: If it has no spaces, or two of the same name.
    """
    if not (isinstance(session_type, type) and issubclass(session_type, CompilationSession)):
        raise TypeError(
            "A service is made of a subclass of compiler_gym.service.CompilationSession, not of "
            f"{session_type!r}"
        )
    name = session_type.__name__
    if not isinstance(session_type.compiler_version, str):
        raise TypeError(f"{name}.compiler_version must be a string")
    _check_spaces(f"{name}.action_spaces", session_type.action_spaces, ActionSpace)
    _check_spaces(f"{name}.observation_spaces", session_type.observation_spaces, ObservationSpace)


def _check_spaces(place: str, spaces: Any, kind: type) -> None:
    if not isinstance(spaces, Sequence):
        raise TypeError(f"{place} must be a list of {kind.__name__} messages, not {spaces!r}")
    if not spaces:
        raise ValueError(f"{place} is empty: set it to a list of {kind.__name__} messages")
    for space in spaces:
        if not isinstance(space, kind):
            raise TypeError(f"{place} must hold {kind.__name__} messages, not {space!r}")
    names = [space.name for space in spaces]
    if "" in names or len(set(names)) < len(names):
        raise ValueError(f"The names in {place} must differ and not be empty: {names}")
