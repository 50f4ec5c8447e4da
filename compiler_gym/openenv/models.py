"""The messages of the OpenEnv environment."""

from typing import Annotated, Any, Literal

from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from compiler_gym.agents.tasks import TASK_LIMITS

_PassName = Annotated[str, Field(max_length=200)]
_Passes = Annotated[list[_PassName], Field(max_length=TASK_LIMITS.actions)]

Tool = Literal[
    "list_passes",
    "describe_pass",
    "apply_passes",
    "undo",
    "try_sequences",
    "describe",
    "compare",
    "function_sizes",
    "read_function",
    "control_flow",
    "diff",
    "remarks",
    "submit",
]


class CompilerAction(Action):
    """A call of a tool. Arguments that the tool does not have are left out."""

    tool: Tool = Field(description="The tool. submit ends the episode and gives the reward.")
    passes: _Passes | None = Field(None, description="LLVM passes for apply_passes, in order.")
    sequences: Annotated[list[_Passes], Field(max_length=TASK_LIMITS.sequences)] | None = Field(
        None, description="Lists of passes for try_sequences."
    )
    apply_best: bool | None = Field(
        None, description="True if try_sequences should apply the best list."
    )
    objective: Literal["instructions", "bytes", "cycles"] | None = Field(
        None, description="The cost for try_sequences and function_sizes."
    )
    function: str | None = Field(
        None, max_length=4096, description="A function for read_function, control_flow, diff."
    )
    name: str | None = Field(None, max_length=200, description="A pass for describe_pass.")
    search: str | None = Field(None, max_length=200, description="A text for list_passes.")
    count: int | None = Field(None, description="The number of passes for undo and diff.")
    length: Literal["summary", "detail", "ir"] | None = Field(
        None, description="The length of describe."
    )
    offset: int | None = Field(None, description="The characters of an answer to skip.")

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of the tool that are given."""
        return self.model_dump(exclude={"tool", "metadata"}, exclude_none=True)


class CompilerObservation(Observation):
    """The answer to an action."""

    text: str = Field(description="The answer, for a model to read.")
    is_error: bool = Field(False, description="True if the action failed.")
    instructions: int = Field(description="IR instructions of the current program.")
    instructions_oz: int = Field(description="IR instructions after -Oz.")
    calls_left: int = Field(description="Calls of tools that are left.")
    passes_left: int = Field(description="Passes that may still be run.")


class CompilerState(State):
    """The state of an episode."""

    split: str = Field("", description="The part of the data set: train, validation or test.")
    index: int = Field(-1, description="The number of the program in this part.")
    program: str = Field("", description="The URI of the program.")
    objective: str = Field("", description="The cost that the reward measures.")
    passes: list[str] = Field(default_factory=list, description="The passes that were applied.")
