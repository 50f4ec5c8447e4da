"""Programs and their states, each with a session of the compiler while it is in use."""

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import compiler_gym
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.llvm_command_line import short_name
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.errors import BenchmarkInitError, ServiceError
from compiler_gym.errors.nearest_names import did_you_mean
from compiler_gym.explorer import messages
from compiler_gym.explorer.commands import Tools
from compiler_gym.explorer.limits import Limits
from compiler_gym.explorer.messages import ExplorerError
from compiler_gym.explorer.programs import (
    Program,
    Programs,
    built_in_names,
    built_in_uri,
    id_of_source,
)
from compiler_gym.explorer.sources import make_program
from compiler_gym.service.transport.connection_opts import ConnectionOpts

COSTS = {
    "instructions": "IrInstructionCount",
    "bytes": "ObjectTextSizeBytes",
    "cycles": "CyclesEstimate",
}
"""The observation of each objective."""

_T = TypeVar("_T")
_SPACES = ("PassesAll", "Pipelines")


@dataclass
class _Entry:
    """A state that is kept.

    Attributes:
        env: An environment in this state. No step is taken in it; forks are.
        step: The effect of the last action; None for the program itself.
        lock: Held while the environment is used.
        users: The number of threads that use the state.
    """

    env: LlvmEnv
    step: messages.Step | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


_Key = tuple[str, tuple[str, ...]]


