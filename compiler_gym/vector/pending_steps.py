"""Pending steps of vector environments, from their beginning until their results are taken."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

import numpy as np

from compiler_gym.envs.compiler_env import StepResult
from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.envs.running_step import RunningStep
from compiler_gym.errors import BenchmarkInitError, SessionLost
from compiler_gym.service.client_service_compiler_env import ClientServiceCompilerEnv
from compiler_gym.service.environment.plain_steps import StepLimit
from compiler_gym.service.transport.frame_batch import FrameBatch
from compiler_gym.service.transport.reply_polling import ReplyPolling, ReplyWaiting
from compiler_gym.spaces.conversions import neutral_value
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.util.gym_type_hints import TRUNCATED
from compiler_gym.vector.batches import Batches
from compiler_gym.vector.fast_steps import BatchConversion, FastSteps

PROGRAM_ERRORS: Final = (BenchmarkInitError, LookupError)
"""Errors about the program of an episode. Other environments are not affected."""

INTERRUPTED: Final[dict[str, Any]] = {
    "error_type": SessionLost.__name__,
    "error_details": "The session was lost: a step before was interrupted (Ctrl-C), and it is not "
    "known how far that has come",
    TRUNCATED: True,
}
"""The ``info`` of an episode that an interrupt has truncated."""

# Reward, whether the episode was terminated, and whether it was truncated.
_Outcome = tuple[float, bool, bool]

# Stands for the result of a step that was interrupted while its reply was read.
_LOST: Final[StepResult] = (
    None,
    0.0,
    True,
    {"action_had_no_effect": False, "new_action_space": False, **INTERRUPTED},
)


# The information of plain steps, by whether their action had no effect.
_PLAIN_INFOS: Final = [
    [{"action_had_no_effect": had_no_effect, "new_action_space": False}]
    for had_no_effect in (False, True)
]


class Slot:
    """An environment and its progress in the episode.

    Can be waited for by :class:`ReplyWaiting` while it makes a step.

    Args:
        number: Its position among all slots.
        env: The environment.
        max_episode_steps: The step at which an episode is truncated; None for no limit.
        batch: Sends the requests of fast steps, and reads the replies. The slot has the place of
            its number.

    Attributes:
        number: Its position among all slots.
        env: The environment.
        has_begun: True after the first episode began.
        is_over: True if the next step has to begin an episode first.
        is_resetting: True if the pending step begins an episode.
        is_making: True from the beginning of :meth:`make` until the caller has stored the result.
        step: The step in progress, or None.
        observation: The last observation.
        infos: Parts of the ``info`` of the last step or reset. Not to be changed.
    """

    def __init__(
        self, number: int, env: GymnasiumEnv, max_episode_steps: int | None, batch: FrameBatch
    ):
        self.number = number
        self.env = env
        self.has_begun = False
        self.is_over = True
        self.is_resetting = False
        self.is_making = False
        self.step: RunningStep | None = None
        self.observation = neutral_value(env.observation_space)
        self.infos: list[dict[str, Any]] = []
        # The result of the environment, then what finish() makes of it.
        self._result: StepResult | None = None
        self._outcome: _Outcome | None = None
        # The fast steps of the episode, if it has any. False if that was not decided yet.
        self._fast: FastSteps | Literal[False] | None = False
        self._max_episode_steps = max_episode_steps
        self._elapsed_steps = 0
        self._batch = batch

    def begin(self, action: Any, limit: StepLimit, running: dict[int, "Slot"]) -> None:
        """Begins a step. The request of a fast step is to be sent by the batch.

        Args:
            action: The action.
            limit: The time limit.
            running: The slots with pending steps, by number. This slot is added first, so that an
                interrupt cannot hide a step that has begun.

        Raises:
            Exception: Any error of :meth:`CompilerEnv.begin_multistep`. No step is pending then.
        """
        self._result = self._outcome = None
        self.is_resetting = False
        if self.is_making:
            # The step before was interrupted. Without a step, finish() gives its result as lost.
            running[self.number] = self
            self.is_making = False
            return
        fast = self._current_fast_steps(action, limit)
        begin_step: Callable[[Any, StepLimit], RunningStep] = (
            self._begin_slowly if fast is None else fast.begin
        )
        try:
            running[self.number] = self
            self.step = begin_step(action, limit)
        except Exception:
            del running[self.number]
            raise

    def _begin_slowly(self, action: Any, limit: StepLimit) -> RunningStep:
        return self.env.compiler_env.begin_multistep((action,), timeout=limit.seconds)

    @property
    def deadline(self) -> float | None:
        """The time to stop waiting for the step; None for no limit."""
        return None if self.step is None else self.step.deadline

    @property
    def fd(self) -> int:
        """The file descriptor that becomes readable when the step ends; -1 if there is none."""
        return -1 if self.step is None else self.step.fd

    def _current_fast_steps(self, action: Any, limit: StepLimit) -> FastSteps | None:
        """Returns the fast steps if the next step is one of them."""
        fast = self._fast
        if fast is None or type(action) is not int or limit.seconds <= 0:
            return None
        if fast and fast.is_current():
            return fast
        # The first step of the episode, or something but steps has changed.
        self._fast = fast = FastSteps.of(self.env, self._batch, self.number)
        return fast if fast is not None and fast.is_current() else None

    def begin_reset(self, running: dict[int, "Slot"]) -> None:
        """Makes the next episode the pending step, whose :meth:`finish` resets the environment."""
        self.is_resetting = True
        running[self.number] = self

    def make(self, action: Any, timeout: float) -> _Outcome:
        """Makes a step and waits for it: :meth:`begin` and :meth:`finish`, but faster.

        Not allowed while :attr:`is_over` or :attr:`is_making` is True. The caller stores the
        result, then sets :attr:`is_making` to False. If an interrupt prevents that, the next step
        truncates the episode.
        """
        self.is_making = True
        try:
            result = self.env.compiler_env.multistep((action,), timeout=timeout)
        except Exception:
            self.is_making = False
            raise
        return self._keep(result)

    def finish(self, others: Iterable["Slot"]) -> _Outcome:
        """Waits for the end of the step, and keeps its observation and information.

        After an interrupt it can be repeated. The episode is truncated if the request was being
        sent, or the reply was being read.

        Args:
            others: Same as in :meth:`reset`.

        Returns:
            The reward, and whether the episode was terminated or truncated.

        Raises:
            Exception: Any error of :meth:`CompilerEnv.multistep`.
        """
        if self.is_resetting:
            if self.is_over:
                self.reset(None, {}, others)
            return 0.0, False, False
        if self._outcome is not None:
            return self._outcome
        if self._result is None:
            step, self.step = self.step, None
            self._result = _LOST if step is None else step.result()
        return self._keep(self._result)

    def _keep(self, result: StepResult) -> _Outcome:
        observation, reward, terminated, truncated, info = self.env.step_result(result)
        if result is _LOST:
            observation, info = self.observation, info.copy()
        elapsed_steps = self._elapsed_steps + 1
        if elapsed_steps == self._max_episode_steps:
            truncated = True
        self.observation = observation
        self.infos = [info]
        self.is_over = terminated or truncated
        outcome = reward, terminated, truncated
        # In one line, so that a repetition does not count the step again.
        self._elapsed_steps, self._outcome, self._result = elapsed_steps, outcome, None
        return outcome

    def send(self) -> None:
        """Sends what the batch could not send of the request of a fast step."""
        if self.is_fast:
            step = self._fast
            assert step, "the step is fast"
            self.step = None
            self.step = step.send()

    @property
    def is_read(self) -> bool:
        """True if the step in progress is a fast one, and its reply was read."""
        return self.is_fast and not self._batch.is_waiting(self.number)

    @property
    def is_fast(self) -> bool:
        """True if the step in progress is a fast one, and its reply was not received yet."""
        return self.step is not None and self.step is self._fast

    def receive(self) -> FastSteps | None:
        """Receives the reply of a fast step.

        Returns:
            The step, for :meth:`keep_plain`. None if it is not plain: :meth:`finish` it.
        """
        step = self._fast
        assert step, "the step is fast"
        self.step = None
        self.step, is_plain = step, step.receive()
        return step if is_plain else None

    def keep_plain(self, observation: np.ndarray) -> None:
        """Keeps the result of a plain step, which takes the place of :meth:`finish`.

        Args:
            observation: The observation that the wrappers make of that of the step.
        """
        assert self._fast, "the step is fast"
        step = self._fast.steps
        elapsed_steps = self._elapsed_steps + 1
        truncated = elapsed_steps == self._max_episode_steps
        self.observation = observation.copy() if truncated else observation
        self.infos = _PLAIN_INFOS[step.had_no_effect]
        self.is_over = truncated
        outcome = step.reward, False, truncated
        # In one line, so that a repetition does not count the step again.
        self._elapsed_steps, self._outcome, self.step = elapsed_steps, outcome, None

    def prepare_reset(self, benchmark: Any = None, timeout: float = TIMEOUT) -> None:
        """Starts the work of :meth:`reset` without a seed, and with these options."""
        self.is_over = True
        self.cancel()
        self.env.compiler_env.prepare_reset(benchmark, timeout=timeout)

    def reset(self, seed: int | None, options: dict[str, Any], others: Iterable["Slot"]) -> None:
        """Begins an episode, and cancels the pending step.

        Args:
            seed: Same as in :meth:`GymnasiumEnv.reset`.
            options: Same as in :meth:`GymnasiumEnv.reset`.
            others: Slots whose service to use if that of this one has ended.

        Raises:
            Exception: Any error of :meth:`GymnasiumEnv.reset`. There is no episode then. Errors
                about the program name it and the environment.
        """
        self.is_over = True
        self.cancel()
        env = self.env.compiler_env.unwrapped
        if isinstance(env, ClientServiceCompilerEnv):
            relatives = (other.env.compiler_env.unwrapped for other in others)
            env.share_service(each for each in relatives if type(each) is type(env))
        try:
            self.observation, info = self.env.reset(seed=seed, options=options)
        except PROGRAM_ERRORS as error:
            self._add_name(error, options.get("benchmark"))
            raise
        self.infos = [info]
        self._fast = False
        self._elapsed_steps = 0
        self.has_begun = True
        self.is_making = False
        self.is_over = False

    def _add_name(self, error: Exception, benchmark: Any) -> None:
        """Adds the environment, and the program given to the reset, to the text of an error."""
        text = str(error.args[0]) if error.args else type(error).__name__
        program = f" ({benchmark})" if benchmark and str(benchmark) not in text else ""
        error.args = (f"Environment {self.number}{program}: {text}", *error.args[1:])

    def cancel(self) -> None:
        """Cancels the pending step, if there is one. This ends the episode."""
        step, self.step = self.step, None
        if step is not None:
            self.is_over = True
            step.cancel()

    def close(self) -> None:
        """Closes the environment."""
        self.cancel()
        self.env.close()


class PendingSteps:
    """The steps of a vector environment from their beginning until their results are taken.

    An interrupt (Ctrl-C) may come anywhere. Therefore each method adds a slot to the next stage
    before it removes it from the former one, and can be repeated for a slot that is in both.

    Args:
        slots: The slots.
        batch: Sends the requests of fast steps, and reads the replies.
        batches: Stores the results.
        resets_in_same_step: True if the step that ends an episode begins the next one.

    Attributes:
        running: The slots with pending steps, by number.
        ended: Slots whose pending step begins the next episode, each with the last result.
        ready: The slots whose results were not taken yet, by number in order of arrival.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        batch: FrameBatch,
        batches: Batches,
        resets_in_same_step: bool,
    ):
        self.running: dict[int, Slot] = {}
        self.ended: dict[int, tuple[Slot, _Outcome, dict[str, Any]]] = {}
        self.ready: dict[int, Slot] = {}
        self._slots = slots
        self._batch = batch
        self._batches = batches
        self._resets_in_same_step = resets_in_same_step
        self._polling = ReplyPolling()
        self._conversion = BatchConversion((), len(slots))
        # True if a step may have begun without its request.
        self._may_be_unsent = False

    def __contains__(self, slot: Slot) -> bool:
        number = slot.number
        return number in self.running or number in self.ready or number in self.ended

    @property
    def done(self) -> int:
        """The number of results that wait to be taken."""
        return len(self.ready) + len(self.ended)

    def begin(self, slots: Sequence[Slot], actions: Sequence[Any], timeout: float) -> None:
        """Begins the steps of slots that have none. Makes resets of those whose episode is over.

        Args:
            slots: The slots.
            actions: An action for each.
            timeout: The time limit of each step in seconds.

        Raises:
            Exception: Any error of :meth:`Slot.begin` and :meth:`Slot.reset`. The others that have
                begun are pending.
        """
        self._may_be_unsent = True
        running, limit = self.running, StepLimit(timeout)
        ended = []
        for slot, action in zip(slots, actions, strict=True):
            if slot.is_over and not slot.is_making:
                ended.append(slot)
            else:
                slot.begin(action, limit, running)
        self._send()
        # The others make their steps in the meantime.
        for slot in ended:
            slot.prepare_reset()
        for slot in ended:
            slot.begin_reset(running)
            self._finish(slot)

    def _send(self) -> None:
        """Sends the requests of fast steps that have begun, together."""
        if self._may_be_unsent:
            if not self._batch.send():
                for slot in self.running.values():
                    slot.send()
            self._may_be_unsent = False

    def gather(self, count: int) -> None:
        """Waits for a number of results, and takes all that have arrived.

        Raises:
            Exception: Any error of :meth:`Slot.finish` and :meth:`Slot.reset`.
        """
        self._send()
        self._batch.read()
        fast: list[Slot] = []
        left: list[Slot] = []
        for slot in self.running.values():
            (fast if slot.is_read else left).append(slot)
        if self.done + len(fast) >= count:
            left = [slot for slot in left if not slot.is_fast]
        waiting = ReplyWaiting(left, self._polling)
        while len(self.running) > len(fast):
            is_enough = self.done + len(fast) >= count
            for slot in waiting.take(wait=not is_enough):
                if slot.is_fast:
                    fast.append(slot)
                else:
                    self._finish(slot)
            if is_enough:
                break
        if fast:
            self._batch.read()
            self._finish_fast(fast)
        if self.ended:
            self.reset_ended()

    def gather_all(self) -> None:
        """Waits for all results, and takes them.

        Raises:
            Exception: Any error of :meth:`Slot.finish` and :meth:`Slot.reset`.
        """
        self._send()
        slots = [*self.running.values()]
        if all([slot.is_fast for slot in slots]):
            self._batch.read_all(self._polling)
            self._finish_fast(slots)
        if self.running or self.ended:
            self.gather(len(self._slots))

    def _finish_fast(self, slots: Sequence[Slot]) -> None:
        """Takes the results of fast steps whose replies have arrived."""
        received = [(slot, slot.receive()) for slot in slots]
        plain = [(slot, step) for slot, step in received if step is not None]
        while plain:
            conversions = plain[0][1].conversions
            if self._conversion.conversions != conversions:
                self._conversion = BatchConversion(conversions, len(self._slots))
            alike = [each for each in plain if each[1].conversions == conversions]
            self._keep_plain(alike)
            plain = [each for each in plain if each[1].conversions != conversions]
        for slot, step in received:
            if step is None:
                self._finish(slot)

    def _keep_plain(self, plain: Sequence[tuple[Slot, FastSteps]]) -> None:
        """Stores the results of plain steps of environments with the same conversions."""
        numbers = [slot.number for slot, _ in plain]
        steps = [step for _, step in plain]
        rows = self._conversion.rows(numbers, steps)
        for (slot, _), row in zip(plain, rows, strict=True):
            slot.keep_plain(row)
        self._batches.keep_rows(
            numbers,
            rows,
            [each.steps.reward for each in steps],
            [slot.is_over for slot, _ in plain],
            [each.steps.had_no_effect for each in steps],
        )
        for slot, _ in plain:
            if slot.is_over and self._resets_in_same_step:
                self._finish(slot)
            else:
                self.ready[slot.number] = slot
                del self.running[slot.number]

    def _finish(self, slot: Slot) -> None:
        """Takes the result of a finished step."""
        try:
            outcome = slot.finish(self._slots)
        except Exception:
            del self.running[slot.number]
            raise
        self.store(slot, outcome)
        del self.running[slot.number]

    def store(self, slot: Slot, outcome: _Outcome) -> None:
        """Stores the result of a step, or keeps it until the reset in the same step."""
        if slot.is_over and self._resets_in_same_step:
            final = {"final_obs": slot.observation, "final_info": slot.infos[0].copy()}
            self.ended[slot.number] = slot, outcome, final
        else:
            self._batches.keep(slot, *outcome)
            self.ready[slot.number] = slot

    def reset_ended(self) -> None:
        """Begins the episodes of environments that reset in the same step.

        They take their programs in the order of their numbers, whichever ended first.

        Raises:
            Exception: Any error of :meth:`Slot.reset`.
        """
        in_order = [self.ended[number] for number in sorted(self.ended)]
        for slot, _, _ in in_order:
            if slot.is_over:
                slot.prepare_reset()
        for slot, outcome, final in in_order:
            if slot.is_over:
                slot.reset(None, {}, self._slots)
            slot.infos = [final, slot.infos[-1]]
            self._batches.keep(slot, *outcome)
            self.ready[slot.number] = slot
            del self.ended[slot.number]

    def cancel(self, slots: Iterable[Slot]) -> None:
        """Cancels the pending steps of some slots, and drops their results."""
        for slot in slots:
            slot.cancel()
            self.running.pop(slot.number, None)
            self.ended.pop(slot.number, None)
            self.ready.pop(slot.number, None)

    def drop_results(self) -> None:
        """Waits for all pending steps, and drops the results."""
        for slot in list(self.running.values()):
            try:
                self._finish(slot)
            except Exception:
                continue  # Another exception is being raised.
        self.forget()

    def forget(self) -> None:
        """Forgets all pending steps and results."""
        self.running.clear()
        self.ready.clear()
        self.ended.clear()
