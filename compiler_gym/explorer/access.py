"""Checks of requests before anything else is done: token, host, origin, size, rate, idle sockets.

The servers of the explorer and of MCP use :func:`guarded`, OpenEnv's :func:`checked`.
"""

import asyncio
import hmac
import ipaddress
import os
import re
import socket
import time
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from cachetools import LRUCache
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from compiler_gym.explorer.limits import Limits
from compiler_gym.explorer.messages import ExplorerError

_MAX_VISITORS = 10_000
# A visitor has many IPv6 addresses: networks of this size are given to one customer.
_IPV6_PREFIX = 64
# A proxy on the same machine names the visitor's address. Others could name any address.
_PROXIES = "127.0.0.1,::1"
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*(:\d{1,5})?", re.ASCII)
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


def listen(host: str, port: int, public_name: str = "") -> tuple[socket.socket, str]:
    """Returns a socket that listens, and the address for clients, e.g. ``http://127.0.0.1:8080``.

    Args:
        host: The address to listen at.
        port: The port; 0 for a free one.
        public_name: The name at a proxy, as for :func:`guarded`.

    Raises:
        ValueError: If the address cannot be used.
    """
    try:
        listening = socket.create_server((host, port))
    except OSError as error:
        raise ValueError(
            f"expected a free address of this machine, got {host}, port {port}: "
            f"{os.strerror(error.errno) if error.errno else error}; try --port 0"
        ) from error
    # Connections inherit it. asyncio does not set it for sockets that are made like this one,
    # and then the end of each answer waits 40 ms for the acknowledgement of its beginning.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    number = listening.getsockname()[1]
    return listening, f"https://{public_name}" if public_name else f"http://{host}:{number}"


def guarded(
    app: ASGIApp,
    limits: Limits,
    host: str,
    token: str = "",
    public_name: str = "",
    **settings: Any,
) -> uvicorn.Config:
    """Returns the settings of a server that admits only checked requests.

    Args:
        app: The application.
        limits: The limits on sizes, rates and connections.
        host: The address to listen at.
        token: The secret at the beginning of each path; empty for none.
        public_name: The name and port under which a proxy with TLS on this machine serves it, e.g.
            ``example.org``; empty for none.
        **settings: More settings of ``uvicorn.Config``.

    Raises:
        ValueError: If the public name is not a host name.
    """
    return serving(checked(app, limits, host, token, public_name), host, public_name, **settings)


def serving(app: ASGIApp, host: str, public_name: str = "", **settings: Any) -> uvicorn.Config:
    """Returns the settings of a server for an application that has :func:`checked` requests.

    Args:
        app: The application.
        host: The address to listen at.
        public_name: The name at a proxy, as for :func:`guarded`.
        **settings: More settings of ``uvicorn.Config``.
    """
    return uvicorn.Config(
        app,
        host=host,
        log_level="warning",
        access_log=False,  # The token is no part of any log.
        server_header=False,
        # Without a proxy, anybody on this machine could name any address as his own.
        proxy_headers=bool(public_name),
        forwarded_allow_ips=_PROXIES,
        **settings,
    )


def checked(
    app: ASGIApp, limits: Limits, host: str, token: str = "", public_name: str = ""
) -> "Access":
    """Returns an application that admits only checked requests to another one.

    The arguments and errors are those of :func:`guarded`.
    """
    if public_name and not _NAME.fullmatch(public_name):
        raise ValueError(
            f"expected a host name such as example.org or example.org:8443, got {public_name!r}"
        )
    hosts = frozenset({"localhost", host, socket.gethostname()})
    return Access(app, token, hosts, limits, public_name)


