"""A workbench for programs: states that are kept, forks, undo, and new sessions for lost ones.

The explorer, the tools of agents and the shell are views of it.
"""

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from typing_extensions import Self

from compiler_gym.errors import ServiceError
from compiler_gym.errors.service_errors import BLAME_NO_ACTION
from compiler_gym.util.deadline import TIMEOUT

# ``compiler-gym shell --help`` does not wait for them.
if TYPE_CHECKING:
    from compiler_gym.datasets import Benchmark
    from compiler_gym.envs.compiler_env import CompilerEnv

Objective = Literal["instructions", "bytes", "cycles"]

COSTS: dict[Objective, str] = {
    "instructions": "IrInstructionCount",
    "bytes": "ObjectTextSizeBytes",
    "cycles": "CyclesEstimate",
}
"""The observation of each objective."""

BASELINES: dict[Objective, str] = {
    objective: name.removesuffix("Bytes") for objective, name in COSTS.items()
}
"""The prefix of the observations of each objective's baselines, which end in O0, O3 and Oz."""

INSTRUCTIONS = COSTS["instructions"]

_Env = TypeVar("_Env", bound="CompilerEnv")
_Key = TypeVar("_Key")
_T = TypeVar("_T")


class ActionFailed(ValueError):  # noqa: N818
    """An action failed in the compiler, or took too long.

    Attributes:
        kind: The name of the error.
        details: The compiler's description of the error.
    """

    def __init__(self, kind: str, details: str):
        super().__init__(f"{kind}: {details}")
        self.kind = kind
        self.details = details


def apply_actions(
    env: "CompilerEnv",
    actions: Sequence[int],
    observations: Iterable[str] = (),
    seconds: float = TIMEOUT,
) -> tuple[list[Any], float | None, bool, dict[str, Any]]:
    """Applies actions in one step, and returns the result of it.

    Args:
        env: The environment.
        actions: The actions.
        observations: The names of the observations to return.
        seconds: The time limit.

    Raises:
        ActionFailed: If an action fails or takes too long. The episode has ended then.
    """
    values, reward, done, info = env.multistep(
        actions, observation_spaces=observations, timeout=seconds
    )
    if "error_type" in info:
        raise ActionFailed(info["error_type"], info.get("error_details", ""))
    return [*values], reward, done, info


def fork_at(
    env: _Env,
    actions: Sequence[int] = (),
    seconds: float = TIMEOUT,
    action_space: str | None = None,
) -> _Env:
    """Returns a fork of an environment, whose episode begins again with other actions.

    Args:
        env: The environment. It does not change.
        actions: The actions.
        seconds: The time limit of the actions.
        action_space: Their action space; None for that of the environment.

    Raises:
        ActionFailed: If an action fails.
    """
    fork = env.fork()
    with closed_on_error(fork):
        fork.reset(
            benchmark=env.benchmark,
            action_space=action_space,
            observation_space=None,
            reward_space=None,
        )
        if actions:
            apply_actions(fork, actions, seconds=seconds)
    return fork


@contextmanager
def closed_on_error(env: "CompilerEnv") -> Iterator[None]:
    """Closes an environment if the block raises an error."""
    try:
        yield
    except BaseException:
        env.close()
        raise


# --------------------------------------------------------------------------------------------------
# A branch: a program with steps that can be undone.


@dataclass(frozen=True)
class Step:
    """The effect of a step.

    Attributes:
        action: Its action.
        name: The name of the action.
        has_changed: True if it changed the program.
        instructions: The number of instructions afterwards; None if unknown.
        reward: Its reward; None without a reward space.
    """

    action: int
    name: str
    has_changed: bool
    instructions: int | None = None
    reward: float | None = None


