"""The OpenEnv server: ``python -m compiler_gym.openenv.app``."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.mcp_types import JsonRpcErrorCode, JsonRpcResponse
from openenv.core.env_server.types import ConcurrencyConfig

from compiler_gym.agents.compiler import shared_compiler
from compiler_gym.agents.tasks import TASK_LIMITS
from compiler_gym.explorer.access import checked, serving
from compiler_gym.explorer.limits import PUBLIC_NAME_HELP, Limits
from compiler_gym.openenv.environment import CompilerEnvironment
from compiler_gym.openenv.models import CompilerAction, CompilerObservation, CompilerState

MAX_MESSAGE_BYTES = 1 << 20
"""The maximum size of a client's message. A longer one ends only its own session."""

_IDLE_SECONDS = 3600.0


def make_app(
    sessions: int = 64,
    sessions_per_address: int | None = None,
    host: str = "127.0.0.1",
    public_name: str | None = None,
) -> FastAPI:
    """Returns the application, which checks each request also in the servers of OpenEnv's tools.

    Args:
        sessions: The maximum number of parallel sessions.
        sessions_per_address: The same for each client's address; by default that of all.
        host: The address that the server listens at.
        public_name: The name of a proxy with TLS, e.g. ``example.org``; empty for none, by default
            that of a Space of Hugging Face.

    Raises:
        ValueError: If the public name is not a host name.
    """
    app: FastAPI = create_app(
        CompilerEnvironment,
        CompilerAction,
        CompilerObservation,
        env_name="compiler_gym",
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=sessions, session_timeout=_IDLE_SECONDS
        ),
        state_cls=CompilerState,
    )
    _refuse_sessions_without_sockets(app)
    of_address = sessions_per_address or sessions
    app.add_middleware(
        checked,
        limits=Limits(
            body_bytes=MAX_MESSAGE_BYTES,
            requests=of_address,  # POST /reset has a session of its own, too.
            sockets=of_address,
            idle_seconds=_IDLE_SECONDS,
        ),
        host=host,
        public_name=_space_name() if public_name is None else public_name,
    )
    return app


def _space_name() -> str:
    # Spaces of Hugging Face have their name in this variable.
    return os.environ.get("SPACE_HOST", "")


def _refuse_sessions_without_sockets(app: FastAPI) -> None:
    """Replaces OpenEnv's POST /mcp, whose sessions belong to no socket that could be counted."""
    routes = app.router.routes
    routes[:] = [
        each
        for each in routes
        if not (
            isinstance(each, APIRoute) and each.path == "/mcp" and "POST" in (each.methods or ())
        )
    ]

    @app.post("/mcp")
    async def mcp(request: Request) -> dict[str, Any]:
        try:
            asked = await request.json()
        except ValueError:
            asked = None
        number = asked.get("id") if isinstance(asked, dict) else None
        answer = JsonRpcResponse.error_response(
            JsonRpcErrorCode.METHOD_NOT_FOUND,
            "expected a WebSocket; play episodes over /ws. The tools of MCP are those of "
            "compiler-gym mcp",
            request_id=number if isinstance(number, (str, int)) else None,
        )
        content: dict[str, Any] = answer.model_dump()
        return content


def make_server(
    host: str,
    port: int,
    sessions: int,
    sessions_per_address: int | None = None,
    public_name: str = "",
) -> uvicorn.Server:
    """Returns the server, which is not started. The compiler is started first.

    Args:
        host: The address to listen at.
        port: The port; 0 for a free one.
        sessions: The maximum number of parallel sessions.
        sessions_per_address: The same for each client's address; by default that of all.
        public_name: The name of a proxy with TLS, e.g. ``example.org``; empty for none.

    Raises:
        ValueError: If the public name is not a host name.
    """
    app = make_app(sessions, sessions_per_address, host, public_name)
    shared_compiler(TASK_LIMITS)
    return uvicorn.Server(
        serving(
            app,
            host,
            public_name,
            port=port,
            ws_max_size=MAX_MESSAGE_BYTES,
            # Answers are short, and compression costs more time than a pass.
            ws_per_message_deflate=False,
            h11_max_incomplete_event_size=MAX_MESSAGE_BYTES,
        )
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the server."""
    parser = argparse.ArgumentParser(prog="compiler_gym.openenv.app", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="the port to listen on")
    parser.add_argument("--sessions", type=int, default=64, help="the maximum number of sessions")
    parser.add_argument(
        "--sessions-per-address",
        type=int,
        help="the maximum number of sessions of one client's address; by default the same",
    )
    parser.add_argument(
        "--public-name", default=_space_name(), help=f"{PUBLIC_NAME_HELP} (SPACE_HOST)"
    )
    options = parser.parse_args(arguments)
    try:
        server = make_server(**vars(options))
    except ValueError as error:
        parser.error(str(error))
    try:
        server.run()
    except KeyboardInterrupt:  # Raised again by uvicorn, after the end of all sessions.
        sys.exit(130)


if __name__ == "__main__":
    main()
