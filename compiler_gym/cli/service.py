"""``compiler-gym service``: describes or runs a compiler service."""

import socket
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from compiler_gym.cli.console import messages, output, print_json, print_line, print_table
from compiler_gym.cli.describe import Part, table_of
from compiler_gym.cli.options import EnvOption, JsonOption, ServiceOption, opened_env

if TYPE_CHECKING:
    from compiler_gym.envs.compiler_env import CompilerEnv

_POLL_SECONDS = 1.0


def service(
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Serve on this port until Ctrl-C; 0 for a free one."),
    ] = None,
    address: ServiceOption = None,
    env: EnvOption = "llvm-v0",
    as_json: JsonOption = False,
) -> None:
    """Describe a compiler service, or run one.

    Programs of the same user on this machine can use a service that serves, by
    make(..., service="localhost:PORT"). For other machines, see docs/security.md.

    \b
    Examples:
      compiler-gym service
      compiler-gym service --port 8080
      compiler-gym service --service localhost:8080
    """  # noqa: D301
    from compiler_gym.service.transport.connection_opts import ConnectionOpts

    if port is not None:
        if address is not None:
            raise typer.BadParameter("Give either --port or --service.")
        settings = ConnectionOpts(script_args=[port_argument(port)], init_max_attempts=1)
        with opened_env(env, connection_settings=settings) as opened:
            serve(opened)
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


def _facts(env: "CompilerEnv") -> dict[str, str]:
    return {
        "service": env.version,
        "compiler": env.compiler_version,
        "address": str(env.service.endpoint),
    }


def port_argument(port: int) -> str:
    """Returns the argument that makes a service listen on a port.

    Args:
        port: The port; 0 for any free one.

    Raises:
        ValueError: If the port is in use.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ValueError(f"Cannot listen at port {port}: {error.strerror}") from error
    return f"--port={port}"


def serve(env: "CompilerEnv") -> NoReturn:
    """Keeps the service of an environment running until interrupted.

    Raises:
        RuntimeError: If the service ends.
    """
    process = env.service.service
    port = (process.working_dir / "port.txt").read_text().strip()
    print(f"The service listens at localhost:{port}", flush=True)
    messages().print("Ctrl-C ends it.")
    while process.exit_code(wait_seconds=_POLL_SECONDS) is None:
        pass
    raise RuntimeError(f"The service has ended: {process.describe_exit()}")