class Workbench:
    """The programs and states of all visitors.

    A state is named by its program and its actions alone. States that were used lately keep a
    session, and others are made by a fork of their nearest predecessor. Methods may be called from
    any thread.

    Args:
        limits: The limits.
        program: The program that the page opens first, or its URI; None for none.

    Attributes:
        limits: The limits.
        tools: Runs the tools of LLVM that compile and show programs of visitors.
        first: The program that the page opens first; None for none.

    Raises:
        EnvironmentNotSupported: If the LLVM service is not built.
    """

    def __init__(self, limits: Limits, program: Benchmark | str | None = None):
        self.limits = limits
        self.tools = Tools(limits)
        self.first: Program | None = None
        self._lock = threading.Lock()
        self._programs = Programs(limits.programs)
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        # For each state that is being made, a lock and the number of threads that use it.
        self._locks: dict[_Key, tuple[threading.Lock, int]] = {}
        flags = [f"--session_memory_mib={limits.session_mib}"]
        settings = ConnectionOpts(script_args=flags)
        env = compiler_gym.make("llvm-v0", connection_settings=settings)
        assert isinstance(env, LlvmEnv)
        self._factories = {_SPACES[0]: env}
        try:
            env.reset()
            pipelines = env.fork()
            pipelines.reset(action_space=_SPACES[1])
            self._factories[_SPACES[1]] = pipelines
            if program is not None:
                self.first = self.add(program)
        except BaseException:
            self.close()
            raise
        self.action_space = env.action_space
        self.pipeline_space = pipelines.action_space

    def close(self) -> None:
        """Ends all sessions."""
        self.forget()
        for env in self._factories.values():
            env.close()

    def forget(self) -> None:
        """Drops all states, and all programs but the owner's, as a restart of the server does."""
        with self._lock:
            envs = [entry.env for entry in self._entries.values()]
            self._entries.clear()
        self._programs.forget()
        for env in envs:
            env.close()

    def info(self) -> messages.Info:
        """Returns facts for the page."""
        return messages.Info(
            version=compiler_gym.__version__,
            llvm=str(self._factories[_SPACES[0]].compiler_version),
            actions=_described(self.action_space),
            pipelines=_described(self.pipeline_space),
            programs=built_in_names(),
            program=self.first.message.id if self.first else None,
            autophase=[*AUTOPHASE_FEATURE_NAMES],
            is_public=self.limits.is_public,
            max_source_bytes=self.limits.source_bytes,
            max_search_seconds=self.limits.search_seconds,
        )

    # ----------------------------------------------------------------------------------------------
    # Programs.

    def open_program(self, request: messages.ProgramRequest) -> messages.Program:
        """Makes a program ready.

        Raises:
            ExplorerError: If it cannot be used.
        """
        if request.source is not None:
            return self._source_program(request.source).message
        name = request.name or ""
        program = self._programs.find_own_by_name(name)
        if program is None:
            names = built_in_names()
            if name not in names:
                raise ExplorerError(
                    "input", f"There is no built-in program {name!r}.{did_you_mean(name, names)}"
                )
            program = self._programs.find(name) or self._add(name, name, built_in_uri(name), None)
        return program.message

    def add(self, benchmark: Benchmark | str) -> Program:
        """Adds a program of the server's owner, which stays as long as the server.

        Args:
            benchmark: The program, or its URI.

        Raises:
            ExplorerError: If it cannot be used.
        """
        uri = str(benchmark if isinstance(benchmark, str) else benchmark.uri)
        known = self._programs.find_own(uri)
        if known is None:
            name = self._programs.name_for_own(uri)
            program = self._programs.find(name) or self._add(name, name, benchmark, None)
            known = self._programs.add_own(uri, program)
        return known

    def _source_program(self, source: messages.Source) -> Program:
        id = id_of_source(source)
        known = self._programs.find(id)
        return known or self._add(id, "pasted", make_program(source, self.tools), source)

    def _add(
        self, id: str, name: str, benchmark: Benchmark | str, source: messages.Source | None
    ) -> Program:
        message = messages.Program(id=id, name=name, instructions=0, source=source)
        program = Program(message, benchmark)
        env = self._begin(program, _SPACES[0])
        with _closed_on_error(env):
            program.sources = env.benchmark.sources if env.benchmark else []
            instructions = env.observation["IrInstructionCount"]
            if instructions > self.limits.instructions:
                raise ExplorerError(
                    "limit",
                    f"expected a program of at most {self.limits.instructions:,} instructions, "
                    f"got {instructions:,}",
                )
        message.instructions = int(instructions)
        self._programs.add(program)
        self._keep((id, ()), _Entry(env))
        return program

    def program(self, id: str) -> Program:
        """Returns a program.

        Raises:
            ExplorerError: If it is not known (any longer). The page sends it again then.
        """
        program = self._programs.find(id)
        if program is None:
            raise ExplorerError("unknown program", f"The program {id!r} has to be sent again")
        return program

    # ----------------------------------------------------------------------------------------------
    # States.

    def numbers(self, actions: Sequence[str]) -> list[int]:
        """Returns the numbers of actions of one action space.

        Raises:
            ExplorerError: If one is not known, there are too many, or both spaces are mixed.
        """
        if len(actions) > self.limits.actions:
            raise ExplorerError(
                "limit", f"expected at most {self.limits.actions} actions, got {len(actions)}"
            )
        space = self.pipeline_space if self.space_of(actions) == _SPACES[1] else self.action_space
        try:
            return [space[name] for name in actions]
        except LookupError as error:
            other = self.action_space if space is self.pipeline_space else self.pipeline_space
            is_mixed = any(name in other.names for name in actions)
            rule = " The branch of a level has pipelines only, and others have passes."
            raise ExplorerError("input", f"{_text(error)}{rule if is_mixed else ''}") from error

    def space_of(self, actions: Sequence[str]) -> str:
        """Returns the name of the action space: that of pipelines if the first action is one."""
        return _SPACES[bool(actions) and actions[0] in self.pipeline_space.names]

    def commandline(self, actions: Sequence[str]) -> str:
        """Returns the command line of ``opt`` that does what actions do.

        Raises:
            ExplorerError: If one is not known, there are too many, or both spaces are mixed.
        """
        numbers = self.numbers(actions)
        space = self.pipeline_space if self.space_of(actions) == _SPACES[1] else self.action_space
        return str(space.to_string(numbers))

    @contextmanager
    def fork(self, program: str, actions: Sequence[str]) -> Iterator[LlvmEnv]:
        """Yields an environment in a state, which is closed at the end of the block.

        Raises:
            ExplorerError: If there is no such program or action, or a pass fails.
        """
        with self._in_state(program, actions, lambda env: env.fork()) as env:
            yield env

    def observe(self, program: str, actions: Sequence[str], names: Sequence[str]) -> list[Any]:
        """Returns observations of a state.

        Raises:
            ExplorerError: If there is no such program or action, or a pass fails.
        """
        return self._in_state(program, actions, lambda env: env.observation.observe(names))

    def _in_state(self, program: str, actions: Sequence[str], work: Callable[[LlvmEnv], _T]) -> _T:
        """Calls a function with the environment of a state. If its session has died, once more."""
        try:
            return self._once_in_state(program, actions, work)
        except ServiceError:
            return self._once_in_state(program, actions, work)

    def _once_in_state(
        self, program: str, actions: Sequence[str], work: Callable[[LlvmEnv], _T]
    ) -> _T:
        with self._used(program, actions) as entry, entry.lock:
            try:
                return work(entry.env)
            except ServiceError:
                self._drop((program, tuple(actions)), entry)
                raise

    def path(self, request: messages.PathRequest) -> messages.Path:
        """Returns the steps to a state, and its IR.

        Raises:
            ExplorerError: If there is no such program or action, or a pass fails.
        """
        actions = tuple(request.actions)
        if request.first > len(actions):
            raise ExplorerError("input", f"expected first <= {len(actions)}, got {request.first}")
        steps = []
        for end in range(request.first + 1, len(actions) + 1):
            with self._used(request.program, actions[:end]) as entry:
                assert entry.step is not None
                steps.append(entry.step)
        (ir,) = self.observe(request.program, actions, ["Ir"])
        return messages.Path(steps=steps, ir=ir)

    @contextmanager
    def _used(self, program: str, actions: Sequence[str]) -> Iterator[_Entry]:
        key = (program, tuple(actions))
        entry = self._find(key)
        if entry is None:
            owner = self.program(program)
            self.numbers(actions)
            with self._making(key):
                entry = self._find(key) or self._make(owner, key)
        try:
            yield entry
        finally:
            with self._lock:
                entry.users -= 1

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

    def _find(self, key: _Key) -> _Entry | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                entry.users += 1
                self._entries.move_to_end(key)
            return entry

    def _make(self, program: Program, key: _Key) -> _Entry:
        """Makes a state, and counts the caller as its user."""
        id, actions = key
        space = self.space_of(actions)
        shortest = 1 if space == _SPACES[1] else 0
        for length in range(len(actions) - 1, shortest - 1, -1):
            entry = self._find((id, actions[:length]))
            env = None if entry is None else self._fork_of((id, actions[:length]), entry)
            if env is not None:
                break
        else:
            length, env = 0, self._begin(program, space)
        with _closed_on_error(env):
            made = _Entry(env, users=1)
            if actions:
                # The last one apart: the observation PassStats is about one request.
                self.step(env, actions[length:-1])
                names = ["IrInstructionCount", "PassStats"]
                count, stats = self.step(env, actions[-1:], names)
                made.step = _step(actions[-1], int(count), stats)
        self._keep(key, made)
        return made

    def _fork_of(self, key: _Key, entry: _Entry) -> LlvmEnv | None:
        """Returns a fork of a used state, and ends its use; None if its session has died."""
        try:
            with entry.lock:
                return entry.env.fork()
        except ServiceError:
            self._drop(key, entry)
            return None
        finally:
            with self._lock:
                entry.users -= 1

    def _drop(self, key: _Key, entry: _Entry) -> None:
        """Drops a state whose session has died. The next request for it makes another session."""
        with self._lock:
            if self._entries.get(key) is entry:
                del self._entries[key]
        entry.env.close()

    def step(self, env: LlvmEnv, actions: Sequence[str], costs: Sequence[str] = ()) -> list[Any]:
        """Applies actions to an environment, and returns observations.

        Raises:
            ExplorerError: If a pass fails.
        """
        if not actions and not costs:
            return []
        numbers = [env.action_space[name] for name in actions]
        values, _, done, info = env.multistep(
            numbers, observation_spaces=costs, timeout=self.limits.step_seconds
        )
        if done:
            details = info.get("error_details", "").splitlines()
            raise ExplorerError("pass", f"{actions[-1]} failed: {details[0] if details else ''}")
        return [*values]

    def _begin(self, program: Program, space: str) -> LlvmEnv:
        with self._lock:
            factory = self._factories[space]
            try:
                env = factory.fork()
            except ServiceError:  # Its process has died.
                factory.reset()
                env = factory.fork()
        with _closed_on_error(env):
            try:
                env.reset(
                    benchmark=program.benchmark,
                    observation_space=None,
                    reward_space=None,
                    timeout=self.limits.compile_seconds,
                )
            except (BenchmarkInitError, LookupError, ValueError) as error:
                raise ExplorerError("program", _text(error)) from error
            except TimeoutError as error:
                raise ExplorerError("limit", _text(error)) from error
        return env

    def _keep(self, key: _Key, entry: _Entry) -> None:
        """Keeps a state, and drops those that nobody uses and have not been used for longest."""
        with self._lock:
            self._entries[key] = entry
            excess = len(self._entries) - self.limits.states
            unused = (each for each, other in self._entries.items() if not other.users)
            dropped = [each for each in itertools.islice(unused, max(0, excess)) if each != key]
            envs = [self._entries.pop(each).env for each in dropped]
        for env in envs:
            env.close()


def _described(space: Any) -> list[messages.Action]:
    return [
        messages.Action(name=name, short=short_name(space, name), description=text)
        for name, text in zip(space.names, space.descriptions, strict=True)
    ]


def _step(action: str, count: int, stats: dict[str, Any]) -> messages.Step:
    def names(key: str) -> list[str]:
        return [str(name) for name in stats[f"functions_{key}"]]

    return messages.Step(
        action=action,
        changed=bool(stats["changed"]),
        instructions=count,
        functions_changed=names("changed"),
        functions_removed=names("removed"),
        functions_added=names("added"),
    )


@contextmanager
def _closed_on_error(env: LlvmEnv) -> Iterator[None]:
    """Closes an environment if the block raises an error."""
    try:
        yield
    except BaseException:
        env.close()
        raise


def _text(error: BaseException) -> str:
    return str(error.args[0]) if error.args else type(error).__name__