class Access:
    """An ASGI application that lets requests in which may use another one.

    The path of a request begins with the token. Its host is one of those that the server is known
    by, which keeps out names that another site lets resolve to this machine. Its origin, where a
    browser sends one, is that of the page itself.

    Args:
        app: The other application. It sees paths without the token. The scope has the name of the
            visitor, ``scope["visitor"]``, for limits of its own.
        token: The secret; empty for none.
        hosts: The host names of the server, besides any IP address.
        limits: The limits on sizes, rates and connections.
        public_name: The name and port at a proxy with TLS; empty for none.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        hosts: frozenset[str],
        limits: Limits,
        public_name: str = "",
    ):
        self._app = app
        self._prefix = f"/{token}" if token else ""
        self._hosts = hosts | {_name_of(public_name)} if public_name else hosts
        self._limits = limits
        self._public_origin = f"https://{public_name}" if public_name else None
        self._visits: LRUCache[str, tuple[float, int]] = LRUCache(_MAX_VISITORS)
        self._open: Counter[tuple[str, str]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        visitor = _visitor(scope)
        try:
            path = self._checked_path(scope, visitor)
            self._check_number(visitor, scope["type"])
        except ExplorerError as error:
            await self._refuse(error, scope, receive, send)
            return
        inner = {**scope, "path": path, "raw_path": path.encode(), "root_path": ""}
        key = visitor, scope["type"]
        self._open[key] += 1
        try:
            if scope["type"] == "websocket":
                inner["visitor"] = visitor
                await self._app(inner, self._impatient(receive, send), send)
            else:
                await self._app(inner, self._bounded(receive), _with_headers(send))
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    def _checked_path(self, scope: Scope, visitor: str) -> str:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        self._count(visitor)
        self._check_host(headers.get("host", ""))
        self._check_origin(headers.get("origin"), headers.get("host", ""))
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
        began, count = self._visits.get(visitor, (now, 0))
        if now - began >= 60:
            began, count = now, 0
        self._visits[visitor] = (began, count + 1)
        if count >= self._limits.requests_per_minute:
            raise ExplorerError(
                "limit",
                f"expected at most {self._limits.requests_per_minute} requests a minute; wait a "
                "minute",
            )

    def _check_host(self, host: str) -> None:
        name = _name_of(host)
        if name in self._hosts:
            return
        try:
            ipaddress.ip_address(name)
        except ValueError:
            raise ExplorerError(
                "access",
                f"expected a request to {', '.join(sorted(self._hosts))}, got {name!r}; start the "
                "server with --public-name if that is its name",
            ) from None

    def _check_origin(self, origin: str | None, host: str) -> None:
        # A proxy may put its own name for this server in place of the host, but not of the origin.
        if origin is None or origin == self._public_origin or urlsplit(origin).netloc == host:
            return
        raise ExplorerError("access", f"expected a request of the page itself, got one of {origin}")

    def _check_number(self, visitor: str, kind: str) -> None:
        limit, what = self._limits.requests, "requests"
        if kind == "websocket":
            limit, what = self._limits.sockets, "WebSockets"
        if self._open[visitor, kind] >= limit:
            raise ExplorerError(
                "limit", f"expected at most {limit} {what} at a time; wait for the end of one"
            )

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

    def _impatient(self, receive: Receive, send: Send) -> Receive:
        """Returns a function that disconnects a client which sends nothing for too long."""

        async def receive_soon() -> Message:
            try:
                return await asyncio.wait_for(receive(), self._limits.idle_seconds)
            except asyncio.TimeoutError:
                reason = f"no message for {self._limits.idle_seconds:g} s"
                await send({"type": "websocket.close", "code": 1001, "reason": reason})
                return {"type": "websocket.disconnect", "code": 1001, "reason": reason}

        return receive_soon

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


def _name_of(host: str) -> str:
    return urlsplit(f"//{host}").hostname or ""


def _visitor(scope: Scope) -> str:
    """Returns the address of a client, or the network of an IPv6 address."""
    text = scope["client"][0] if scope.get("client") else ""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if not isinstance(address, ipaddress.IPv6Address):
        return text
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address.packed, _IPV6_PREFIX), strict=False))


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
        await send(message)

    return send_with_headers
