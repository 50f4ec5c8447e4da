"""``compiler-gym mcp``: the compiler as tools for language models."""

import os
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from compiler_gym.cli.console import messages, working_on
from compiler_gym.explorer.limits import PUBLIC_NAME_HELP
from compiler_gym.util.optional_packages import require


def mcp(
    root: Annotated[
        Path | None,
        typer.Option(
            help="The folder for reading and writing files.",
            exists=True,
            file_okay=False,
            show_default=False,
        ),
    ] = None,
    allow_run: Annotated[
        bool,
        typer.Option("--allow-run", help="Let validate run programs, to compare their output."),
    ] = False,
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP instead of stdin and stdout.")
    ] = False,
    host: Annotated[str, typer.Option(help="The address to listen on, for --http.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on, for --http.")
    ] = 8765,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="The file of the token that clients must show, for --http; by default a new one.",
            show_default=False,
        ),
    ] = None,
    public_name: Annotated[str, typer.Option(help=PUBLIC_NAME_HELP, show_default=False)] = "",
) -> None:
    """Serve the compiler as tools for language models (MCP).

    Assistants and editors start this program themselves, and talk to it on stdin and stdout. No
    program is run without --allow-run, and no file is read or written outside of --root. See
    docs/guides/agents.md.

    \b
    Examples:
      compiler-gym mcp
      compiler-gym mcp --root project --allow-run
      compiler-gym mcp --http --port 8765 --token-file token
    """  # noqa: D301
    require("fastmcp")
    # Not above: these packages are optional.
    from compiler_gym.agents.mcp import (
        PATH,
        Workbenches,
        make_http_server,
        make_server,
        read_token,
    )
    from compiler_gym.explorer.access import listen

    token = read_token(token_file) if token_file else secrets.token_urlsafe(24)
    with working_on("starting the compiler"):
        benches = Workbenches(root=root, may_run=allow_run)
    try:
        server = make_server(benches)
        if not http:
            # The client gets errors in their arguments as answers; they are no messages to a user.
            server.run(transport="stdio", show_banner=False, log_level="ERROR")
            if sys.stdout.closed:  # By the package mcp, when the client has gone.
                sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
            return
        http_server = make_http_server(server, host, token, public_name)
        listening, place = listen(host, port, public_name)
        with listening:
            messages().print(f"{place}{PATH}", soft_wrap=True)
            if token_file is None:
                messages().print(f"Authorization: Bearer {token}", soft_wrap=True)
            http_server.run([listening])
    finally:
        benches.close()
