"""Conversion of recorded episodes to conversations with tool calls, for training language models.

A conversation has the form that trainers read: ``messages`` with the roles system, user, assistant
and tool. The episode is played again, so the tools' answers are those that a model gets. The
assistant's text about a pass has its description and its effect, from a measurement or a remark of
LLVM. Nothing is invented.
"""

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from compiler_gym.agents.compiler import Compiler
from compiler_gym.agents.limits import Limits
from compiler_gym.agents.problems import AgentError
from compiler_gym.agents.workbench import Workbench
from compiler_gym.distributed.rows import read_table
from compiler_gym.errors import ServiceError
from compiler_gym.util.filesystem import atomic_file_write
from compiler_gym.util.optional_packages import require
from compiler_gym.util.shell_format import plural

SYSTEM = (
    "You make programs smaller with LLVM passes. Call apply_passes with the names of passes, and "
    "submit when you are done."
)

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "apply_passes",
            "description": (inspect.getdoc(Workbench.apply_passes) or "").partition("\n")[0],
            "parameters": {
                "type": "object",
                "properties": {"passes": {"type": "array", "items": {"type": "string"}}},
                "required": ["passes"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "submit",
            "description": "Ends the episode: verifies the program, and gives the reward.",
            "parameters": {"type": "object", "properties": {}},
        },
    },
]
"""The tools of a conversation, as JSON schemas."""

_REMARKS = 2


def conversations(
    bench: Workbench, rows: Iterable[Mapping[str, Any]], best: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yields the conversations of recorded episodes.

    Args:
        bench: Plays the episodes again.
        rows: The episodes, with the columns of ``compiler-gym record``: ``program``, ``actions``
            and ``sizes``. Those with an ``error`` or a ``failed_action`` are left out.
        best: The number of episodes of each program to keep, those with the smallest program; None
            for all.
    """
    for row in _chosen(rows, best):
        try:
            yield conversation(bench, row["program"], row["actions"])
        except (AgentError, ServiceError) as error:
            raise ValueError(
                f"The episode of {row['program']} cannot be played: {error}"
            ) from error


def _chosen(rows: Iterable[Mapping[str, Any]], best: int | None) -> list[Mapping[str, Any]]:
    good = [row for row in rows if not row.get("error") and not row.get("failed_action")]
    good = [row for row in good if row["actions"]]
    if best is None:
        return good
    counts: dict[str, int] = {}
    chosen = []
    for row in sorted(good, key=lambda row: (row["program"], [*row["sizes"]][-1:])):
        counts[row["program"]] = counts.get(row["program"], 0) + 1
        if counts[row["program"]] <= best:
            chosen.append(row)
    return chosen


def conversation(bench: Workbench, program: str, actions: Sequence[str]) -> dict[str, Any]:
    """Returns an episode as a conversation.

    Passes that change nothing are left out.

    Args:
        bench: Plays the episode again.
        program: The URI of the program.
        actions: The passes.

    Returns:
        ``messages``, ``tools`` (JSON text), ``program``, ``instructions``, ``instructions_oz``,
        ``reward`` and ``verified``.

    Raises:
        AgentError: If the program cannot be used, or a pass fails.
    """
    bench.open_benchmark(program)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"Make this program smaller.\n\n{bench.describe()}"},
    ]
    for name in map(bench.short_name, actions):
        before = bench.cost()
        answer = bench.apply_passes([name])
        if _changed_nothing(answer):
            bench.undo()
            continue
        messages += _exchange("apply_passes", {"passes": [name]}, _reason(bench, before), answer)
    verdict = bench.verdict()
    reward = bench.score() if verdict.is_right else 0.0
    cost, oz = bench.cost(), bench.baseline("instructions", "Oz")
    result = f"instructions {cost}, -Oz {oz}; reward {reward:.4f}"
    reason = f"{plural(len(bench.passes), 'pass', 'passes')} left {cost} instructions; -Oz {oz}."
    messages += _exchange("submit", {}, reason, result)
    return {
        "messages": messages,
        "tools": json.dumps(TOOLS),
        "program": program,
        "instructions": cost,
        "instructions_oz": oz,
        "reward": reward,
        "verified": verdict.is_right,
    }


def _changed_nothing(answer: str) -> bool:
    return answer.splitlines()[1].split()[1] == "no"


def _exchange(
    tool: str, arguments: dict[str, Any], reason: str, answer: str
) -> Iterator[dict[str, Any]]:
    """Yields the call of a tool and its answer."""
    call = {"name": tool, "arguments": json.dumps(arguments)}
    yield {
        "role": "assistant",
        "content": reason,
        "tool_calls": [{"type": "function", "function": call}],
    }
    yield {"role": "tool", "name": tool, "content": answer}


def _reason(bench: Workbench, before: int) -> str:
    """Describes the last pass and its effect, from measurements and LLVM's remarks."""
    name = bench.passes[-1]
    saved = before - bench.cost()
    change = (
        "changes no count" if not saved else f"saves {saved}" if saved > 0 else f"adds {-saved}"
    )
    remarks = [text for _, text, _ in bench.remarks_of_last_pass() if ": passed: " in text]
    said = "".join(f" {text}." for text in remarks[:_REMARKS])
    return f"{bench.description_of(name)} Here it {change} instructions.{said}"


def _check_suffix(path: Path) -> None:
    if path.suffix not in (".jsonl", ".parquet"):
        raise ValueError(f"expected a file that ends in .jsonl or .parquet, got {path}")


def write(path: Path, found: Iterable[Mapping[str, Any]]) -> int:
    """Writes conversations to a new file: ``.jsonl``, a line for each, or ``.parquet``.

    Returns:
        The number of conversations.

    Raises:
        ValueError: If the file has another suffix.
        EnvironmentNotSupported: If the package pyarrow is missing, for ``.parquet``.
    """
    _check_suffix(path)
    rows = [*found]
    if path.suffix == ".jsonl":
        with atomic_file_write(path, fileobj=True, mode="w") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")
    else:
        pa, parquet = require("pyarrow"), require("pyarrow.parquet")
        with atomic_file_write(path) as temporary:
            parquet.write_table(pa.Table.from_pylist(rows), temporary)
    return len(rows)


def write_recorded(
    folder: Path, paths: Sequence[Path], best: int | None = None, may_run: bool = False
) -> tuple[int, int]:
    """Writes the episodes that ``compiler-gym record`` wrote to a folder as conversations.

    Args:
        folder: The folder.
        paths: The new files, see :func:`write`.
        best: The number of episodes of each program to keep; None for all.
        may_run: Whether to run the programs, to verify them.

    Returns:
        The number of conversations and of episodes.

    Raises:
        FileNotFoundError: If the folder has no episodes.
        EnvironmentNotSupported: If the package pyarrow is missing.
        ValueError: If an episode cannot be played again.
    """
    for path in paths:
        _check_suffix(path)
    columns = ["program", "actions", "sizes", "failed_action", "error"]
    rows = read_table(folder, columns).select(columns).to_pylist()
    limits = Limits()
    with (
        closing(Compiler(limits)) as compiler,
        closing(Workbench(compiler, limits, may_run=may_run)) as bench,
    ):
        found = [*conversations(bench, rows, best)]
    for path in paths:
        write(path, found)
    return len(found), len(rows)
