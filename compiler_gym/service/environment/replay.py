"""How the state of an episode is reached once more, after its session was lost."""

from collections.abc import Sequence

from compiler_gym.errors import ServiceError
from compiler_gym.service.environment.episode import Episode
from compiler_gym.service.proto import Event
from compiler_gym.service.session.session_manager import SessionManager
from compiler_gym.service.session.session_start import Deadline

_REPLAY_SECONDS = 300

# What a request that the service refuses raises; the session goes on.
_REFUSALS = (ValueError, TypeError, NotImplementedError, FileNotFoundError)


def replay_episode(
    sessions: SessionManager, episode: Episode, action_space: int, indices: Sequence[int]
) -> Sequence[Event]:
    """Starts a session and makes the requests of an episode again, one by one.

    Session parameters are all sent at the beginning.

    Args:
        sessions: What gets the session. Has none before.
        episode: The episode.
        action_space: The number of the action space at its beginning.
        indices: The numbers of the observation spaces to compute at the end.

    Returns:
        The observations.

    Raises:
        ServiceError: If the service fails, or does not do this time what it did then.
        OSError: Likewise.
    """
    deadline = Deadline(_REPLAY_SECONDS)
    sessions.start(episode.benchmark, action_space, (), deadline)
    if episode.params:
        sessions.require_session().send_params(episode.params, deadline.left())
    for i, events in enumerate(episode.requests):
        try:
            sessions.step(events, (), deadline.left())
        except _REFUSALS as error:
            # If it was refused then too, the actions before the refused one are applied again.
            if i not in episode.refused:
                raise ServiceError(f"An action of the episode is refused now: {error}") from error
    return sessions.step((), indices, deadline.left()).observation
