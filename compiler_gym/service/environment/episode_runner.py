"""How an episode begins, takes its steps, and goes on after a failure."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compiler_gym.datasets import Benchmark
from compiler_gym.errors import ServiceError
from compiler_gym.service.environment.action_spaces import ActionSpaces
from compiler_gym.service.environment.episode import Episode
from compiler_gym.service.environment.observing import make_observer
from compiler_gym.service.environment.replay import replay_episode
from compiler_gym.service.environment.space_choices import SpaceChoices
from compiler_gym.service.environment.step_plan import StepPlan
from compiler_gym.service.proto import Event
from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.service.session.cached_session import CachedSession
from compiler_gym.service.session.session import Session
from compiler_gym.service.session.session_manager import SessionManager
from compiler_gym.service.session.session_start import Deadline
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationView

logger = logging.getLogger(__name__)

RunResult = tuple[list[Any], list[float], bool, dict[str, Any]]
"""A value for each observation, one for each reward, whether the episode ended, information."""


class EpisodeRunner:
    """Takes an environment through its episodes, and keeps the record of them.

    Args:
        sessions: What makes the requests.
        action_spaces: The action spaces.
        choices: The observations and rewards.
        recovers: See the attribute.

    Attributes:
        sessions: As above, and so are ``action_spaces`` and ``choices``.
        episode: The record of the present or else the last episode; None before the first.
        recovers: Whether an episode goes on after a step that failed.
    """

    def __init__(
        self,
        sessions: SessionManager,
        action_spaces: ActionSpaces,
        choices: SpaceChoices,
        recovers: bool,
    ):
        self.episode: Episode | None = None
        self.recovers = recovers
        self.sessions = sessions
        self.action_spaces = action_spaces
        self.choices = choices

    @property
    def benchmark(self) -> Benchmark | None:
        """The program of the episode, None outside of one."""
        return self.episode.benchmark if self.sessions.session is not None else None

    def begin(self, benchmark: Benchmark, deadline: Deadline) -> Any:
        """Begins an episode. There must be none.

        Returns:
            The default observation, or None if there is none.

        Raises:
            Exception: As of :meth:`SessionManager.start`, and of rewards that get ready.
        """
        choices = self.choices
        self.action_spaces.begin_episode()
        reply, events = self.sessions.start(
            benchmark, self.action_spaces.selected, choices.reset_plan.indices, deadline
        )
        self.episode = Episode(
            benchmark, self.action_spaces.current, params=[*self.sessions.params.items()]
        )
        self.episode.reward = 0.0 if choices.reward else None
        if reply.HasField("new_action_space"):
            self.action_spaces.replace(reply.new_action_space)
        try:
            observations, _ = choices.reset_plan.evaluate(events, [], choices.observations)
            choices.rewards.reset(benchmark, choices.observations)
        except BaseException:
            self.sessions.end()
            raise
        return observations[0] if observations else None

    def run(self, plan: StepPlan, actions: Iterable[Any], timeout: float) -> RunResult:
        """Makes a step. Does not change the reward of the episode.

        Raises:
            SessionNotFound: If there is no episode.
            Exception: If the step is refused; failures of the service end the episode instead.
        """
        session = self.sessions.require_session()
        actions, events = self.action_spaces.encoder.encode(actions)
        self.episode.record(actions, events)
        try:
            reply = session.step(events, plan.indices, timeout)
            observations, rewards = plan.evaluate(
                reply.observation, actions, self.choices.observations
            )
        except (ServiceError, TimeoutError) as error:
            return self._fail(plan, error, events)
        except Exception:
            if events:
                self.episode.record_refusal()
            raise
        has_new_action_space = reply.HasField("new_action_space")
        if has_new_action_space:
            self.action_spaces.replace(reply.new_action_space)
        info = {
            "action_had_no_effect": reply.action_had_no_effect,
            "new_action_space": has_new_action_space,
        }
        if self.sessions.transition_bytes:
            info["transition_was_known"] = session.last_was_known
        return observations, rewards, reply.end_of_session, info

    def _fail(self, plan: StepPlan, error: Exception, events: list[Event]) -> RunResult:
        """Ends the episode after a failure of the service, unless it can be recovered."""
        self.sessions.abandon(error)
        info = {
            "action_had_no_effect": False,
            "new_action_space": False,
            "error_type": type(error).__name__,
            "error_details": str(error),
        }
        recovered = self._recover(plan, events) if self.recovers else None
        if recovered is not None:
            return *recovered, False, info | {"action_had_no_effect": True, "recovered": True}
        return *plan.defaults(self.episode.reward), True, info

    def _recover(self, plan: StepPlan, events: list[Event]) -> tuple[list[Any], list[float]] | None:
        """Goes back to before a step that failed.

        Returns:
            The observations and rewards of that state, or None if it cannot be reached.
        """
        before = self.episode.before_last(events)
        try:
            values = self._repeat(before, plan.indices)
            result = plan.evaluate(values, [], self.choices.observations)
        except (ServiceError, OSError) as error:
            logger.info("Cannot recover the episode: %s: %s", type(error).__name__, error)
            self.sessions.abandon(error)
            return None
        self.episode = before
        return result

    def _repeat(self, episode: Episode, indices: Sequence[int]) -> Sequence[Event]:
        action_space = self.action_spaces.index_of(episode.action_space)
        return replay_episode(self.sessions, episode, action_space, indices)

    # ------------------------------------------------------------------------------------------
    # Forks.

    def fork(self) -> "EpisodeRunner":
        """Returns a runner of another episode in exactly the state of this one, ended or not.

        Raises:
            Exception: If the service fails.
        """
        clones: list[EpisodeRunner] = []
        forked: Session | CachedSession | None = None
        if self.sessions.session is not None:
            session = self.sessions.require_session()
            try:
                forked = session.fork(meanwhile=lambda: clones.append(self.copy()))
            except NotImplementedError:  # Of a service that cannot fork sessions.
                return self._fork_by_replay()
        clone = clones[0] if clones else self.copy()
        clone.sessions.session = forked
        clone.episode = self.episode.copy()
        return clone

    def _fork_by_replay(self) -> "EpisodeRunner":
        clone = self.copy()
        try:
            clone._repeat(self.episode, ())
        except BaseException:
            clone.sessions.close()
            raise
        clone.episode = self.episode.copy()
        return clone

    def copy(self) -> "EpisodeRunner":
        """Returns a runner like this one but without an episode. They share the connection."""
        sessions = self.sessions.sibling()
        benchmark = self.episode.benchmark if self.episode else None
        choices = self.choices.copy(make_observer(sessions), benchmark)
        return EpisodeRunner(sessions, self.action_spaces.copy(), choices, self.recovers)


def make_runner(
    sessions: SessionManager,
    converters: ServiceMessageConverters,
    derived_observation_spaces: Iterable[Mapping[str, Any]],
    rewards: Iterable[Reward] | None,
    recovers: bool,
) -> EpisodeRunner:
    """Makes a runner of what a service offers.

    Args:
        sessions: The sessions of that service.
        converters: What to make of its action spaces.
        derived_observation_spaces: Arguments of :meth:`ObservationView.add_derived_space`.
        rewards: As of :class:`SpaceChoices`.
        recovers: As of the runner.
    """
    view = ObservationView(make_observer(sessions), sessions.observation_spaces)
    for derived in derived_observation_spaces:
        view.add_derived_space(**derived)
    action_spaces = ActionSpaces(sessions.action_spaces, converters)
    return EpisodeRunner(sessions, action_spaces, SpaceChoices(view, rewards), recovers)
