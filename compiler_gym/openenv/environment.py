"""The environment of the OpenEnv server: an episode of a task for each session."""

import uuid
from typing import Any

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

import compiler_gym
from compiler_gym.agents.problems import AgentError
from compiler_gym.agents.tasks import (
    SPLITS,
    Answer,
    Budget,
    Episode,
    Task,
    choose_task,
    programs_of,
    tasks_of,
)
from compiler_gym.openenv.models import CompilerAction, CompilerObservation, CompilerState


class CompilerEnvironment(Environment[CompilerAction, CompilerObservation, CompilerState]):
    """A program that an agent makes smaller with LLVM passes.

    Each session has its own process of the compiler. All sessions of the server share the service
    that starts these processes.
    """

    #: OpenEnv may run several sessions at once.
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, budget: Budget | None = None) -> None:
        super().__init__()
        self._budget = budget or Budget()
        self._episode: Episode | None = None
        self._id: str | None = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str = "train",
        index: int | None = None,
        objective: str = "instructions",
        **kwargs: Any,
    ) -> CompilerObservation:
        """Begins an episode.

        Args:
            seed: Chooses the program if no index is given.
            episode_id: The id of the episode; by default a new one.
            split: ``"train"``, ``"validation"`` or ``"test"``.
            index: The number of the program in the split.
            objective: ``"instructions"`` or ``"bytes"``.
            **kwargs: None; other arguments are mistakes.

        Raises:
            AgentError: If there is no such task or argument.
        """
        if kwargs:
            raise AgentError(
                "expected the arguments seed, episode_id, split, index, objective, got "
                f"{', '.join(kwargs)}"
            )
        task = choose_task(split, index, seed, objective)
        self.close()
        self._episode = Episode(task, self._budget)
        self._id = episode_id or str(uuid.uuid4())
        return self._observation(Answer(self._episode.first_text))

    def step(
        self, action: CompilerAction, timeout_s: float | None = None, **kwargs: Any
    ) -> CompilerObservation:
        """Calls a tool. The time is bounded by the limits of the task, not by ``timeout_s``.

        Raises:
            AgentError: If there is no episode.
        """
        del timeout_s, kwargs
        if self._episode is None:
            raise AgentError(
                "expected reset before step; over HTTP each request is a session of its own, so "
                "play episodes over the WebSocket /ws"
            )
        return self._observation(self._episode.call(action.tool, **action.arguments()))

    @property
    def state(self) -> CompilerState:
        """The state of the episode; empty before the first."""
        if self._episode is None:
            return CompilerState(episode_id=self._id, step_count=0)
        task = self._episode.task
        return CompilerState(
            episode_id=self._id,
            step_count=self._episode.calls,
            split=task.split,
            index=task.index,
            program=task.program,
            objective=task.objective,
            passes=[*self._episode.bench.passes],
        )

    def close(self) -> None:
        """Ends the episode, and its process."""
        if self._episode is not None:
            self._episode.close()
            self._episode = None

    def get_metadata(self) -> EnvironmentMetadata:
        """Returns facts about the environment."""
        return EnvironmentMetadata(
            name="compiler_gym",
            description="Make a program smaller with LLVM passes, for a verified reward",
            version=compiler_gym.__version__,
        )

    # ----------------------------------------------------------------------------------------------
    # Tasks.

    def list_splits(self) -> list[str]:
        """Returns the names of the splits."""
        return [*SPLITS]

    def num_tasks(self, split: str) -> int:
        """Returns the number of tasks of a split."""
        return len(programs_of(split=split))

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Returns the tasks of a split."""
        return [_described(task) for task in tasks_of(choose_task(split, 0).split)]

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Returns a task.

        Raises:
            IndexError: If there is no task with that number.
        """
        return self.list_tasks(split)[index]

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        """Returns some tasks of a split, as a slice."""
        return self.list_tasks(split)[start:stop]

    def _observation(self, answer: Answer) -> CompilerObservation:
        assert self._episode is not None
        bench, budget = self._episode.bench, self._episode.budget
        verdict = self._episode.verdict
        return CompilerObservation(
            text=answer.text,
            is_error=answer.is_error,
            instructions=bench.cost(),
            instructions_oz=bench.baseline("instructions", "Oz"),
            calls_left=budget.calls - self._episode.calls,
            passes_left=budget.passes - bench.passes_run,
            done=answer.done,
            reward=answer.reward,
            metadata={} if verdict is None else {"verified": verdict.is_right},
        )


def _described(task: Task) -> dict[str, Any]:
    return {"split": task.split, "index": task.index, "program": task.program}
