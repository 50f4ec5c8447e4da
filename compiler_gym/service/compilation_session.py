"""The base class of compiler services written in Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compiler_gym.service.proto import ActionSpace, Benchmark, Event, ObservationSpace


class CompilationSession:
    """One program under compilation.

    Subclass it, set the class attributes, implement :meth:`apply_action` and
    :meth:`get_observation`, and hand the class to
    :func:`compiler_gym.service.runtime.create_and_run_compiler_gym_service`. The comments of the
    C++ class in ``compiler_gym/service/CompilationSession.h`` apply to this class, too.

    A session begins with the constructor, which is called with a program. Then come any number of
    steps, each of them :meth:`begin_step`, :meth:`apply_action` for each action,
    :meth:`get_observation` for each observation, and :meth:`end_of_step`.

    Each session has a process of its own, and a fork is a copy of that process, like the result of
    ``os.fork()``. Further sessions on the same program are copies, too: the constructor runs once
    for each program. A copy has all memory of its original, including the state of ``random``, and
    the same open files, but none of its threads and child processes. Sessions that have more than
    memory override :meth:`after_fork` and :meth:`forkable`. If the process has other threads after
    a request, the session is copied by repeating its requests.

    An exception becomes the error of the request, with its traceback. ``ValueError`` is
    INVALID_ARGUMENT, ``FileNotFoundError`` and ``LookupError`` are NOT_FOUND, ``TypeError`` is
    FAILED_PRECONDITION, ``NotImplementedError`` is UNIMPLEMENTED. Raise these from
    :meth:`apply_action` to refuse an action, before anything has changed, and the session
    continues. After any other exception, the state of the program is unknown, and the session takes
    no more requests: ``TimeoutError`` is DEADLINE_EXCEEDED, ``compiler_gym.errors.ServiceOSError``
    is RESOURCE_EXHAUSTED, everything else INTERNAL. ``compiler_gym.errors.ServiceError`` is for
    failures that are not bugs of the session. It has no traceback.

    Args:
        working_directory: A directory of the service that all its sessions share.
        action_space: The element of :attr:`action_spaces` that the client has chosen.
        benchmark: The program, or its name alone if the client has only that. Raise ``ValueError``
            if it is not one.

    Attributes:
        working_dir: The directory that was given, as in 0.2.5.
        compiler_version: The version of the compiler, in free form.
        action_spaces: The action spaces; at least one.
        observation_spaces: The observation spaces, each with a name of its own.
    """

    compiler_version: str = ""
    action_spaces: Sequence[ActionSpace] = ()
    observation_spaces: Sequence[ObservationSpace] = ()

    def __init__(self, working_directory: Path, action_space: ActionSpace, benchmark: Benchmark):
        self.working_dir = working_directory

    def apply_action(self, action: Event) -> tuple[bool, ActionSpace | None, bool]:
        """Applies one action.

        Args:
            action: The action. It may lie outside of the action space.

        Returns:
            True if the session ends here; the new action space if it has changed, else None; and
            True if the action changed nothing, so that every deterministic observation keeps its
            value (when in doubt, False).

        Raises:
            ValueError: If the action is not in the action space. The program must be unchanged.
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
        """Called before the actions of a step, with the number of actions."""

    def end_of_step(
        self,
        action_had_no_effect: bool,
        end_of_session: bool,
        new_action_space: ActionSpace | None,
    ) -> tuple[bool, ActionSpace | None] | None:
        """Called at the end of a step, after its observations, e.g. to check the program.

        Args:
            action_had_no_effect: True if none of the actions changed anything.
            end_of_session: True if an action ended the session.
            new_action_space: The action space that the actions have changed to, or None.

        Returns:
            Replacements for ``end_of_session`` and ``new_action_space``, or None to keep both.
        """

    def after_reply(self) -> None:
        """Called when a reply has been sent and the next request has not been read.

        For work that the next request may need, but the last one did not. It must not change what
        any request returns.
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

        Replace directories, children and connections of the original by new ones here, and leave
        those of the original alone.
        """

    def fork(self) -> "CompilationSession":
        """Returns a new session like this one.

        The runtime copies processes and does not call this method. It exists for session classes
        written for CompilerGym 0.2.5.
        """
        raise NotImplementedError(
            "This compiler cannot fork sessions: start a new session on the same benchmark and "
            "repeat the actions"
        )

    def save_reproducer(self, action: Event, directory: Path) -> None:
        """Saves the files that reproduce an action outside of this service.

        Called on a copy of a session that the action crashed.

        Args:
            action: The action, which must not be applied.
            directory: The directory for the files. It exists.
        """
        raise NotImplementedError("This compiler has no form for reproducers")

    def holds_only_memory(self) -> bool:
        """Returns true if :meth:`close` need not be called: all resources are memory."""
        return False

    def close(self) -> None:
        """Releases the resources of a process at the end of its session.

        Not called if the process was killed.
        """


def check_session_class(session_type: Any) -> None:
    """Raises an error if a class cannot be used for a service.

    Raises:
        TypeError: If it is not a subclass of :class:`CompilationSession`, or its spaces have
            another type.
        ValueError: If it has no spaces, or two with the same name.
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
