"""The environment whose actions are decisions of LLVM's register allocator."""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from compiler_gym.envs.compiler_env import StepResult
from compiler_gym.envs.llvm.game_env import GameEnv, make_game_rewards
from compiler_gym.envs.llvm.llvm_command_line import LlvmCommandline
from compiler_gym.envs.llvm.regalloc.decisions import (
    Decision,
    EvictionDecision,
    PriorityDecision,
    UnitDecisions,
)
from compiler_gym.envs.running_step import RunningStep
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import TIMEOUT

_RUN = re.compile(r"([\w-]+?)(?:\*(\d+))?")
_FUNCTION_KEY, _GET_FUNCTION_KEY = "llvm.set_function", "llvm.get_function"


class AnswerCommandline(LlvmCommandline):
    """Base class of spaces of answers to questions of the register allocator.

    The last action, ``default``, leaves the answer to LLVM. Several answers have a form such as
    ``evictions<default*12;candidate-3;none>``, which is not a command of any tool of LLVM.
    """

    text_name: ClassVar[str] = ""
    """The word before the angle brackets."""

    @override
    def to_string(
        self, values: int | Iterable[int], textformat: bool = False, forget_analyses: bool = False
    ) -> str:
        """Returns the answers as text, with repeated ones as ``default*12``.

        Args:
            values: The actions.
            textformat: No effect.
            forget_analyses: No effect.

        Raises:
            IndexError: If a value is not in the space.
        """
        del textformat, forget_analyses
        runs = [
            (self.names[value], len(list(run)))
            for value, run in itertools.groupby(self._checked_list(values))
        ]
        texts = [name if count == 1 else f"{name}*{count}" for name, count in runs]
        return f"{self.text_name}<{';'.join(texts)}>"

    @override
    def from_string(self, text: str) -> list[int]:
        """Returns the actions of a text: undoes :meth:`to_string`.

        Raises:
            UnknownNameError: If a part of it is not an action. The text names similar ones.
            ValueError: If the text has another form.
        """
        name, _, rest = text.strip().partition("<")
        if name != self.text_name or not rest.endswith(">"):
            raise ValueError(f"expected {self.text_name}<default*12;...>, got '{text}'")
        actions: list[int] = []
        for part in filter(None, rest[:-1].split(";")):
            run = _RUN.fullmatch(part)
            if run is None:
                raise ValueError(f"expected an action like default or default*12, got '{part}'")
            actions += [self[run[1]]] * int(run[2] or 1)
        return actions


class EvictionCommandline(AnswerCommandline):
    """The integers 0 to 33, each of them the answer to a question about an eviction."""

    text_name = "evictions"


class PriorityCommandline(AnswerCommandline):
    """The integers 0 to 4, each of them the answer to a question about a priority."""

    text_name = "priorities"


# What LLVM's own decisions lead to, for each cost. That is where an episode begins.
_COSTS = {
    "ObjectTextSizeBytes": "ObjectTextSizeOz",
    "SpillCount": "SpillCountDefault",
    "SpillCost": "SpillCostDefault",
}


def make_regalloc_rewards() -> list[Reward]:
    """Makes six rewards: for bytes of code, spills, and their estimated cost.

    See :func:`make_game_rewards`.
    """
    return make_game_rewards(_COSTS)


def describe_question(question: dict[str, Any]) -> str:
    """Describes a question about registers in a few words; empty if there is none.

    Args:
        question: The value of ``EvictionQuestion`` or ``PriorityQuestion``.
    """
    number = question["number"]
    return "" if number < 0 else f"question {number} about {question['function']}"


class AllocationEnv(GameEnv):
    """Base class of environments whose actions decide about registers.

    Steps with an action that the mask forbids raise ``ValueError``, and the episode goes on.

    Args:
        *args: Arguments of :class:`GameEnv`.
        rewards: The rewards; by default those of :func:`make_regalloc_rewards`.
        **kwargs: As ``*args``.

    Raises:
        Exception: Any error of :class:`GameEnv`.
    """

    def __init__(self, *args: Any, rewards: Iterable[Reward] | None = None, **kwargs: Any):
        rewards = make_regalloc_rewards() if rewards is None else rewards
        super().__init__(*args, rewards=rewards, **kwargs)

    def _open_question(self) -> str:
        """Describes the open question in a few words; empty if there is none."""
        raise NotImplementedError

    @override
    def step(self, action: Any, *args: Any, **kwargs: Any) -> StepResult:
        """Answers the open question; see the base class.

        Raises:
            ValueError: If the mask forbids the action. The episode goes on.
            Exception: Any error of the base class.
        """
        self._require_legal(action)
        return super().step(action, *args, **kwargs)

    @override
    def multistep(self, actions: Iterable[Any], *args: Any, **kwargs: Any) -> StepResult:
        return super().multistep(self._with_legal_first(actions), *args, **kwargs)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        return super().begin_multistep(self._with_legal_first(actions), timeout)

    def _with_legal_first(self, actions: Iterable[Any]) -> list[Any]:
        actions = list(actions)
        for action in actions[:1]:
            self._require_legal(action)
        return actions

    def _require_legal(self, action: Any) -> None:
        # The service refuses the action, too, but the step would then count as one that failed.
        number = self.action_space[action] if isinstance(action, str) else action
        names = self.action_space.names
        mask = self.action_masks()
        if not isinstance(number, int | np.integer) or not 0 <= number < len(names) or mask[number]:
            return
        question = self._open_question()
        if question:
            legal = ", ".join(names[each] for each in np.flatnonzero(mask))
            raise ValueError(f"expected one of {legal}, got {names[number]} for {question}")

    @override
    def write_object(self, path: str | Path, for_size: bool = True) -> Path:
        """Writes the object file with the registers as they are allocated now.

        Args:
            path: The file.
            for_size: Must be true, as the registers were allocated in code for size.

        Returns:
            The path.

        Raises:
            ValueError: If ``for_size`` is false.
            SessionNotFound: If there is no episode.
            OSError: If the file cannot be written.
        """
        if not for_size:
            raise ValueError("expected for_size=True, got False: registers are allocated for size")
        path = Path(path).expanduser()
        path.write_bytes(self.observation["ObjectFile"].tobytes())
        return path


