"""The life cycle of an episode: reset, steps, and recovery after failures."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.running_step import FinishedStep, RunningStep
from compiler_gym.errors import ServiceError, ServiceOSError, SessionLost
from compiler_gym.errors.service_errors import LOSSES
from compiler_gym.service.environment.action_spaces import ActionSpaces
from compiler_gym.service.environment.episode import Episode, replay_episode
from compiler_gym.service.environment.space_choices import SpaceChoices, StepPlan, make_observer
from compiler_gym.service.proto import Event, StepReply
from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.service.session.cached_session import CachedSession
from compiler_gym.service.session.session import END_SECONDS, Session, reply_behind
from compiler_gym.service.session.session_manager import SessionManager
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import Deadline
from compiler_gym.util.gym_type_hints import TRUNCATED
from compiler_gym.util.gym_type_hints import StepType as StepResult
from compiler_gym.views import ObservationSpaceSpec, ObservationView

logger = logging.getLogger(__name__)

RunResult = tuple[list[Any], list[float], bool, dict[str, Any]]
"""A value for each observation, one for each reward, whether the episode ended, information."""


class ServiceStep(RunningStep):
    """A step that a service is making.

    Args:
        runner: The runner that started the step.
        session: The session.
        actions: The actions.
        events: The messages that encode ``actions``, in the same order.
        timeout: Time limit in seconds.
        rewards_deadline: The same limit, for the rewards.
    """

    def __init__(
        self,
        runner: "EpisodeRunner",
        session: Session | CachedSession,
        actions: list[Any],
        events: list[Event],
        timeout: float,
        rewards_deadline: Deadline,
    ):
        self._runner = runner
        self._session = session
        self._plan = plan = runner.choices.step_plan
        self._actions = actions
        self._events = events
        self._timeout = timeout
        self._rewards_deadline = rewards_deadline
        self._reply = reply = session.begin_step(events, plan.indices, timeout)
        self.deadline = reply.deadline
        self.fd = reply.fd

    def result(self) -> StepResult:
        """Waits for the end of the step, and updates the record of the episode."""
        runner, plan, events = self._runner, self._plan, self._events
        try:
            reply = self._session.finish_step(self._reply, self._timeout)
        except Exception as error:
            return runner.result_of_error(plan, events, error)
        except BaseException:
            runner.episode.is_interrupted = True
            raise
        return runner.result_of_reply(plan, self._actions, events, reply, self._rewards_deadline)

    def cancel(self) -> None:
        """Cancels the step. This ends the session."""
        self._reply.cancel()


class EpisodeRunner:
    """Runs the episodes of an environment, and keeps the record of the current one.

    Args:
        sessions: Makes the requests to the service.
        action_spaces: The action spaces.
        choices: The observations and rewards.
        is_recovering: Continue episodes after failed steps.

    Attributes:
        sessions: Makes the requests to the service.
        action_spaces: The action spaces.
        choices: The observations and rewards.
        episode: The record of the current episode, or of the last one; None before the first.
        is_recovering: True if an episode continues after a failed step.
    """

    def __init__(
        self,
        sessions: SessionManager,
        action_spaces: ActionSpaces,
        choices: SpaceChoices,
        is_recovering: bool,
    ):
        self.episode: Episode | None = None
        self.is_recovering = is_recovering
        self.sessions = sessions
        self.action_spaces = action_spaces
        self.choices = choices
        # The record has to have the order in which the steps of several threads are made.
        self._turn = threading.RLock()

    @property
    def benchmark(self) -> Benchmark | None:
        """The program of the episode, None outside of one."""
        return self.episode.benchmark if self.sessions.session is not None else None

    def prepare(self, benchmark: Benchmark, timeout: float) -> None:
        """Ends the episode, and prepares :meth:`begin` with a benchmark, without waiting.

        Prepares nothing if steps measure: the work would disturb measurements of others.
        """
        if self.choices.step_plan.is_measuring:
            self.sessions.end(wait=False)
            return
        self.sessions.prepare(
            benchmark, self.action_spaces.selected, self.choices.reset_plan.indices, timeout
        )

    def begin(self, benchmark: Benchmark, deadline: Deadline) -> Any:
        """Begins an episode. There must be none.

        Returns:
            The default observation, or None if there is none.

        Raises:
            Exception: Any error of :meth:`SessionManager.start`, and of rewards' ``reset()``.
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
        self.episode.observed = choices.reset_plan.observation_spaces, observations
        return observations[0] if observations else None

    def run(self, plan: StepPlan, actions: Iterable[Any], timeout: float) -> RunResult:
        """Makes a step. Does not change the reward of the episode.

        Raises:
            SessionNotFound: If there is no episode.
            Exception: If the step is refused; failures of the service end the episode instead.
        """
        session = self.sessions.require_session()
        actions, events = self.action_spaces.encoder.encode(actions)
        deadline = Deadline(timeout)  # A wrong one leaves no record of the actions.
        self.episode.record(actions, events)
        if self.episode.is_interrupted:
            return self._fail(plan, _interruption(), events)
        try:
            reply = session.step(events, plan.indices, timeout)
        except Exception as error:
            return self._after_error(plan, events, error)
        except BaseException:
            self.episode.is_interrupted = True
            raise
        return self._after_reply(plan, actions, events, reply, deadline)

    def _after_reply(
        self,
        plan: StepPlan,
        actions: list[Any],
        events: list[Event],
        reply: StepReply,
        deadline: Deadline,
    ) -> RunResult:
        # Rewards may make requests of their own, so this comes first.
        session = self.sessions.session
        was_known = isinstance(session, CachedSession) and session.last_was_known
        self.sessions.step_deadline = deadline
        try:
            observations, rewards = plan.evaluate(
                reply.observation, actions, self.choices.observations
            )
        except Exception as error:
            return self._after_error(plan, events, error)
        except BaseException:
            self.episode.is_interrupted = True
            raise
        finally:
            self.sessions.step_deadline = None
        if plan is self.choices.step_plan:
            self.episode.observed = plan.observation_spaces, observations
        has_new_action_space = reply.HasField("new_action_space")
        if has_new_action_space:
            self.action_spaces.replace(reply.new_action_space)
        info = {
            "action_had_no_effect": reply.action_had_no_effect,
            "new_action_space": has_new_action_space,
        }
        if self.sessions.transition_bytes:
            info["transition_was_known"] = was_known
        return observations, rewards, reply.end_of_session, info

    def _after_error(self, plan: StepPlan, events: list[Event], error: Exception) -> RunResult:
        if isinstance(error, ServiceError | TimeoutError):
            return self._fail(plan, error, events)
        reply = reply_behind(error)
        if reply is None:
            if events:
                self.episode.record_refusal()
        elif reply.HasField("new_action_space"):
            self.action_spaces.replace(reply.new_action_space)
        raise error

    def _fail(self, plan: StepPlan, error: Exception, events: list[Event]) -> RunResult:
        """Ends the episode after a failure of the service, unless it can be recovered."""
        self.sessions.abandon(error)
        info = {
            "action_had_no_effect": False,
            "new_action_space": False,
            "error_type": type(error).__name__,
            "error_details": str(error),
        }
        recovered = self._recover(plan, events) if self.is_recovering else None
        if recovered is not None:
            return *recovered, False, info | {"action_had_no_effect": True, "recovered": True}
        if isinstance(error, LOSSES):
            info[TRUNCATED] = True
            return *plan.last_values(*self.episode.observed), True, info
        return *plan.defaults(self.episode.reward), True, info

    def _recover(self, plan: StepPlan, events: list[Event]) -> tuple[list[Any], list[float]] | None:
        """Returns to the state before a failed step.

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
    # Steps as users make them. They add default rewards to the reward of the episode.

    def step(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None,
        reward_spaces: Iterable[str | Reward] | None,
        timeout: float,
    ) -> StepResult:
        """Makes a step, see :meth:`CompilerEnv.multistep`. Threads take turns."""
        with self._turn:
            if observation_spaces is None and reward_spaces is None:
                return self._default_result(self.run(self.choices.step_plan, actions, timeout))
            plan = self.choices.plan_for(observation_spaces, reward_spaces, self.benchmark)
            result = self.run(plan, actions, timeout)
            observation, reward, done, info = self._default_result(result, reward_spaces is None)
        if observation_spaces is not None:
            observation = result[0]
        return observation, result[1] if reward_spaces is not None else reward, done, info

    def begin_step(self, actions: Iterable[Any], timeout: float) -> RunningStep:
        """Begins a step that returns the default observation and reward.

        Make no other request until it is finished.

        Raises:
            SessionNotFound: If there is no episode.
            TypeError: If an action is of a wrong type.
            ValueError: If an action is out of range.
        """
        session = self.sessions.require_session()
        actions, events = self.action_spaces.encoder.encode(actions)
        deadline = Deadline(timeout)
        self.episode.record(actions, events)
        try:
            if self.episode.is_interrupted:
                raise _interruption()
            return ServiceStep(self, session, actions, events, timeout, deadline)
        except ServiceError as error:
            return FinishedStep(
                self._default_result(self._fail(self.choices.step_plan, error, events))
            )

    def result_of_reply(
        self,
        plan: StepPlan,
        actions: list[Any],
        events: list[Event],
        reply: StepReply,
        deadline: Deadline,
    ) -> StepResult:
        """Returns the result of a step with the default observation and reward.

        Args:
            plan: The plan of the step.
            actions: The actions.
            events: The messages that encode the actions, in the same order.
            reply: The reply of the service.
            deadline: The time limit of the rewards.

        Raises:
            Exception: Any error of the rewards.
        """
        return self._default_result(self._after_reply(plan, actions, events, reply, deadline))

    def result_of_error(self, plan: StepPlan, events: list[Event], error: Exception) -> StepResult:
        """Returns the result of such a step after an error, or raises the error.

        Args:
            plan: The plan of the step.
            events: The messages that encode the actions.
            error: The error.
        """
        return self._default_result(self._after_error(plan, events, error))

    def _default_result(self, result: RunResult, count_reward: bool = True) -> StepResult:
        observations, rewards, done, info = result
        reward = None
        if rewards and count_reward:
            reward = rewards[0]
            self.episode.add_reward(reward)
        return observations[0] if observations else None, reward, done, info

    # ------------------------------------------------------------------------------------------
    # Forks.

    def fork(self, make_clone: Callable[[], "EpisodeRunner"]) -> None:
        """Gives another runner an episode in exactly the state of this one, ended or not.

        Args:
            make_clone: Creates the other runner. Called once, if possible while the service is
                busy.

        Raises:
            Exception: If the service fails.
        """
        clones: list[EpisodeRunner] = []

        def clone() -> EpisodeRunner:
            if not clones:
                clones.append(make_clone())
                clones[0].episode = self.episode.copy()
            return clones[0]

        def try_to_clone() -> None:
            # Always take the reply, or the new session would never end.
            with suppress(Exception):
                clone()

        forked: Session | CachedSession | None = None
        if self.sessions.session is not None:
            session = self.sessions.require_session()
            try:
                forked = session.fork(meanwhile=try_to_clone)
            except NotImplementedError:  # The service cannot fork sessions.
                clone()._repeat_alone(self.episode)
                return
            except ServiceError as error:
                # A service without resources for another session keeps this one.
                is_lost = self.sessions.is_lost_by(error) and not isinstance(error, ServiceOSError)
                if is_lost and not self.is_recovering:  # Else a step recovers the episode.
                    self.sessions.abandon(error)
                raise
        try:
            clone().sessions.session = forked
        except BaseException:
            if forked is not None:
                with suppress(ServiceError, OSError):
                    forked.end(END_SECONDS)
            raise

    def _repeat_alone(self, episode: Episode) -> None:
        """Starts a session in the state of an episode. Drops the connection if that fails."""
        try:
            self._repeat(episode, ())
        except BaseException:
            self.sessions.close()
            raise

    def copy(self, sessions: SessionManager, counterparts: dict[int, Any]) -> "EpisodeRunner":
        """Returns a runner like this one but without an episode.

        Args:
            sessions: A sibling of this runner's manager.
            counterparts: What stands for which object in the copies of rewards, by its ``id``.
        """
        # Shared, because it is immutable and may be large.
        benchmark = self.episode.benchmark if self.episode else None
        counterparts = counterparts | {id(benchmark): benchmark}
        choices = self.choices.copy(make_observer(sessions), counterparts)
        return EpisodeRunner(sessions, self.action_spaces.copy(), choices, self.is_recovering)


def _interruption() -> SessionLost:
    return SessionLost(
        "The session was lost: a step before was interrupted (Ctrl-C), and it is not known how far "
        "that has come. env.reset() begins another episode"
    )


def make_runner(
    sessions: SessionManager,
    converters: ServiceMessageConverters,
    derived_observation_spaces: Iterable[Mapping[str, Any]],
    rewards: Iterable[Reward] | None,
    is_recovering: bool,
) -> EpisodeRunner:
    """Creates a runner for the spaces of a service.

    Args:
        sessions: The sessions of the service.
        converters: Converts the action spaces of the service.
        derived_observation_spaces: Arguments of :meth:`ObservationView.add_derived_space`.
        rewards: Same as in :class:`SpaceChoices`.
        is_recovering: Continue episodes after failed steps.
    """
    view = ObservationView(make_observer(sessions), sessions.observation_spaces)
    for derived in derived_observation_spaces:
        view.add_derived_space(**derived)
    action_spaces = ActionSpaces(sessions.action_spaces, converters)
    return EpisodeRunner(sessions, action_spaces, SpaceChoices(view, rewards), is_recovering)
