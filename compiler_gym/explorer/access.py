"""Checks of requests before anything else is done: token, host, origin, size, rate."""

import hmac
import ipaddress
import time
from collections import OrderedDict
from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from compiler_gym.explorer.limits import Limits
from compiler_gym.explorer.messages import ExplorerError

_MAX_VISITORS = 10_000
_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        b"frame-ancestors 'self' http://localhost:* http://127.0.0.1:*; base-uri 'none'; "
        b"form-action 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Access:
    """An ASGI application that lets requests in which may use another one.

    The path of a request begins with the token. Its host is one of those that the server is known
    by, which keeps out names that another site lets resolve to this machine. Its origin, where a
    browser sends one, is that of the page itself.

    Args:
        app: The other application. It sees paths without the token.
        token: The secret; empty for none.
        hosts: The host names of the server, besides any IP address.
        limits: The limits on sizes and rates.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str], limits: Limits):
        self._app = app
        self._prefix = f"/{token}" if token else ""
        self._hosts = hosts
        self._limits = limits
        self._visits: OrderedDict[str, tuple[float, int]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            path = self._checked_path(scope)
        except ExplorerError as error:
            await self._refuse(error, scope, receive, send)
            return
        inner = {**scope, "path": path, "raw_path": path.encode(), "root_path": ""}
        if scope["type"] == "websocket":
            await self._app(inner, receive, send)
        else:
            await self._app(inner, self._bounded(receive), _with_headers(send))

    def _checked_path(self, scope: Scope) -> str:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        visitor = scope["client"][0] if scope.get("client") else ""
        self._count(visitor)
        self._check_host(headers.get("host", ""))
        _check_origin(headers.get("origin"), headers.get("host", ""))
        if int(headers.get("content-length") or 0) > self._limits.body_bytes:
            raise self._too_large()
        path: str = scope["path"]
        prefix, rest = path[: len(self._prefix)], path[len(self._prefix) :]
        if not hmac.compare_digest(prefix.encode(), self._prefix.encode()) or not rest.startswith(
            "/"
        ):
            raise ExplorerError(
                "access", "expected the token in the address; open the link that the server printed"
            )
        return rest

    def _count(self, visitor: str) -> None:
        now = time.monotonic()
        began, count = self._visits.pop(visitor, (now, 0))
        if now - began >= 60:
            began, count = now, 0
        self._visits[visitor] = (began, count + 1)
        while len(self._visits) > _MAX_VISITORS:
            self._visits.popitem(last=False)
        if count >= self._limits.requests_per_minute:
            raise ExplorerError(
                "limit",
                f"expected at most {self._limits.requests_per_minute} requests a minute; wait a "
                "minute",
            )

    def _check_host(self, host: str) -> None:
        name = urlsplit(f"//{host}").hostname or ""
        if name in self._hosts:
            return
        try:
            ipaddress.ip_address(name)
        except ValueError:
            raise ExplorerError(
                "access", f"expected a request to {', '.join(sorted(self._hosts))}, got {name!r}"
            ) from None

    def _bounded(self, receive: Receive) -> Receive:
        size = 0

        async def receive_some() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._limits.body_bytes:
                raise self._too_large()
            return message

        return receive_some

    def _too_large(self) -> ExplorerError:
        return ExplorerError(
            "limit", f"expected a request of at most {self._limits.body_bytes:,} bytes"
        )

    async def _refuse(
        self, error: ExplorerError, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": str(error)[:120]})
            return
        answer = JSONResponse(error.problem.model_dump(), status_code=error.status)
        await answer(scope, receive, _with_headers(send))


def _check_origin(origin: str | None, host: str) -> None:
    if origin is None:
        return
    if urlsplit(origin).netloc != host:
        raise ExplorerError("access", f"expected a request of the page itself, got one of {origin}")


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
        await send(message)

    return send_with_headers
