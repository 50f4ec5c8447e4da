"""Downloads of files with known checksums.

Files are cached by checksum in the ``downloads`` folder of the cache. Without network,
``COMPILER_GYM_DATASET_MIRROR`` may name a directory, or the base address of a server, with the
files under their own names or checksums.

The library pooch also checks and caches files, but has no mirrors by checksum, no lock between
processes and no time limits, which are most of this module.
"""

import base64
import hashlib
import os
import re
import socket
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from http.client import HTTPException, HTTPResponse, InvalidURL
from pathlib import Path
from queue import Empty, SimpleQueue
from time import sleep
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import Request, build_opener

from compiler_gym.errors import DownloadFailed, TooManyRequests
from compiler_gym.util.filesystem import file_lock
from compiler_gym.util.runfiles_path import cache_path

MIRROR_VARIABLE = "COMPILER_GYM_DATASET_MIRROR"

# The time limit from the look-up of the host name to the headers of the reply. Short, because
# without network the user waits for it.
_CONNECT_SECONDS = 10.0
# The time limit without any data during a reply.
_STALL_SECONDS = 30.0
# The waits before further attempts, and their growth.
_WAIT_SECONDS = 1.0
# The wait after a failure of the name server, which may also mean that there is no network.
_NAME_WAIT_SECONDS = 0.25
_TOO_MANY_REQUESTS_WAIT_SECONDS = 10.0
_MAX_WAIT_SECONDS = 120.0
_WAIT_FACTOR = 1.5
_BLOCK_BYTES = 1 << 20
# The HTTP status of requests beyond the end.
_NOT_SATISFIABLE = 416


class _PassingFailure(Exception):  # noqa: N818
    """A transient failure."""

    def __init__(self, reason: str, too_many_requests: bool = False, wait: float = 0.0):
        super().__init__(reason)
        self.too_many_requests = too_many_requests
        self.wait = wait


def download(urls: str | Iterable[str], sha256: str | None = None, max_retries: int = 5) -> bytes:
    """Downloads a file.

    Args:
        urls: The address of the file, or several that are tried in order.
        sha256: Its checksum in hexadecimal. Without one, the file is neither checked nor kept.
        max_retries: The number of attempts for each address after transient failures: too many
            requests, a server error, a broken connection or transfer, a failing name server.

    Returns:
        The contents of the file.

    Raises:
        ValueError: There is no address.
        TooManyRequests: Every address refused because of too many requests.
        DownloadFailed: The file could not be fetched; the text says why for each address.
    """
    if sha256:
        return download_file(urls, sha256, max_retries).read_bytes()
    with tempfile.TemporaryDirectory(prefix="compiler_gym-download-") as directory:
        path = Path(directory) / "file"
        _fetch_first(_addresses(urls, None), path, None, max_retries)
        return path.read_bytes()


def download_file(urls: str | Iterable[str], sha256: str, max_retries: int = 5) -> Path:
    """Downloads a file into the cache, unless it is there.

    Safe with several processes: one of them downloads. An interrupted download is resumed, if the
    server supports it.

    Args:
        urls: The address of the file, or several that are tried in order.
        sha256: Its checksum in hexadecimal.
        max_retries: Same as in :func:`download`.

    Returns:
        The path of the file in the cache. It must not be changed.

    Raises:
        ValueError: There is no address.
        TooManyRequests: Every address refused because of too many requests.
        DownloadFailed: The file could not be fetched; the text says why for each address.
    """
    addresses = _addresses(urls, sha256)
    path = cache_path("downloads") / sha256
    with file_lock(path.with_name(f"{sha256}.lock")):
        # A file with the right name may be damaged, for example by a full disk.
        if not (path.is_file() and _sha256_of(path) == sha256):
            partial = path.with_name(f"{sha256}.part")
            _fetch_first(addresses, partial, sha256, max_retries)
            partial.replace(path)
    return path


def mirror_names(urls: str | Iterable[str]) -> list[str]:
    """Returns the names under which a mirror may hold a file, besides its checksum.

    Args:
        urls: The addresses of the file.

    Returns:
        The last part of the path of each address, e.g. ``"npb-v0.tar.bz2"``. Addresses with a query
        are skipped, because their path does not name the file.
    """
    split = [urlsplit(url) for url in ([urls] if isinstance(urls, str) else urls)]
    names = [unquote(url.path.rpartition("/")[2]) for url in split if not url.query]
    return [name for name in dict.fromkeys(names) if name]


