"""``compiler-gym service``: what a compiler service offers; or one that serves."""

import socket
import time
from typing import Annotated

import typer

from compiler_gym.cli.console import messages, output, print_json, print_line, print_table
from compiler_gym.cli.describe import Part, table_of
from compiler_gym.cli.options import EnvOption, JsonOption, ServiceOption, opened_env
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.service.connection_opts import ConnectionOpts


def service(
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Serve at this port until Ctrl-C; 0 for a free one."),
    ] = None,
    address: ServiceOption = None,
    env: EnvOption = "llvm-v0",
    as_json: JsonOption = False,
) -> None:
    """Start a compiler service, and show what it offers, or serve.

    Programs of the same user on this machine can use a service that serves, by
    make(..., service="localhost:PORT"). For other machines, see docs/security.md.

    \b
    Examples:
      compiler-gym service
      compiler-gym service --port 8080
      compiler-gym service --service localhost:8080
    """  # noqa: D301
    if port is not None:
        if address is not None:
            raise typer.BadParameter("Give either --port or --service.")
        serve(env, port)
        return
    with opened_env(env, address) as opened:
        facts = _facts(opened)
        tables = {
            "action spaces": [
                {"action space": space.name, "actions": space.n} for space in opened.action_spaces
            ],
            "observations": table_of(opened, Part.observations),
            "rewards": table_of(opened, Part.rewards),
        }
        if as_json:
            print_json(facts | tables)
            return
        for name, value in facts.items():
            output().print(f"{name:10}{value}", soft_wrap=True)
        for title, rows in tables.items():
            print_line()
            print_table(rows, title.capitalize())


def _facts(env: CompilerEnv) -> dict[str, str]:
    return {
        "service": env.version,
        "compiler": env.compiler_version,
        "address": str(env.service.endpoint),
    }


def serve(id: str, port: int) -> None:
    """Runs the service of an environment until interrupted.

    Args:
        id: The id of the environment.
        port: Where to listen; 0 for any free port.

    Raises:
        ValueError: If the port is taken.
    """
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ValueError(f"Cannot listen at port {port}: {error.strerror}") from error
    settings = ConnectionOpts(script_args=[f"--port={port}"], init_max_attempts=1)
    with opened_env(id, connection_settings=settings) as env:
        path = env.service.service.working_dir / "port.txt"
        print(f"The service of {id} listens at localhost:{path.read_text().strip()}", flush=True)
        messages().print("Ctrl-C ends it.")
        while True:
            time.sleep(1)
            if env.service.service.closed:
                raise RuntimeError("The service has ended")
