"""The server of the explorer."""

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp
from starlette.websockets import WebSocketDisconnect

from compiler_gym.envs.workbench import COSTS
from compiler_gym.errors import EnvironmentNotSupported, ServiceError
from compiler_gym.errors.service_errors import BLAME_NO_ACTION
from compiler_gym.explorer import jobs, messages
from compiler_gym.explorer.access import guarded, listen
from compiler_gym.explorer.exports import export
from compiler_gym.explorer.limits import Limits
from compiler_gym.explorer.machine_code import code
from compiler_gym.explorer.messages import ExplorerError
from compiler_gym.explorer.source_lines import SourceLines
from compiler_gym.explorer.workbench import Workbench
from compiler_gym.util.shell_format import describe_error

# Bazel and some installers of packages link each file, and no links are followed from the page.
PAGE = (Path(__file__).parent / "page" / "index.html").resolve().parent
"""The folder of the built page."""

_logger = logging.getLogger(__name__)

_Request = TypeVar("_Request", bound=BaseModel)
_MAX_SOCKET_BYTES = 1 << 20
_Job = Callable[[Workbench, Any, jobs.Control], Iterator[BaseModel]]


def make_app(bench: Workbench, page: Path | None = None, compress: bool = True) -> ASGIApp:
    """Returns the application: the page, and the requests that it makes. It admits everybody.

    Args:
        bench: The programs.
        page: The folder of the built page; None for an application without one.
        compress: Whether long answers are compressed.
    """
    app = FastAPI(title="compiler-gym explorer", docs_url=None, redoc_url=None, openapi_url=None)
    _add_errors(app)
    _add_requests(app, bench)
    _add_code_requests(app, bench)
    running = _Running(bench.limits)
    for name, request, job in (
        ("rank", messages.RankRequest, jobs.rank),
        ("search", messages.SearchRequest, jobs.search),
        ("causes", messages.CausesRequest, jobs.causes),
    ):
        app.websocket(f"/api/{name}")(partial(_serve_job, bench, running, request, job))
    if page is not None:
        app.mount("/", StaticFiles(directory=page, html=True))
    if compress:
        app.add_middleware(GZipMiddleware, minimum_size=16_384, compresslevel=1)
    return app


def _add_requests(app: FastAPI, bench: Workbench) -> None:
    # Functions without async run in threads.
    @app.get("/api/info")
    def info() -> messages.Info:
        return bench.info()

    @app.post("/api/program")
    def program(request: messages.ProgramRequest) -> messages.Program:
        return bench.open_program(request)

    @app.post("/api/path", response_model=None)
    def path(request: messages.PathRequest) -> Response:
        return Response(bench.path(request).model_dump_json(), media_type="application/json")

    @app.post("/api/metrics")
    def metrics(request: messages.State) -> messages.Metrics:
        values = bench.observe(request.program, request.actions, [*COSTS.values(), "Autophase"])
        *costs, autophase = values
        named = dict(zip(COSTS, map(int, costs), strict=True))
        return messages.Metrics(**named, autophase=[int(each) for each in autophase])

    @app.post("/api/pipeline")
    def pipeline(request: messages.PipelineRequest) -> messages.Pipeline:
        space = bench.action_space
        try:
            actions = space.from_string(request.text)
        except (LookupError, ValueError) as error:
            raise ExplorerError("input", describe_error(error)) from error
        return messages.Pipeline(actions=[space.names[each] for each in actions])

    @app.post("/api/policy")
    def policy(request: messages.PolicyRequest) -> messages.Pipeline:
        return jobs.policy(bench, request)

    @app.post("/api/export")
    def make_export(request: messages.State) -> messages.Export:
        return export(bench, request)


def _add_code_requests(app: FastAPI, bench: Workbench) -> None:
    sources = SourceLines(bench)

    @app.post("/api/code")
    def make_code(request: messages.State) -> messages.Code:
        return code(bench, request)

    @app.post("/api/lines")
    def lines(request: messages.State) -> messages.Lines:
        return sources.lines(request)

    @app.post("/api/remarks")
    def remarks(request: messages.State) -> messages.Remarks:
        return sources.remarks(request)


def _add_errors(app: FastAPI) -> None:
    def answer(error: ExplorerError) -> Response:
        return JSONResponse(error.problem.model_dump(), status_code=error.status)

    @app.exception_handler(ExplorerError)
    async def explorer_error(request: Request, error: ExplorerError) -> Response:
        return answer(error)

    @app.exception_handler(ServiceError)
    async def service_error(request: Request, error: ServiceError) -> Response:
        return answer(_of_service(error))

    @app.exception_handler(EnvironmentNotSupported)
    async def not_supported(request: Request, error: EnvironmentNotSupported) -> Response:
        return answer(ExplorerError("internal", str(error)))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        problem = ExplorerError("input", str(error.detail)).problem
        return JSONResponse(problem.model_dump(), status_code=error.status_code)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return answer(_invalid(error.errors()))


def _invalid(errors: Any) -> ExplorerError:
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"] if part != "body")
    return ExplorerError("input", f"{place or 'request'}: {first['msg']}")