class Branch(Generic[_Env]):
    """A program with the steps that were made on it.

    A failed step is undone. If the session is lost, another one repeats the steps.

    Args:
        env: The environment, which the branch owns.
        seconds: The time limit for repeating all steps.

    Attributes:
        env: The environment.
        benchmark: The program; None before the first episode.
        steps: The steps of the episode.
        has_ended: True if the last step was the natural end of the episode.
    """

    def __init__(self, env: _Env, seconds: float = TIMEOUT):
        self.env = env
        self.benchmark: Benchmark | None = env.benchmark if env.in_episode else None
        self.steps: list[Step] = []
        self.has_ended = False
        self._seconds = seconds

    @property
    def actions(self) -> list[int]:
        """The actions of the steps."""
        return [step.action for step in self.steps]

    def close(self) -> None:
        """Ends the session."""
        self.env.close()

    def begin(self, program: "Benchmark | str | None" = None) -> None:
        """Begins an episode with a program, by default the current one.

        Raises:
            Exception: Any error of ``env.reset()``. The current episode continues then.
        """
        try:
            self.env.reset(benchmark=self.benchmark if program is None else program)
        except Exception:
            if self.benchmark is not None:
                self.restore()
            raise
        self.benchmark = self.env.benchmark
        self.steps = []
        self.has_ended = False

    def step(self, action: int, name: str, seconds: float = TIMEOUT) -> Step:
        """Makes a step. If the session is lost, once more in another one.

        Args:
            action: The action.
            name: Its name, for the record of the step.
            seconds: The time limit, of each attempt.

        Raises:
            ActionFailed: If the action fails. The step is undone then.
        """
        has_count = INSTRUCTIONS in self.env.observation.spaces
        names = [INSTRUCTIONS] if has_count else []
        try:
            values, reward, done, info = self._apply(action, names, seconds)
        except ActionFailed as error:
            if error.kind not in BLAME_NO_ACTION:
                raise
            values, reward, done, info = self._apply(action, names, seconds)
        count = int(values[0]) if has_count else None
        step = Step(action, name, not info["action_had_no_effect"], count, reward)
        self.has_ended = done
        self.steps.append(step)
        return step

    def _apply(
        self, action: int, names: Iterable[str], seconds: float
    ) -> tuple[list[Any], float | None, bool, dict[str, Any]]:
        try:
            return apply_actions(self.env, [action], names, seconds)
        except ActionFailed:
            self.restore()
            raise

    def undo(self, count: int = 1) -> list[Step]:
        """Undoes the last steps, and returns them."""
        kept = max(0, len(self.steps) - count)
        self.steps, undone = self.steps[:kept], self.steps[kept:]
        self.restore()
        return undone

    def restore(self) -> None:
        """Repeats the steps in a new session.

        Raises:
            ActionFailed: If a step fails.
        """
        self.env.reset(benchmark=self.benchmark)
        self.has_ended = False
        if self.steps:
            self.has_ended = apply_actions(self.env, self.actions, seconds=self._seconds)[2]

    def call(self, work: Callable[[_Env], _T]) -> _T:
        """Calls a function with the environment. If the session is lost, once more."""
        try:
            return work(self.env)
        except ServiceError:
            self.restore()
            return work(self.env)

    def observe(self, *names: str) -> list[Any]:
        """Returns observations."""
        return self.call(lambda env: [*env.observation.observe(names)])

    def fork(self) -> Self:
        """Returns a copy of the branch, with an environment of its own."""
        env = self.call(lambda each: each.fork())
        made = copy.copy(self)
        made.env, made.steps = env, [*self.steps]
        return made

    def earlier(self, length: int) -> _Env:
        """Returns a new environment with the program after the first steps."""
        return self.call(lambda env: fork_at(env, self.actions[:length], self._seconds))


# --------------------------------------------------------------------------------------------------
# States of many programs.


class Sessions(Generic[_Env]):
    """Begins episodes in sessions of one service, which is started again if it has died.

    Methods may be called from any thread.

    Args:
        env: An environment of the service. It becomes the sessions' own.
    """

    def __init__(self, env: _Env):
        self._env = env
        self._lock = threading.Lock()
        with closed_on_error(env):
            env.reset()

    def close(self) -> None:
        """Ends the service if no other session uses it."""
        self._env.close()

    def begin(self, program: "Benchmark | str", seconds: float, **spaces: str) -> _Env:
        """Returns a new environment in a new episode.

        Args:
            program: The program.
            seconds: The time limit for its compilation.
            **spaces: Other spaces than those of the environment, as for ``env.reset()``.

        Raises:
            Exception: Any error of ``env.reset()``.
        """
        with self._lock:
            try:
                env = self._env.fork()
            except ServiceError:  # Its process has died.
                self._env.reset()
                env = self._env.fork()
        with closed_on_error(env):
            env.reset(
                benchmark=program,
                observation_space=None,
                reward_space=None,
                timeout=seconds,
                **spaces,
            )
        return env


class HasEnv(Protocol):
    """A state: an environment, which does not change, and what is known of it."""

    @property
    def env(self) -> "CompilerEnv":
        """The environment."""


_State = TypeVar("_State", bound=HasEnv)


