"""Steps of one action with the default observation and reward, without the layers in between."""

import time
from collections.abc import Sequence
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from compiler_gym.envs.running_step import RunningStep
from compiler_gym.service.environment.episode_runner import EpisodeRunner
from compiler_gym.service.proto import Event, StepReply, StepRequest
from compiler_gym.service.session.session import ReadReply, Session
from compiler_gym.service.transport.frame_batch import FrameBatch
from compiler_gym.service.transport.frame_socket import FrameSocket, end_of
from compiler_gym.service.transport.frames import STEP, ChannelBroken, request_frame
from compiler_gym.util.deadline import Deadline
from compiler_gym.util.gym_type_hints import StepType


class StepLimit:
    """The time limit of steps that begin together.

    Args:
        seconds: The limit.

    Attributes:
        seconds: The limit.
        begin: The time at which the steps begin, by :func:`time.monotonic`.
        deadline: The same limit, for the rewards.
        end: The time at which a reply is given up, by :func:`time.monotonic`.
    """

    __slots__ = ("begin", "deadline", "end", "seconds")

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.begin = time.monotonic()
        self.deadline = Deadline(seconds)
        self.end = end_of(seconds)


class PlainSteps(RunningStep):
    """The steps of an episode, one at a time, on the socket of its session.

    A step is plain if it has an observation and a reward, and changes nothing but the program. The
    results are those of :meth:`EpisodeRunner.begin_step`, which does the same in more general and
    slower ways. :meth:`result` has the result of any step.

    Args:
        runner: The runner of the episode.
        session: Its session.
        sock: The socket of the session.
        batch: Sends the requests, and reads the replies.
        place: The place of the socket in the batch.

    Attributes:
        deadline: The time at which the reply is given up.
        fd: The descriptor of the socket; -1 if there is nothing to wait for.
        actions: The actions of the episode.
        observation: The observation of a plain step.
        reward: Its reward.
        had_no_effect: True if its action had no effect.
        is_plain: True if the step has ended and is plain.
    """

    def __init__(
        self,
        runner: EpisodeRunner,
        session: Session,
        sock: FrameSocket,
        batch: FrameBatch,
        place: int,
    ):
        assert runner.episode is not None, "there is a session"
        self.deadline: float | None = None
        self.fd = -1
        self.actions = runner.episode.actions
        self.observation: Any = None
        self.reward = 0.0
        self.had_no_effect = False
        self._runner = runner
        self._session = session
        self._sock = sock
        self._fd = sock.fd
        self._batch = batch
        self._place = place
        self._episode = runner.episode
        self._plan = plan = runner.choices.step_plan
        self._encoder = runner.action_spaces.encoder
        # The parts of a request before and after its action. Messages can be joined.
        self._before = StepRequest(session_id=session.session_id).SerializeToString()
        self._after = StepRequest(
            observation_space=plan.indices, has_observation_errors=True
        ).SerializeToString()
        # Of the step in progress.
        self._limit = StepLimit(0)
        self._events: list[Event] = []
        self._reply: tuple[int, bytes | memoryview] | None = None
        self._failure: Exception | None = None  # Of the request.
        self._error: Exception | None = None  # Of the observation or the reward.
        self.is_plain = False

    @classmethod
    def of(cls, runner: EpisodeRunner, batch: FrameBatch, place: int) -> "PlainSteps | None":
        """Returns the steps of the current episode. None if they may not be plain."""
        session, plan = runner.sessions.session, runner.choices.step_plan
        if type(session) is not Session or type(runner) is not EpisodeRunner or plan.is_measuring:
            return None
        if len(plan.observation_spaces) != 1 or len(plan.reward_spaces) != 1:
            return None
        sock = session.own_socket
        if sock is None or not batch.use(place, sock, plan.columns):
            return None
        return cls(runner, session, sock, batch, place)

    def is_current(self) -> bool:
        """Returns true if the next step may be plain: nothing but steps has changed."""
        runner, sock, episode = self._runner, self._sock, self._episode
        return (
            runner.sessions.session is self._session
            and runner.episode is episode
            and runner.choices.step_plan is self._plan
            and runner.action_spaces.encoder is self._encoder
            and episode.actions is self.actions
            and not (sock.closed or sock.is_busy or episode.is_interrupted)
            and not self._session.limits_time
        )

    def begin(self, action: int, limit: StepLimit) -> None:
        """Begins a step, whose request the batch sends.

        Call it only if :meth:`is_current` returns true. The requests of several environments are
        sent together, because the processes that they wake up take the processor and its caches.

        Args:
            action: The action.
            limit: The time limit.

        Raises:
            ValueError: If the action is out of range.
        """
        events, data = self._encoder.encoded_step(action)
        self._episode.record([action], events)
        self._limit = limit
        self._events = events
        self._reply = self._failure = self._error = None
        self.is_plain = False
        self.deadline, self.fd = limit.end, self._fd
        request = b"".join((self._before, data, self._after))
        self._sock.expect(limit.end)
        self._batch.put(self._place, request_frame(STEP.number, request, limit.seconds))

    def send(self) -> None:
        """Sends what the batch could not send of the request."""
        frame = self._batch.unsent(self._place)
        if not frame:
            return
        self._batch.forget(self._place)
        try:
            self._sock.send_frame(frame)
        except (ChannelBroken, grpc.RpcError) as error:
            self._failure = error
            self.fd = -1

    def receive(self) -> bool:
        """Receives the reply, and updates the record of the episode if the step is plain.

        Waits for the reply if it is not there yet. Can be repeated.

        Returns:
            True if the step is plain. Otherwise call :meth:`result`.
        """
        if self.is_plain or self._error is not None:
            return self.is_plain
        if (decoded := self._batch.decoded(self._place)) is not None:
            self._sock.note_reply()
            return self._evaluate((), *decoded)
        self.send()
        if self._reply is None and self._failure is None:
            self._read()
        if self._reply is None or self._reply[0]:
            return False
        try:
            reply = StepReply.FromString(self._reply[1])  # type: ignore[arg-type]
        except DecodeError:
            return False
        if (
            reply.end_of_session
            or reply.HasField("new_action_space")
            or reply.HasField("observation_error")
        ):
            return False
        return self._evaluate(reply.observation, None, reply.action_had_no_effect)

    def _read(self) -> None:
        try:
            self._reply = self._sock.finish(count=self._batch.bytes_read(self._place))
        except Exception as error:
            self._failure = error
        except BaseException:
            self._episode.is_interrupted = True
            raise

    def _evaluate(
        self, events: Sequence[Event], values: list[Any] | None, had_no_effect: bool
    ) -> bool:
        runner, plan, episode = self._runner, self._plan, self._episode
        # Rewards may make requests of their own.
        runner.sessions.step_deadline = self._limit.deadline
        try:
            observations, rewards = plan.evaluate(
                events, self.actions[-1:], runner.choices.observations, values
            )
        except Exception as error:
            self._error = error
            return False
        except BaseException:
            episode.is_interrupted = True
            raise
        finally:
            runner.sessions.step_deadline = None
        episode.observed = plan.observation_spaces, observations
        self.observation = observations[0]
        self.reward = rewards[0]
        self.had_no_effect = had_no_effect
        self.is_plain = True
        episode.add_reward(self.reward)
        return True

    def result(self) -> StepType:
        """Waits for the end of the step. Returns the result of any step, plain or not."""
        if self.receive():
            info = {"action_had_no_effect": self.had_no_effect, "new_action_space": False}
            return self.observation, self.reward, False, info
        runner, plan, events = self._runner, self._plan, self._events
        try:
            reply = self._checked_reply()
        except Exception as error:
            return runner.result_of_error(plan, events, error)
        except BaseException:
            self._episode.is_interrupted = True
            raise
        return runner.result_of_reply(plan, self.actions[-1:], events, reply, self._limit.deadline)

    def _checked_reply(self) -> StepReply:
        """Returns the reply to a step that is not plain. Raises the error of any other."""
        if self._error is not None:
            raise self._error
        begun = ReadReply(self._sock, self._limit.begin, self._failure, self._reply)
        return self._session.finish_other_step(
            begun, self._events, self._plan.indices, self._limit.seconds
        )

    def cancel(self) -> None:
        """Cancels the step. This ends the session."""
        self._batch.forget(self._place)
        self._sock.close()