def hide_credentials(text: str) -> str:
    """Returns a text without the users and passwords of the addresses in it."""
    # Up to the last "@" of an address, because a password may contain a slash.
    return re.sub(r"(?<=://)[^\s'\"]*@", "", text)


def request_of(url: str, headers: dict[str, str]) -> Request:
    """Returns a request of an address, which may have a user and password.

    They are not sent to servers that the address redirects to.
    """
    parts = urlsplit(url)
    credentials, _, host = parts.netloc.rpartition("@")
    request = Request(urlunsplit(parts._replace(netloc=host)), headers=headers)
    if credentials:
        user, _, password = credentials.partition(":")
        text = f"{unquote(user)}:{unquote(password)}"
        encoded = base64.b64encode(text.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {encoded}")
    return request


def _addresses(urls: str | Iterable[str], sha256: str | None) -> list[str]:
    """Returns the addresses to try: those of the mirror, then the given ones."""
    given = [urls] if isinstance(urls, str) else list(urls)
    if not given:
        raise ValueError("No address to download from")
    mirror = os.environ.get(MIRROR_VARIABLE)
    if not mirror:
        return given
    base = mirror if "://" in mirror else Path(mirror).expanduser().absolute().as_uri()
    names = mirror_names(given) + ([sha256] if sha256 else [])
    return [f"{base.rstrip('/')}/{quote(name)}" for name in names] + given


def _fetch_first(urls: Sequence[str], path: Path, sha256: str | None, max_retries: int) -> None:
    """Downloads a file from the first address that works."""
    failures: list[DownloadFailed] = []
    for url in urls:
        try:
            return _fetch(url, path, sha256, max_retries)
        except DownloadFailed as error:
            failures.append(error)
    text = "; ".join(f"{url} ({error})" for url, error in zip(urls, failures, strict=True))
    text = hide_credentials(text)
    if all(isinstance(failure, TooManyRequests) for failure in failures):
        raise TooManyRequests(f"Cannot fetch {text}. Try again later.")
    raise DownloadFailed(f"Cannot fetch {text}")


def _fetch(url: str, path: Path, sha256: str | None, max_retries: int) -> None:
    """Downloads a file from one address. Repeats after transient failures."""
    for attempt in range(max(max_retries, 1)):
        try:
            return _fetch_once(url, path, sha256)
        except _PassingFailure as error:
            failure = error
        if attempt + 1 < max_retries:
            sleep(min(failure.wait * _WAIT_FACTOR**attempt, _MAX_WAIT_SECONDS))
    raise (TooManyRequests if failure.too_many_requests else DownloadFailed)(str(failure))


def _fetch_once(url: str, path: Path, sha256: str | None) -> None:
    """Downloads a file from one address, or its rest if the file has the beginning.

    Raises:
        _PassingFailure: If the failure is transient.
        DownloadFailed: For other failures.
    """
    # Without a checksum, a beginning of another file would go unnoticed.
    start = path.stat().st_size if sha256 and path.is_file() else 0
    with _open(url, start) as response:
        # Not all servers support ranges.
        given = response.headers.get("Content-Range")
        is_rest = given is not None and given.startswith(f"bytes {start}-")
        if given is not None and not is_rest:
            path.unlink()
            raise _PassingFailure(f"expected bytes from {start} on, got {given}")
        with path.open("ab" if is_rest else "wb") as file:
            _copy(response, file, unquote(urlsplit(url).path.rpartition("/")[2]))
    if sha256:
        actual = _sha256_of(path)
        if actual != sha256:
            path.unlink()
            reason = f"its SHA-256 checksum is {actual} but should be {sha256}"
            raise _PassingFailure(reason) if is_rest else DownloadFailed(reason)


def _open(url: str, start: int) -> HTTPResponse:
    """Opens an address, with one time limit for name look-up and connection.

    By default, an opener has no limit on name look-up, and a separate one for each address of a
    host.

    Args:
        url: The address.
        start: The number of known bytes, which the reply may omit. If nothing follows, it has all
            of them.
    """
    headers = {"User-Agent": "compiler_gym"}
    if start:
        headers["Range"] = f"bytes={start}-"
    results: SimpleQueue[HTTPResponse | Exception] = SimpleQueue()

    def run() -> None:
        try:
            request = request_of(url, headers)
            # Not urlopen(), which keeps the proxy settings of its first use.
            results.put(build_opener().open(request, timeout=_STALL_SECONDS))
        except Exception as error:
            results.put(error)

    threading.Thread(target=run, daemon=True, name="download").start()
    try:
        result = results.get(timeout=_CONNECT_SECONDS)
    except Empty:
        raise DownloadFailed(f"no answer within {_CONNECT_SECONDS:.0f} seconds") from None
    if isinstance(result, HTTPError) and start and result.code == _NOT_SATISFIABLE:
        return _open(url, 0)
    if isinstance(result, HTTPError):
        raise _http_failure(result) from result
    if isinstance(result, InvalidURL):
        # Its text has part of the address, perhaps a password.
        raise DownloadFailed("not a valid address") from None
    if isinstance(result, Exception):
        raise _connection_failure(result) from result
    return result


def _connection_failure(error: Exception) -> Exception:
    """Returns the failure for a missing reply."""
    cause = error.reason if isinstance(error, URLError) else error
    reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    if isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_AGAIN:
        return _PassingFailure(reason, wait=_NAME_WAIT_SECONDS)
    if isinstance(cause, ConnectionResetError | ConnectionAbortedError | BrokenPipeError):
        return _PassingFailure(reason, wait=_WAIT_SECONDS)
    return DownloadFailed(reason)


def _http_failure(error: HTTPError) -> Exception:
    """Returns the failure for an HTTP error status."""
    reason = f"HTTP status {error.code} {error.reason}".strip()
    if error.code == 429:
        return _PassingFailure(reason, too_many_requests=True, wait=_requested_wait(error))
    if error.code >= 500:
        return _PassingFailure(reason, wait=_WAIT_SECONDS)
    return DownloadFailed(reason)


def _requested_wait(error: HTTPError) -> float:
    """Returns the seconds to wait after "too many requests"."""
    requested = error.headers.get("Retry-After", "")
    return float(requested) if requested.isdecimal() else _TOO_MANY_REQUESTS_WAIT_SECONDS


def _copy(response: HTTPResponse, file: BinaryIO, name: str) -> None:
    """Copies a reply to a file, showing progress when standard error is a terminal."""
    length = response.headers.get("Content-Length")
    total = int(length) if length else None
    copied = 0
    with _Progress(name, total) as progress:
        while block := _read(response):
            file.write(block)
            copied += len(block)
            progress.advance(len(block))
    if total is not None and copied != total:
        reason = f"broken transfer: {copied} of {total} bytes arrived"
        raise _PassingFailure(reason, wait=_WAIT_SECONDS)


def _read(response: HTTPResponse) -> bytes:
    """Returns the next block of a reply, empty at its end."""
    try:
        return response.read(_BLOCK_BYTES)
    except (OSError, HTTPException) as error:
        raise _PassingFailure(f"broken transfer: {error}", wait=_WAIT_SECONDS) from error


class _Progress:
    """A progress bar on standard error, if that is a terminal.

    Args:
        name: What is being downloaded.
        total: Its size in bytes; None if unknown.
    """

    def __init__(self, name: str, total: int | None):
        self._progress = None
        if sys.stderr.isatty():
            # Slow to import, and only needed here.
            from rich import progress
            from rich.console import Console

            self._progress = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.DownloadColumn(),
                progress.TransferSpeedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._progress.add_task(name, total=total)

    def __enter__(self) -> "_Progress":
        if self._progress:
            self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._progress:
            self._progress.stop()

    def advance(self, count: int) -> None:
        """Adds a number of bytes."""
        if self._progress:
            self._progress.advance(self._task, count)


def _sha256_of(path: Path) -> str:
    """Returns the SHA-256 checksum of a file in hexadecimal."""
    checksum = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            checksum.update(block)
    return checksum.hexdigest()