class _Running:
    """Counts the jobs of visitors."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._jobs: Counter[str] = Counter()

    @contextmanager
    def counted(self, visitor: str) -> Iterator[None]:
        if self._jobs[visitor] >= self._limits.jobs or self._jobs.total() >= self._limits.all_jobs:
            raise ExplorerError("limit", "Too many jobs run at this time; stop one, or try later")
        self._jobs[visitor] += 1
        try:
            yield
        finally:
            self._jobs[visitor] -= 1
            self._jobs += Counter()


async def _serve_job(
    bench: Workbench, running: _Running, request: type[_Request], job: _Job, socket: WebSocket
) -> None:
    """Does a job: reads a request, sends the results, and stops if the page closes the socket."""
    await socket.accept()
    seconds = bench.limits.job_seconds
    try:
        # The time includes pauses, and the waiting for a page that does not read.
        await asyncio.wait_for(_do_job(bench, running, request, job, socket), seconds)
    except asyncio.TimeoutError:
        text = f"expected a job of at most {seconds:g} s, pauses included"
        await _fail(socket, ExplorerError("limit", text))
    with suppress(WebSocketDisconnect, RuntimeError):
        await socket.close()


async def _do_job(
    bench: Workbench, running: _Running, request: type[_Request], job: _Job, socket: WebSocket
) -> None:
    try:
        text = await socket.receive_text()
        with running.counted(socket.scope["visitor"]):
            parsed = request.model_validate_json(text)
            async with aclosing(_results(partial(job, bench, parsed), socket)) as results:
                async for result in results:
                    await socket.send_text(result.model_dump_json())
        await socket.send_text(messages.Done().model_dump_json())
    except WebSocketDisconnect:
        pass
    except Exception as error:
        await _fail(socket, error)


async def _fail(socket: WebSocket, error: Exception) -> None:
    failed = messages.Failed(problem=_problem(error))
    with suppress(WebSocketDisconnect, RuntimeError):
        await socket.send_text(failed.model_dump_json())


def _of_service(error: ServiceError) -> ExplorerError:
    """Returns what the page is told of an error. Not every one is the fault of a pass."""
    kind = "service" if type(error).__name__ in BLAME_NO_ACTION else "pass"
    return ExplorerError(kind, str(error).partition("\n")[0])


def _problem(error: Exception) -> messages.Problem:
    if isinstance(error, ExplorerError):
        return error.problem
    if isinstance(error, ValidationError):
        return _invalid(error.errors()).problem
    if isinstance(error, ServiceError):
        return _of_service(error).problem
    _logger.error("a job failed", exc_info=error)
    return ExplorerError("internal", "The server failed; its log says why").problem


async def _results(
    job: Callable[[jobs.Control], Iterator[BaseModel]], socket: WebSocket
) -> AsyncGenerator[BaseModel, None]:
    """Yields what a job yields in a thread of its own, until the socket is closed."""
    loop = asyncio.get_running_loop()
    control = jobs.Control()
    found: asyncio.Queue[BaseModel | Exception | None] = asyncio.Queue()

    def put(item: BaseModel | Exception | None) -> None:
        loop.call_soon_threadsafe(found.put_nowait, item)

    def work() -> None:
        try:
            for item in job(control):
                put(item)
            put(None)
        except Exception as error:
            put(error)

    async def watch() -> None:
        with suppress(WebSocketDisconnect, RuntimeError):
            while (order := await socket.receive_text()) in ("pause", "resume"):
                control.pause() if order == "pause" else control.resume()
        control.stop()  # By any other message, and by the end.

    working = loop.run_in_executor(None, work)
    watching = asyncio.create_task(watch())
    try:
        while (item := await found.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        control.stop()
        watching.cancel()
        await working


def new_token() -> str:
    """Returns a random secret part of an address."""
    return secrets.token_urlsafe(16)


class ExplorerServer:
    """A server of the explorer that listens.

    Args:
        bench: The programs.
        token: The secret part of the address; empty for none.
        host: The address to listen at.
        port: The port; 0 for a free one.
        page: The folder of the built page.
        public_name: The name of a proxy with TLS, see :func:`guarded`; empty for none.

    Attributes:
        url: The address of the page.

    Raises:
        ValueError: If the address cannot be used, or the public name is not a host name.
    """

    def __init__(
        self,
        bench: Workbench,
        token: str,
        host: str,
        port: int,
        page: Path | None = None,
        public_name: str = "",
    ):
        self._socket, place = listen(host, port, public_name)
        self.url = f"{place}/{token + '/' if token else ''}"
        # Within a machine it takes longer to compress the IR of a large program than to send it.
        compress = bench.limits.is_public or not host.startswith("127.")
        self._server = uvicorn.Server(
            guarded(
                make_app(bench, page, compress),
                bench.limits,
                host,
                token,
                public_name,
                ws_max_size=_MAX_SOCKET_BYTES,
                timeout_graceful_shutdown=1,
            )
        )

    def run(self) -> None:
        """Serves until Ctrl-C, or :meth:`stop`."""
        try:
            self._server.run([self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Makes :meth:`run` return. May be called from any thread."""
        self._server.should_exit = True
