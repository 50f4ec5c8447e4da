"""Tasks for agents: make a held program smaller within a budget, for a verified reward."""

import random
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from compiler_gym.agents.compiler import Compiler, shared_compiler
from compiler_gym.agents.limits import Limits
from compiler_gym.agents.problems import AgentError, text_of
from compiler_gym.agents.verify import Verdict
from compiler_gym.agents.workbench import Workbench
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS
from compiler_gym.errors import ServiceError

Split = Literal["train", "validation", "test"]
TaskObjective = Literal["instructions", "bytes"]

SPLITS: tuple[Split, ...] = ("train", "validation", "test")

# Not cycles: they are an estimate, which passes can lower without making the program faster.
OBJECTIVES: tuple[TaskObjective, ...] = ("instructions", "bytes")

TOOLS = (
    *("list_passes", "describe_pass", "apply_passes", "undo", "try_sequences", "describe"),
    *("compare", "function_sizes", "read_function", "control_flow", "diff", "remarks", "submit"),
)
"""The tools of an episode. None opens another program, and none writes a file."""

TASK_LIMITS = Limits(
    answer_characters=4_000,
    instructions=200_000,
    actions=500,
    sequences=32,
    step_seconds=10,
    call_seconds=30,
    session_mib=1_024,
)
"""The limits of a task, tighter than those of a person's own assistant."""


@dataclass(frozen=True)
class Budget:
    """The budget of an episode.

    Attributes:
        calls: Calls of tools. The last one submits the program.
        passes: Passes that are run, including trials.
    """

    calls: int = 30
    passes: int = 1_000


@dataclass(frozen=True)
class Task:
    """A program to make smaller.

    Attributes:
        split: The part of the data set.
        index: The number of the program in this part.
        program: The URI of the program.
        objective: The cost that the reward measures.
    """

    split: Split
    index: int
    program: str
    objective: TaskObjective = "instructions"


@cache
def programs_of(split: str, dataset: str = KERNELS) -> tuple[str, ...]:
    """Returns the URIs of the programs of a part of a data set, in their order.

    Raises:
        AgentError: If there is no such part.
        LookupError: If there is no such data set.
    """
    if split not in SPLITS:
        raise AgentError(f"expected split {', '.join(SPLITS)}, got {split!r}")
    datasets = shared_compiler(TASK_LIMITS).datasets
    return (*datasets[dataset].benchmark_uris(split),)


def choose_task(
    split: str = "train",
    index: int | None = None,
    seed: int | None = None,
    objective: str = "instructions",
    dataset: str = KERNELS,
) -> Task:
    """Returns a task.

    Args:
        split: The part of the data set: ``"train"``, ``"validation"`` or ``"test"``.
        index: The number of the program. None for a random one.
        seed: Chooses the random one.
        objective: ``"instructions"`` or ``"bytes"``.
        dataset: The data set.

    Raises:
        AgentError: If there is no such task.
    """
    programs = programs_of(split, dataset)
    if objective not in OBJECTIVES:
        raise AgentError(f"expected objective {', '.join(OBJECTIVES)}, got {objective!r}")
    if index is None:
        index = random.Random(seed).randrange(len(programs))
    if not isinstance(index, int) or not 0 <= index < len(programs):
        raise AgentError(f"expected index from 0 to {len(programs) - 1}, got {index!r}")
    return Task(split, index, programs[index], objective)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Answer:
    """The answer to a call of a tool.

    Attributes:
        text: The text for the agent.
        reward: The verified reward, at the end of the episode; None before.
        is_error: True if the call failed.
    """

    text: str
    reward: float | None = None
    is_error: bool = False

    @property
    def done(self) -> bool:
        """True if the episode has ended."""
        return self.reward is not None


class Episode:
    """An episode of a task: calls of tools until the program is submitted, or the budget is spent.

    The reward is given once, at the end, for the final program: the reduction of the objective
    divided by that of -Oz, from 0 to 10. A program that is broken, prints something else, or
    exceeds its time limit gets 0.

    Args:
        task: The task.
        budget: The budget.
        compiler: The compiler; by default that of this process.
        limits: The limits.
        may_run: Run the program for the verification. All programs are from data sets; no text of
            an agent is ever compiled or run.

    Attributes:
        reward: The verified reward; None before the end of the episode.
        verdict: The result of the verification; None before the end of the episode.

    Raises:
        AgentError: If the program cannot be used.
    """

    def __init__(
        self,
        task: Task,
        budget: Budget | None = None,
        compiler: Compiler | None = None,
        limits: Limits = TASK_LIMITS,
        may_run: bool = True,
    ):
        self.task = task
        self.budget = budget or Budget()
        self.calls = 0
        self.reward: float | None = None
        self.verdict: Verdict | None = None
        self.bench = Workbench(
            compiler or shared_compiler(limits),
            limits,
            may_run=may_run,
            pass_budget=self.budget.passes,
        )
        self.first_text = self._open()

    def _open(self) -> str:
        opened = self.bench.open_program(self.task.program)
        return (
            f"Task: lower the {self.task.objective} of this program with LLVM passes, below -Oz if "
            f"you can. You have {self.budget.calls} calls of tools, and may run "
            f"{self.budget.passes} passes, tried ones included. Call submit when you are done: "
            "the program is verified, and the reward is what it saves as a share of what -Oz saves."
            f"\n\n{opened}"
        )

    def close(self) -> None:
        """Ends the sessions of the episode."""
        self.bench.close()

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Calls a tool.

        Args:
            tool: One of :data:`TOOLS`.
            **arguments: Arguments of the method of :class:`Workbench`.

        Returns:
            The answer. An error of the agent is an answer, too.
        """
        if self.reward is not None:
            return Answer("The episode has ended. Call reset for another one", self.reward, True)
        self.calls += 1
        is_error = False
        try:
            text = self._call(tool, arguments)
        except AgentError as error:
            text, is_error = f"Error: {error}", True
        if self.reward is None and self.calls >= self.budget.calls:
            text = f"{text}\n{self.submit()}"
        return Answer(text, self.reward, is_error)

    def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        if tool not in TOOLS:
            raise AgentError(f"expected one of the tools {', '.join(TOOLS)}, got {tool!r}")
        if tool == "submit":
            return self.submit()
        try:
            return self.bench.call(tool, **arguments)
        except (AttributeError, TypeError) as error:
            raise AgentError(f"expected the arguments of {tool}: {error}") from error

    def submit(self) -> str:
        """Verifies the program, and ends the episode with the reward."""
        try:
            self.verdict = self.bench.verdict()
        except ServiceError as error:
            self.bench.restore()
            self.verdict = Verdict((f"the compiler failed: {text_of(error)[:300]}",), (), False)
        cost = self.bench.cost(self.task.objective)
        oz = self.bench.baseline(self.task.objective, "Oz")
        self.reward = self.bench.score(self.task.objective) if self.verdict.is_right else 0.0
        reason = "; ".join(self.verdict.problems)
        verified = "verified" if self.verdict.is_right else f"NOT verified: {reason}"
        return f"{self.task.objective} {cost}, -Oz {oz}; {verified}; reward {self.reward:.4f}"


def tasks_of(split: Split, dataset: str = KERNELS) -> list[Task]:
    """Returns the tasks of a part of a data set."""
    return [
        Task(split, index, program) for index, program in enumerate(programs_of(split, dataset))
    ]
