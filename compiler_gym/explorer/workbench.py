"""Programs and their states, each with a session of the compiler while it is in use."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import compiler_gym
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS, kernel_names
from compiler_gym.envs.llvm.llvm_command_line import short_name
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES
from compiler_gym.envs.workbench import (
    INSTRUCTIONS,
    ActionFailed,
    KeptStates,
    Sessions,
    apply_actions,
    closed_on_error,
)
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.errors.nearest_names import did_you_mean
from compiler_gym.explorer import messages
from compiler_gym.explorer.commands import Tools
from compiler_gym.explorer.limits import Limits
from compiler_gym.explorer.messages import ExplorerError
from compiler_gym.explorer.programs import (
    Program,
    Programs,
    id_of_source,
)
from compiler_gym.explorer.sources import make_program
from compiler_gym.service.transport.connection_opts import ConnectionOpts
from compiler_gym.util.shell_format import describe_error

_T = TypeVar("_T")
_SPACES = ("PassesAll", "Pipelines")


@dataclass(frozen=True)
class _State:
    """A state.

    Attributes:
        env: An environment in this state. No step is taken in it; forks are.
        step: The effect of the last action; None for the program itself.
    """

    env: LlvmEnv
    step: messages.Step | None = None


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
        self._programs = Programs(limits.programs)
        self._states: KeptStates[_Key, _State] = KeptStates(limits.states)
        flags = [f"--session_memory_mib={limits.session_mib}"]
        settings = ConnectionOpts(script_args=flags)
        env = compiler_gym.make("llvm-v0", connection_settings=settings)
        assert isinstance(env, LlvmEnv)
        self.sessions = Sessions(env)
        self.action_space = env.action_space
        try:
            with env.fork() as pipelines:
                pipelines.reset(action_space=_SPACES[1])
                self.pipeline_space = pipelines.action_space
            self._compiler_version = str(env.compiler_version)
            if program is not None:
                self.first = self.add(program)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends all sessions."""
        self.forget()
        self.sessions.close()

    def forget(self) -> None:
        """Drops all states, and all programs but the owner's, as a restart of the server does."""
        self._states.clear()
        self._programs.forget()

    def info(self) -> messages.Info:
        """Returns facts for the page."""
        return messages.Info(
            version=compiler_gym.__version__,
            llvm=self._compiler_version,
            actions=_described(self.action_space),
            pipelines=_described(self.pipeline_space),
            programs=kernel_names(),
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
            names = kernel_names()
            if name not in names:
                raise ExplorerError(
                    "input", f"There is no built-in program {name!r}.{did_you_mean(name, names)}"
                )
            program = self._programs.find(name) or self._add(name, name, f"{KERNELS}/{name}", None)
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
        with closed_on_error(env):
            program.sources = env.benchmark.sources if env.benchmark else []
            instructions = env.observation[INSTRUCTIONS]
            if instructions > self.limits.instructions:
                raise ExplorerError(
                    "limit",
                    f"expected a program of at most {self.limits.instructions:,} instructions, "
                    f"got {instructions:,}",
                )
        message.instructions = int(instructions)
        self._programs.add(program)
        self._states.add((id, ()), _State(env))
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
            raise ExplorerError(
                "input", f"{describe_error(error)}{rule if is_mixed else ''}"
            ) from error

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
        """Calls a function with the environment of a state."""
        key = program, tuple(actions)
        return self._states.call(key, lambda: self._make(key), lambda state: work(state.env))

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
            key = request.program, actions[:end]
            state = self._states.get(key, partial(self._make, key))
            assert state.step is not None
            steps.append(state.step)
        (ir,) = self.observe(request.program, actions, ["Ir"])
        return messages.Path(steps=steps, ir=ir)

    def _make(self, key: _Key) -> _State:
        """Makes a state from a fork of its nearest predecessor."""
        id, actions = key
        program = self.program(id)
        self.numbers(actions)
        space = self.space_of(actions)
        shortest = 1 if space == _SPACES[1] else 0
        for length in range(len(actions) - 1, shortest - 1, -1):
            env = self._states.fork((id, actions[:length]))
            if env is not None:
                break
        else:
            length, env = 0, self._begin(program, space)
        with closed_on_error(env):
            if not actions:
                return _State(env)
            # The last one apart: the observation PassStats is about one request.
            self.step(env, actions[length:-1])
            count, stats = self.step(env, actions[-1:], [INSTRUCTIONS, "PassStats"])
            return _State(env, _step(actions[-1], int(count), stats))

    def step(self, env: LlvmEnv, actions: Sequence[str], costs: Sequence[str] = ()) -> list[Any]:
        """Applies actions to an environment, and returns observations.

        Raises:
            ExplorerError: If a pass fails.
        """
        if not actions and not costs:
            return []
        numbers = [env.action_space[name] for name in actions]
        try:
            return apply_actions(env, numbers, costs, self.limits.step_seconds)[0]
        except ActionFailed as error:
            first = error.details.partition("\n")[0]
            raise ExplorerError("pass", f"{actions[-1]} failed: {first}") from error

    def _begin(self, program: Program, space: str) -> LlvmEnv:
        seconds = self.limits.compile_seconds
        try:
            return self.sessions.begin(program.benchmark, seconds, action_space=space)
        except (BenchmarkInitError, LookupError, ValueError) as error:
            raise ExplorerError("program", describe_error(error)) from error
        except TimeoutError as error:
            raise ExplorerError("limit", describe_error(error)) from error


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
