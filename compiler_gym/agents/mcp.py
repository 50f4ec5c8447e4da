"""The tools of a workbench over the Model Context Protocol, on stdio or HTTP."""

import functools
import hmac
import inspect
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import fastmcp.exceptions
import uvicorn
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import FunctionTool
from mcp.types import ToolAnnotations
from pydantic import Field, ValidationError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

import compiler_gym
from compiler_gym.agents.compiler import Compiler
from compiler_gym.agents.limits import Limits
from compiler_gym.agents.problems import AgentError
from compiler_gym.agents.workbench import TOOLS, Workbench
from compiler_gym.explorer.access import guarded
from compiler_gym.explorer.limits import LOCAL
from compiler_gym.util.filesystem import read_text

PATH = "/mcp"
"""The path of the server's address."""

INSTRUCTIONS = """\
CompilerGym: make a program smaller or faster with LLVM optimisation passes, one pass at a time.
The order of passes matters, and the best order differs between programs. The goal is usually to
beat clang's -Oz (size) or -O3 (speed). The program is kept between calls.
1. open_program: a built-in program (name='sha256'), source text, or a file.
2. try_sequences: try many lists of passes at once and see a table; apply_best=true keeps the best.
   A good start: ["sroa", "early-cse", "simplifycfg", "instcombine", "ipsccp", "globalopt",
   "deadargelim", "gvn", "dse", "adce", "simplifycfg", "globaldce", "mergefunc"].
3. function_sizes, read_function, remarks and diff show what is left and why.
4. undo and fork are cheap: explore, go back, keep the best branch.
5. validate before you report a result; export gives the command line of opt or a file."""

_READS = {
    *("list_programs", "list_passes", "describe_pass", "branches", "describe", "compare"),
    *("function_sizes", "read_function", "control_flow", "diff", "remarks", "validate"),
}
_MAX_SESSIONS = 16
_IDLE_SECONDS = 3600.0
_ARGUMENT = re.compile(r"^(\w+): (.*(?:\n {4,}.*)*)", re.M)


class _ArgumentErrors(Middleware):
    """Describes errors in the arguments of a call in one line."""

    async def on_call_tool(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]
    ) -> Any:
        try:
            return await call_next(context)
        except fastmcp.exceptions.ValidationError as error:
            cause = error.__cause__
            details = cause.errors() if isinstance(cause, ValidationError) else []
            problems = "; ".join(
                f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
                + ("" if "missing" in each["type"] else f", got {str(each['input'])[:80]!r}")
                for each in details[:3]
            )
            raise ToolError(f"{problems}. Call the tool again as its schema says") from error


class Workbenches:
    """A workbench for each session of a client.

    Args:
        limits: The limits.
        root: The folder of the files that can be opened and written; None for none.
        may_run: Whether programs may be run.
        max_sessions: The number of workbenches; the one that was used least recently is closed.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        root: Path | None = None,
        may_run: bool = False,
        max_sessions: int = _MAX_SESSIONS,
    ):
        self._limits = limits or Limits()
        self._compiler = Compiler(self._limits)
        self._root = root
        self._may_run = may_run
        self._max_sessions = max_sessions
        self._lock = threading.Lock()
        self._benches: OrderedDict[str, tuple[Workbench, float]] = OrderedDict()

    def of(self, session: str) -> Workbench:
        """Returns the workbench of a session."""
        now = time.monotonic()
        with self._lock:
            bench, _ = self._benches.pop(session, (None, 0.0))
            bench = bench or Workbench(self._compiler, self._limits, self._root, self._may_run)
            self._benches[session] = bench, now
            closed = []
            for other, (unused, used) in [*self._benches.items()]:
                if len(self._benches) > self._max_sessions or now - used > _IDLE_SECONDS:
                    closed.append(unused)
                    del self._benches[other]
        for unused in closed:
            unused.close()
        return bench

    def close(self) -> None:
        """Ends all sessions."""
        with self._lock:
            for bench, _ in self._benches.values():
                bench.close()
            self._benches.clear()
        self._compiler.close()


def make_server(benches: Workbenches) -> "FastMCP[Any]":
    """Returns the MCP server of some workbenches."""
    server: FastMCP[Any] = FastMCP(
        "compiler-gym",
        INSTRUCTIONS,
        version=compiler_gym.__version__,
        middleware=[_ArgumentErrors()],
        mask_error_details=True,
    )
    for name in TOOLS:
        server.add_tool(_tool(benches, name))
    return server


def _tool(benches: Workbenches, name: str) -> FunctionTool:
    """Returns a tool that calls a method of the workbench of the session."""
    method: Callable[..., str] = getattr(Workbench, name)

    @functools.wraps(method)
    def call(**arguments: Any) -> str:
        bench = benches.of(get_context().session_id)
        try:
            return bench.call(name, **arguments)
        except AgentError as error:
            raise ToolError(str(error), log_level=logging.DEBUG) from error

    description, arguments = _documentation(method)
    hints = get_type_hints(method, include_extras=True)
    parameters = [
        each.replace(
            annotation=Annotated[hints[each.name], Field(description=arguments[each.name])]
        )
        for each in [*inspect.signature(method).parameters.values()][1:]
    ]
    del call.__wrapped__
    call.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": str}
    return FunctionTool.from_function(
        call,
        name=name,
        description=description,
        output_schema=None,
        annotations=ToolAnnotations(readOnlyHint=name in _READS, openWorldHint=False),
    )


def _documentation(method: Callable[..., str]) -> tuple[str, dict[str, str]]:
    """Returns the description of a tool, and that of each argument, from its docstring."""
    text, _, rest = (inspect.getdoc(method) or "").partition("\n\nArgs:\n")
    block = inspect.cleandoc(rest)
    return text, {name: " ".join(lines.split()) for name, lines in _ARGUMENT.findall(block)}


# --------------------------------------------------------------------------------------------------
# HTTP.


class BearerToken:
    """An ASGI application that admits requests with a token.

    Args:
        app: The other application.
        token: The token.
    """

    def __init__(self, app: ASGIApp, token: str):
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a request."""
        if scope["type"] == "http":
            shown = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(shown, self._expected):
                answer = JSONResponse(
                    {"error": "expected the header Authorization: Bearer TOKEN"},
                    status_code=401,
                    headers={"www-authenticate": "Bearer"},
                )
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def make_http_server(
    server: "FastMCP[Any]", host: str, token: str, public_name: str = ""
) -> uvicorn.Server:
    """Returns a server for the protocol's "streamable HTTP". It is not started.

    Requests need the token and the server's own host name, so that pages of other sites cannot
    reach it by a name that resolves to this machine.

    Args:
        server: The MCP server.
        host: The address to listen at.
        token: The token.
        public_name: The name of a proxy with TLS, see :func:`guarded`; empty for none.

    Raises:
        ValueError: If the public name is not a host name.
    """
    app = BearerToken(server.http_app(path=PATH), token)
    return uvicorn.Server(guarded(app, LOCAL, host, public_name=public_name))


def read_token(path: Path) -> str:
    """Reads a token from a file.

    Raises:
        ValueError: If it is too short, or other users can read the file.
        OSError: If the file cannot be read.
    """
    if path.stat().st_mode & 0o077:
        raise ValueError(f"expected a file that only you can read, got {path}; try chmod 600")
    token = read_text(path).strip()
    if len(token) < 16 or not token.isprintable() or " " in token:
        raise ValueError(f"expected a token of at least 16 printable characters in {path}")
    return token
