"""The messages between the explorer's page and its server, and the errors that become messages.

The page's types are generated from :func:`schema`, so that both sides agree.
"""

import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

Language = Literal["c", "c++", "ir"]
Objective = Literal["instructions", "bytes", "cycles"]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


class Action(_Message):
    """An action: its full name, the shortest one, and a sentence about it."""

    name: str
    short: str
    description: str


class Info(_Message):
    """Facts about the server that do not change."""

    version: str
    llvm: str
    actions: list[Action]
    pipelines: list[Action]
    programs: list[str]
    program: str | None
    autophase: list[str]
    is_public: bool
    max_source_bytes: int
    max_search_seconds: float


class Source(_Message):
    """A program as text."""

    language: Language
    text: str
    flags: str = ""


class ProgramRequest(_Message):
    """Asks for a program: a built-in one by name, or one that is given as text."""

    name: str | None = None
    source: Source | None = None


class Program(_Message):
    """A program that is ready. Other requests refer to it by `id`."""

    id: str
    name: str
    instructions: int
    source: Source | None


class Diagnostic(_Message):
    """A message of the compiler about a line of the source. Lines and columns begin with 1."""

    line: int
    column: int
    severity: Literal["error", "warning", "note"]
    message: str


class Problem(_Message):
    """The body of every error."""

    kind: Literal[
        "input", "program", "unknown program", "pass", "limit", "access", "service", "internal"
    ]
    message: str
    diagnostics: list[Diagnostic] = []


STATUS = {
    "input": 400,
    "program": 422,
    "unknown program": 410,
    "pass": 422,
    "limit": 429,
    "access": 403,
    "service": 503,
    "internal": 500,
}
"""The HTTP status of each kind of problem."""


class ExplorerError(RuntimeError):
    """A request that cannot be answered. The text tells the user why.

    Attributes:
        problem: The message for the page.
    """

    def __init__(self, kind: str, message: str, diagnostics: Iterable[Diagnostic] = ()):
        super().__init__(message)
        self.problem = Problem.model_validate(
            {"kind": kind, "message": message, "diagnostics": [*diagnostics]}
        )

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUS[self.problem.kind]


class Step(_Message):
    """The effect of one action. `instructions` is their number afterwards."""

    action: str
    changed: bool
    instructions: int
    functions_changed: list[str]
    functions_removed: list[str]
    functions_added: list[str]


class State(_Message):
    """A state of a program: the actions since the beginning."""

    program: str
    actions: list[str]


class PathRequest(State):
    """Asks for the steps to a state from number `first` on, and for its IR."""

    first: int = Field(default=0, ge=0)


class Path(_Message):
    """The steps to a state, and the textual IR there."""

    steps: list[Step]
    ir: str


class Metrics(_Message):
    """Costs and features of a state; bytes of machine code, and estimated cycles."""

    instructions: int
    bytes: int
    cycles: int
    autophase: list[int]


class PipelineRequest(_Message):
    """Asks for the actions that a pass pipeline or an opt command line stands for."""

    text: str


class Pipeline(_Message):
    """The full names of actions."""

    actions: list[str]


class PolicyRequest(_Message):
    """Asks for the actions that one of the package's policies chooses for a program."""

    program: str
    policy: Literal["pieces", "pieces45", "sequence", "coreset", "network"]


class Export(_Message):
    """A state in forms for other programs. `script` makes it with `opt`, and checks the result."""

    commandline: str
    python: str
    csv: str
    script: str


class CodeFunction(_Message):
    """The machine code of a function: its size, and the offset and text of each instruction."""

    name: str
    bytes: int
    offsets: list[int]
    texts: list[str]


class Code(_Message):
    """The machine code of a state. `bytes` includes read-only data and tables for unwinding."""

    bytes: int
    functions: list[CodeFunction]


class Lines(_Message):
    """The source of a program, and the line of it behind each line of a state's IR and code.

    By function, and by line of the function; 0 where none is known. Functions are left out whose IR
    or code differs when the program is compiled with debug lines. `problem` says why there are none
    at all.
    """

    source: str | None
    ir: dict[str, list[int]]
    code: dict[str, list[int]]
    inexact: list[str]
    problem: str | None = None


class Remark(_Message):
    """A report of the last pass. `line` is that of the source, where it is known."""

    kind: str
    name: str
    function: str
    message: str
    line: int | None


class Remarks(_Message):
    """The reports of the last pass, in order. `more` counts those that are left out."""

    rows: list[Remark]
    more: int


class RankRequest(State):
    """Asks for the effect of each action on a state. Rows come as they are known."""

    objective: Objective


class RankRow(_Message):
    """The effect of an action: what it saves, or the error with which it fails."""

    type: Literal["row"] = "row"
    action: str
    changed: bool
    saved: int | None
    error: str | None = None


class SearchRequest(_Message):
    """Asks for a search of the actions that make a program cheapest."""

    program: str
    objective: Objective
    seconds: float = Field(gt=0)
    seed: int = 0


class SearchPoint(_Message):
    """A search so far. `best` is the lowest cost, and `actions` lead there."""

    type: Literal["point"] = "point"
    seconds: float
    tries: int
    best: int
    actions: list[str]


class CausesRequest(State):
    """Asks which earlier steps the last step of a state depends on."""


class Cause(_Message):
    """The last step without one of the earlier ones. `saved` counts instructions."""

    type: Literal["cause"] = "cause"
    step: int
    changed: bool
    saved: int
    saved_before: int
    verdict: Literal["enables", "does its work", "no influence", "unknown"]


class Done(_Message):
    """The end of a job."""

    type: Literal["done"] = "done"


class Failed(_Message):
    """The end of a job that failed."""

    type: Literal["failed"] = "failed"
    problem: Problem


_ALL = (
    Info, ProgramRequest, Program, PathRequest, Path, State, Metrics, PipelineRequest, Pipeline,
    PolicyRequest, Export, Code, Lines, Remarks, RankRequest, RankRow, SearchRequest, SearchPoint,
    CausesRequest, Cause, Done, Failed,
)  # fmt: skip


def schema() -> dict[str, Any]:
    """Returns the JSON schema of all messages."""
    fields: dict[str, Any] = {each.__name__: (each, ...) for each in _ALL}
    made = create_model("Messages", **fields).model_json_schema(mode="serialization")
    for model in (made, *made["$defs"].values()):
        for field in model["properties"].values():
            field.pop("title", None)  # Each would become a type of its own.
    return made


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
