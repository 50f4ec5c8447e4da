"""Wrappers that add actions to, or remove actions from, command line action spaces."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, overload

from gymnasium.spaces import Space
from typing_extensions import Self, override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.envs.running_step import ConvertedStep, RunningStep
from compiler_gym.service.environment.action_spaces import copy_space
from compiler_gym.spaces import Commandline, CommandlineFlag, Reward
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper
from compiler_gym.wrappers.core import ActionWrapper

_TERMINAL = CommandlineFlag(
    name="end-of-episode", flag="# end-of-episode", description="End the episode"
)


class _DerivedCommandline(CompilerEnvWrapper):
    """Derives its action space from the current action space of the environment inside."""

    def __init__(self, env: CompilerEnv):
        super().__init__(env)
        self._base: Space[Any] | None = None
        self._derived = self._up_to_date()

    @abstractmethod
    def _derive(self, base: Commandline) -> Commandline:
        """Derives the action space from one of the environment inside."""

    def _up_to_date(self) -> Commandline:
        base = self.env.action_space
        if base is not self._base:
            if not isinstance(base, Commandline):
                raise TypeError(
                    f"{type(self).__name__} needs an action space of command lines, a Commandline; "
                    f"that of the environment is a {type(base).__name__}"
                )
            self._derived = self._derive(base)
            self._base = base
        return self._derived

    @property
    @override
    def action_space(self) -> Commandline:
        """The space of actions. Setting it sets the space of the environment inside."""
        return self._up_to_date()

    @action_space.setter
    def action_space(self, space: str | Space[Any] | None) -> None:
        self.env.action_space = space

    @override
    def commandline_to_actions(self, commandline: str) -> list[int]:
        return self.action_space.from_string(commandline)

    @override
    def fork(self) -> Self:
        fork = super().fork()
        fork._base = fork.env.action_space  # Keeps the state of its random generator.
        return fork

    @override
    def fork_attribute(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        if name == "_base":
            return None
        if name == "_derived":
            return copy_space(value)
        return super().fork_attribute(name, value, memo)


class CommandlineWithTerminalAction(_DerivedCommandline):
    """Adds a final action that ends the episode and does not change the program.

    Its step returns ``done`` and ``info["terminal_action"]``; :meth:`multistep` ignores actions
    after it. It is not among :attr:`actions`, and has no text in command lines.

    Args:
        env: An environment with an action space of command lines.
        terminal: The name and description of the action.

    Raises:
        TypeError: If the action space is of another kind.
    """

    def __init__(self, env: CompilerEnv, terminal: CommandlineFlag = _TERMINAL):
        self._terminal = terminal
        super().__init__(env)

    @override
    def _derive(self, base: Commandline) -> Commandline:
        terminal = self._terminal._replace(flag="", option="")
        return base.with_items([*base.items, terminal], f"{type(self).__name__}<{base.name}>")

    @override
    def multistep(
        self,
        actions: Iterable[int],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        actions, is_terminal = self._up_to_terminal(actions)
        result = super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)
        return self._ended(result) if is_terminal else result

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        actions, is_terminal = self._up_to_terminal(actions)
        step = super().begin_multistep(actions, timeout)
        return ConvertedStep(step, self._ended) if is_terminal else step

    def _up_to_terminal(self, actions: Iterable[Any]) -> tuple[list[Any], bool]:
        """Returns the actions before the terminal one, and whether that is among them."""
        actions = list(actions)
        space = self.action_space
        for position, action in enumerate(actions):
            if isinstance(action, str):
                action = space[action]
            if action == space.n - 1:
                return actions[:position], True
        return actions, False

    @staticmethod
    def _ended(result: StepResult) -> StepResult:
        observation, reward, done, info = result
        if not done:
            info["terminal_action"] = True
        return observation, reward, True, info


class ConstrainedCommandline(_DerivedCommandline, ActionWrapper):
    """Restricts the action space to some actions, numbered from 0 in the order given.

    :attr:`actions` has these numbers too.

    Args:
        env: An environment with an action space of command lines.
        flags: The flags or names of the actions to keep.
        name: The name of the action space; by default derived from that of the environment inside.

    Raises:
        UnknownNameError: If there is no such action. It is a KeyError and a ValueError.
        ValueError: If an action is given twice, or none is.
        TypeError: If the action space is of another kind.
    """

    def __init__(self, env: CompilerEnv, flags: Iterable[str], name: str | None = None):
        self._flags = list(flags)
        self._name = name
        self._inside: list[int] = []  # The number inside of each action.
        super().__init__(env)

    @override
    def _derive(self, base: Commandline) -> Commandline:
        inside = [base[flag] for flag in self._flags]
        if len(set(inside)) < len(inside):
            raise ValueError(f"Some of these are the same action: {', '.join(self._flags)}")
        items = base.items
        space = base.with_items(
            [items[number] for number in inside],
            self._name or f"{type(self).__name__}<{base.name}>",
        )
        self._inside = inside
        return space

    @overload
    def action(self, action: int | str) -> int: ...

    @overload
    def action(self, action: list[int | str]) -> list[int]: ...

    @override
    def action(self, action: int | str | list[int | str]) -> int | list[int]:
        """Converts actions or names to numbers of the environment inside.

        Raises:
            ValueError: If there is no such action.
        """
        if isinstance(action, list):
            return [self.action(each) for each in action]
        if isinstance(action, str):
            action = self.action_space[action]
        if not self.action_space.contains(action):
            raise ValueError(
                f"{action!r} is not in the action space {self.action_space.name!r}, the integers "
                f"from 0 to {self.action_space.n - 1}"
            )
        return self._inside[action]

    @override
    def reverse_action(self, action: int) -> int:
        """Converts a number of the environment inside to an action.

        Raises:
            ValueError: If the action was not kept.
        """
        self._up_to_date()
        return self._inside.index(action)

    @property
    @override
    def actions(self) -> list[int]:
        return [self.reverse_action(action) for action in self.env.actions]


class Macros(ConstrainedCommandline):
    """Offers short sequences of passes as actions, in place of single passes.

    An episode of few macros reaches as far as one of many passes, and a learner chooses among good
    sequences only. A macro is one action for limits of time and of steps, and its name is the names
    of its passes, joined by commas.

    Args:
        env: An environment with an action space of command lines.
        sequences: The flags or names of the actions of each macro.

    Raises:
        UnknownNameError: If there is no such action. It is a KeyError and a ValueError.
        ValueError: If a sequence is given twice or is empty, or none is.
        TypeError: If the action space is of another kind or derived by another wrapper, or a
            sequence is a string.
    """

    def __init__(self, env: CompilerEnv, sequences: Iterable[Iterable[str]]):
        inside = env
        while isinstance(inside, CompilerEnvWrapper):
            if isinstance(inside, _DerivedCommandline):
                raise TypeError(f"Macros belongs inside of {type(inside).__name__}, got {env}")
            inside = inside.env
        sequences = list(sequences)
        for each in sequences:
            if isinstance(each, str):
                raise TypeError(f"expected lists of names of actions, got {each!r}; try [{each!r}]")
        named = {",".join(each): each for each in map(tuple, sequences)}
        space = getattr(env, "action_space", None)
        if isinstance(space, Commandline):  # The class above refuses others.
            longer = {name: each for name, each in named.items() if len(each) != 1}
            env.action_space = space.with_macros(longer)
        super().__init__(env, named)
