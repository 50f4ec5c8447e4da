"""``compiler-gym chat``: writes recorded episodes as conversations for language models."""

from pathlib import Path
from typing import Annotated

import typer

from compiler_gym.cli.console import print_line
from compiler_gym.cli.options import check_outputs
from compiler_gym.util.shell_format import plural


def chat(
    recorded: Annotated[
        Path,
        typer.Argument(
            help="The folder that compiler-gym record wrote.", exists=True, file_okay=False
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The new file: .jsonl or .parquet.")
    ] = Path("chat.jsonl"),
    best: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of episodes of each program to keep, the best ones; by default all.",
            show_default=False,
        ),
    ] = None,
    allow_run: Annotated[
        bool,
        typer.Option("--allow-run", help="Run the programs, to compare their output."),
    ] = False,
) -> None:
    """Write recorded episodes as conversations.

    Language models are trained on such conversations with tool calls.

    Each episode is played again. The assistant explains each pass and its effect, from
    measurements and LLVM's remarks. See docs/guides/agents.md.

    \b
    Examples:
      compiler-gym chat recorded --best 1 -o best.jsonl
      compiler-gym chat recorded -o all.parquet
    """  # noqa: D301
    # Not above: it imports the compiler's environment.
    from compiler_gym.agents.chat import write_recorded
    from compiler_gym.distributed.rows import files_of

    check_outputs(files_of(recorded), [output])
    count, total = write_recorded(recorded, [output], best, allow_run)
    print_line(f"{output}: {plural(count, 'conversation')} of {plural(total, 'episode')}")