@dataclass
class _Kept(Generic[_State]):
    """A state that is kept.

    Attributes:
        state: The state.
        weight: Its weight.
        lock: Held while the environment is used.
        users: The number of threads that use the state.
    """

    state: _State
    weight: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class KeptStates(Generic[_Key, _State]):
    """States that are kept by a key, with a session each. Forks of them take steps.

    Those that nobody uses and that have not been used for longest are dropped. A state whose
    session has died is made again. Methods may be called from any thread.

    Args:
        limit: The maximum of the total weight.
        weight: Returns the weight of a state, which does not change; by default 1.
    """

    def __init__(self, limit: int, weight: Callable[[_State], int] = lambda state: 1):
        self._limit = limit
        self._weight = weight
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, _Kept[_State]] = OrderedDict()
        self._total = 0  # The weight of these.
        # For each state that is being made, a lock and the number of threads that use it.
        self._locks: dict[_Key, tuple[threading.Lock, int]] = {}

    def keys(self) -> list[_Key]:
        """Returns the keys of the states, the least recently used first."""
        with self._lock:
            return [*self._kept]

    def clear(self) -> None:
        """Drops all states."""
        with self._lock:
            dropped = [self._take(key) for key in [*self._kept]]
        for each in dropped:
            each.state.env.close()

    def add(self, key: _Key, state: _State) -> None:
        """Adds a state. Another one with this key is dropped."""
        self._put(key, _Kept(state, self._weight(state)))
        self._drop_excess()

    def get(self, key: _Key, make: Callable[[], _State]) -> _State:
        """Returns a state. Its environment may be closed at any time.

        Args:
            key: The key.
            make: Makes the state if it is not kept.
        """
        with self._used(key, make) as kept:
            return kept.state

    def call(self, key: _Key, make: Callable[[], _State], work: Callable[[_State], _T]) -> _T:
        """Calls a function with a state. If the session has died, once more with another.

        Args:
            key: The key.
            make: Makes the state if it is not kept.
            work: Takes the state, and makes no step in its environment.
        """
        try:
            return self._call_once(key, make, work)
        except ServiceError:
            return self._call_once(key, make, work)

    def _call_once(self, key: _Key, make: Callable[[], _State], work: Callable[[_State], _T]) -> _T:
        with self._used(key, make) as kept, kept.lock:
            try:
                return work(kept.state)
            except ServiceError:
                self._drop(key, kept)
                raise

    def fork(self, key: _Key) -> Any:
        """Returns a fork of a state's environment; None if it is not kept, or has died."""
        kept = self._find(key)
        if kept is None:
            return None
        try:
            with kept.lock:
                return kept.state.env.fork()
        except ServiceError:
            self._drop(key, kept)
            return None
        finally:
            self._release(kept)

    @contextmanager
    def _used(self, key: _Key, make: Callable[[], _State]) -> Iterator[_Kept[_State]]:
        kept = self._find(key)
        if kept is None:
            with self._making(key):
                kept = self._find(key)
                if kept is None:
                    state = make()
                    kept = _Kept(state, self._weight(state), users=1)
                    self._put(key, kept)
        try:
            yield kept
        finally:
            self._release(kept)

    @contextmanager
    def _making(self, key: _Key) -> Iterator[None]:
        """Makes other threads wait that make the same state, but no others."""
        with self._lock:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = lock, users - 1

    def _find(self, key: _Key) -> _Kept[_State] | None:
        """Finds a state, and counts the caller as its user."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                kept.users += 1
                self._kept.move_to_end(key)
            return kept

    def _release(self, kept: _Kept[_State]) -> None:
        with self._lock:
            kept.users -= 1
        self._drop_excess()

    def _drop(self, key: _Key, kept: _Kept[_State]) -> None:
        """Drops a state whose session has died. The next request for it makes another session."""
        with self._lock:
            if self._kept.get(key) is kept:
                self._take(key)
        kept.state.env.close()

    def _drop_excess(self) -> None:
        dropped = []
        with self._lock:
            for key in [*self._kept] if self._total > self._limit else ():
                if self._total > self._limit and not self._kept[key].users:
                    dropped.append(self._take(key))
        for each in dropped:
            each.state.env.close()

    def _put(self, key: _Key, kept: _Kept[_State]) -> None:
        with self._lock:
            before = self._take(key) if key in self._kept else None
            self._kept[key] = kept
            self._total += kept.weight
        if before is not None:
            before.state.env.close()

    def _take(self, key: _Key) -> _Kept[_State]:
        """Takes a state out, with the lock held."""
        kept = self._kept.pop(key)
        self._total -= kept.weight
        return kept