class RegallocEnv(AllocationEnv):
    """A program is compiled by ``clang -Oz``, and the actions decide about registers.

    In the action space ``Evictions``, the register allocator asks a question whenever a live range
    finds no free register: which candidate shall be evicted from its register? The actions
    ``candidate-0`` to ``candidate-31`` are registers in the order in which LLVM prefers them, and
    ``none`` evicts nothing.

    In the action space ``Priorities``, it asks for the priority of each live range that enters its
    queue: ``first`` and ``last`` are before and after all that wait, ``sooner`` and ``later`` as if
    the live range were twice or half as long. In both, ``default`` leaves the answer to LLVM. The
    episode ends with the last question.

    LLVM answers the remaining questions, so the program is complete at any time. An episode begins
    with the program of ``clang -Oz``. ``docs/environments/regalloc.md`` has more.

    Args:
        *args: Arguments of :class:`LlvmEnv`, except those for pass plugins and fresh analyses.
        function: Ask about this function only, and leave all others to LLVM. By default all
            functions of the program are asked about, one after the other.
        **kwargs: As ``*args``. The default rewards are those of :func:`make_regalloc_rewards`.

    Raises:
        ValueError: If a running service is given that plays another game. The first ``reset()``
            raises it if the program has no such function.
        Exception: Any error of :class:`LlvmEnv`.
    """

    game = "regalloc"
    action_space_names: ClassVar[tuple[str, ...]] = ("Evictions", "Priorities")

    def __init__(self, *args: Any, function: str | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if function is not None:
            self._set_param(_FUNCTION_KEY, function)

    @override
    @classmethod
    def _action_space_class(cls, name: str) -> type[LlvmCommandline]:
        return EvictionCommandline if name == "Evictions" else PriorityCommandline

    @override
    def action_masks(self) -> np.ndarray:
        """Returns the answers to the open question, as bool[n] for n actions.

        ``default`` is always one of them. It is the only one if there is no further question. All
        answers to a question about a priority are possible.

        Raises:
            SessionNotFound: If there is no episode.
        """
        if self._is_about_priorities():
            is_open = self.observation["PriorityQuestion"]["number"] >= 0
            answers = np.full(len(self.action_space.names) - 1, is_open)
        else:
            answers = self.observation["EvictionMask"].astype(bool)
        return np.append(answers, True)

    def _is_about_priorities(self) -> bool:
        return isinstance(self.action_space, PriorityCommandline)

    @override
    def _open_question(self) -> str:
        kind = "Priority" if self._is_about_priorities() else "Eviction"
        return describe_question(self.observation[f"{kind}Question"])

    def decisions(self, unit: str) -> UnitDecisions:
        """Returns the answers to all questions about the program as it is now, LLVM's own included.

        A stock clang can repeat them: see :func:`write_decisions` and ``compiler-gym-cc --policy``.

        Args:
            unit: The source of the program: the last parts of its path.

        Raises:
            SessionNotFound: If there is no episode.
        """
        function = self.send_param(_GET_FUNCTION_KEY, "")
        functions: dict[str, list[Decision]] = {}
        with self.sibling() as other:
            other._set_param(_FUNCTION_KEY, "")
            other.reset(benchmark=self.benchmark)
            play = _play_priorities if self._is_about_priorities() else _play_evictions
            for name, decision in play(other, self.actions, function):
                functions.setdefault(name, []).append(decision)
        return UnitDecisions(unit, {name: tuple(each) for name, each in functions.items()})


def _play_evictions(
    env: RegallocEnv, actions: Iterable[int], function: str
) -> Iterator[tuple[str, EvictionDecision]]:
    """Plays actions about a function, or about all if it is "", and yields all decisions."""
    answers = iter(actions)
    default = env.action_space["default"]
    while (question := env.observation["EvictionQuestion"])["number"] >= 0:
        legal = np.flatnonzero(env.observation["EvictionMask"]).tolist()
        is_asked = function in ("", question["function"])
        answer = next(answers, default) if is_asked else default
        chosen = question["default"] if answer == default else answer
        is_default = chosen == question["default"]
        yield question["function"], EvictionDecision(chosen, tuple(legal), is_default)
        env.step(answer)


def _play_priorities(
    env: RegallocEnv, actions: Iterable[int], function: str
) -> Iterator[tuple[str, PriorityDecision]]:
    """Plays actions about a function, or about all if it is "", and yields all decisions."""
    asked = list(env.observation["Priorities"]["function"])
    before = asked.index(function) if function in asked else 0
    answers = [env.action_space["default"]] * before + [*actions]
    if answers:
        env.multistep(answers)
    table = env.observation["Priorities"]
    of_function: dict[str, set[int]] = defaultdict(set)
    for name, priority in zip(table["function"], table["chosen"], strict=True):
        of_function[name].add(priority)
    ranks = {
        name: {priority: rank for rank, priority in enumerate(sorted(priorities))}
        for name, priorities in of_function.items()
    }
    for name, size, default, chosen in zip(
        table["function"], table["size"], table["default"], table["chosen"], strict=True
    ):
        yield name, PriorityDecision(ranks[name][chosen], int(size), bool(chosen == default))
