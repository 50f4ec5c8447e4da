"""A task for TRL's ``GRPOTrainer``: the class that its ``environment_factory`` takes.

TRL makes a tool of every public method except ``reset`` and ``get_reward``, from its type hints and
docstring. So the class has no other public methods and no base class. This module does not import
TRL.
"""

import contextlib
import threading
import time

from compiler_gym.agents.problems import AgentError
from compiler_gym.agents.tasks import Budget, Episode, Split, choose_task, tasks_of
from compiler_gym.errors import ServiceError

_CHANGES = ("apply_passes", "try_sequences", "undo")


def prepare(split: Split = "train") -> threading.Thread:
    """Starts the compiler and compiles the programs of a split, in the background.

    Call it before the model is loaded. The first episode of each program then begins at once.

    Returns:
        The thread, which need not be joined.
    """

    def open_programs() -> None:
        # Errors come again, and are reported, when the program is needed.
        with contextlib.suppress(AgentError, ServiceError):
            for task in tasks_of(split):
                Episode(task).close()

    thread = threading.Thread(target=open_programs, name="prepare", daemon=True)
    thread.start()
    return thread


class CompilerTask:
    """A program that a model makes smaller with LLVM passes, for a verified reward.

    ::

        trainer = GRPOTrainer(model=..., environment_factory=CompilerTask, train_dataset=dataset)

    The columns ``split``, ``index`` and ``objective`` of the data set choose the program; without
    them it is a random one. After each change of the program, its verification begins in the
    background, while the model writes.

    Attributes:
        seconds: The total time of all instances in the environment, without the background.
    """

    seconds = 0.0

    def __init__(self) -> None:
        self._episode: Episode | None = None
        self._budget = Budget(calls=12, passes=400)

    def reset(
        self,
        split: str = "train",
        index: int | None = None,
        seed: int | None = None,
        objective: str = "instructions",
        **row: object,
    ) -> str:
        """Begins an episode, and returns what is appended to the prompt."""
        del row
        began = time.perf_counter()
        if self._episode is not None:
            self._episode.close()
        self._episode = Episode(choose_task(split, index, seed, objective), self._budget)
        self._verify_soon()
        CompilerTask.seconds += time.perf_counter() - began
        return self._episode.first_text

    def get_reward(self) -> float:
        """Returns the verified reward; the program is submitted if the model has not done so."""
        episode = self._started()
        if episode.reward is None:
            self._call("submit")
        return episode.reward or 0.0

    def apply_passes(self, passes: list[str]) -> str:
        """Applies LLVM passes to the program, in order, and says what each changed.

        Args:
            passes: The names of the passes, for example sroa, gvn, simplifycfg.

        Returns:
            The number of instructions after each pass.
        """
        return self._call("apply_passes", passes=passes)

    def try_sequences(self, sequences: list[list[str]], apply_best: bool) -> str:
        """Tries several lists of passes, each from the current program, and ranks them.

        Args:
            sequences: The lists of names of passes.
            apply_best: Whether to apply the best list.

        Returns:
            A table of the instructions after each list.
        """
        return self._call("try_sequences", sequences=sequences, apply_best=apply_best)

    def undo(self, count: int) -> str:
        """Takes back the last passes.

        Args:
            count: How many passes to take back.

        Returns:
            A summary of the program as it is then.
        """
        return self._call("undo", count=count)

    def list_passes(self, search: str) -> str:
        """Lists the passes that there are, with a sentence about each.

        Args:
            search: Only passes with this text in their name or description; empty for all.

        Returns:
            A line for each pass.
        """
        return self._call("list_passes", search=search)

    def function_sizes(self) -> str:
        """Lists the functions of the program by their number of instructions.

        Returns:
            A table, the largest function first.
        """
        return self._call("function_sizes")

    def read_function(self, function: str) -> str:
        """Returns the LLVM IR of a function.

        Args:
            function: The name of the function.

        Returns:
            Its text.
        """
        return self._call("read_function", function=function)

    def remarks(self) -> str:
        """Lists what the last pass did, and what it could not do and why.

        Returns:
            LLVM's remarks.
        """
        return self._call("remarks")

    def submit(self) -> str:
        """Ends the episode: verifies the program, and gives the reward.

        Returns:
            The reward.
        """
        return self._call("submit")

    def _started(self) -> Episode:
        if self._episode is None:
            raise RuntimeError("expected reset before any other call")
        return self._episode

    def _verify_soon(self) -> None:
        with contextlib.suppress(ServiceError):  # The verdict reports it.
            self._started().bench.verify_soon()

    def _call(self, tool: str, **arguments: object) -> str:
        began = time.perf_counter()
        try:
            episode = self._started()
            text = episode.call(tool, **arguments).text
            if tool in _CHANGES and episode.reward is None:
                self._verify_soon()
            return text
        finally:
            CompilerTask.seconds += time.perf_counter() - began
