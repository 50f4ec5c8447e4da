"""Tests of compiler_gym.util.download."""

import base64
import hashlib
import io
import socket
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from http.client import RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError

import pytest

from compiler_gym.errors import DownloadFailed, TooManyRequests
from compiler_gym.util import download as module
from compiler_gym.util.download import download, download_file

DATA = b"program " * 1000
SHA256 = hashlib.sha256(DATA).hexdigest()


class _Server:
    """An HTTP server on this machine that gives prepared answers.

    Attributes:
        answers: The (status, headers, body) of each request in turn; the last one is repeated.
        requests: The paths that were asked for.
        ranges: What of them: the header ``Range``, or None.
        credentials: Likewise the header ``Authorization``.
    """

    def __init__(self):
        self.answers = [(200, {}, DATA)]
        self.requests = []
        self.ranges = []
        self.credentials = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                outer.ranges.append(self.headers["Range"])
                outer.credentials.append(self.headers["Authorization"])
                index = min(len(outer.requests), len(outer.answers)) - 1
                status, headers, body = outer.answers[index]
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(autouse=True)
def isolated(tmp_path, monkeypatch):
    """An empty cache, no mirror, no proxy, and no waiting."""
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(module.MIRROR_VARIABLE, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(module, "sleep", lambda seconds: waits.append(seconds))
    waits.clear()


waits: list[float] = []


@pytest.fixture
def server():
    server = _Server()
    yield server
    server.close()


@pytest.fixture
def closed_url():
    """An address of this machine where nobody answers."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{sock.getsockname()[1]}/file"


def test_without_checksum_nothing_is_kept(server, tmp_path):
    assert download(f"{server.url}/file") == DATA
    assert download(f"{server.url}/file") == DATA
    assert len(server.requests) == 2
    assert not list(tmp_path.glob("cache/downloads/*"))


def test_with_checksum_downloaded_once(server):
    assert download(f"{server.url}/file", SHA256) == DATA
    path = download_file(f"{server.url}/file", SHA256)
    assert server.requests == ["/file"]
    path.write_bytes(b"damaged")
    assert download(f"{server.url}/file", SHA256) == DATA


def test_all_addresses_are_told_of(server, closed_url):
    server.answers = [(404, {}, b"")]
    with pytest.raises(DownloadFailed) as info:
        download([closed_url, f"{server.url}/gone"])
    assert closed_url in str(info.value) and "refused" in str(info.value)
    assert f"{server.url}/gone (HTTP status 404 Not Found)" in str(info.value)
    assert waits == []


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([(503, {}, b""), (500, {}, b"")], [1.0, 1.5]),
        ([(429, {"Retry-After": "7"}, b"")], [7.0]),
    ],
)
def test_server_errors_are_retried(server, answers, expected):
    server.answers = [*answers, (200, {}, DATA)]
    assert download(f"{server.url}/file") == DATA
    assert waits == expected


def test_too_many_requests_waits_longer_and_longer(server):
    server.answers = [(429, {}, b"")]
    with pytest.raises(TooManyRequests, match="429"):
        download(f"{server.url}/file", max_retries=4)
    assert len(server.requests) == 4
    assert waits == [10.0, 15.0, 22.5]


def range_of(start):
    return {"Content-Range": f"bytes {start}-{len(DATA) - 1}/{len(DATA)}"}


class TestResume:
    BROKEN = (200, {"Content-Length": str(len(DATA))}, DATA[:1000])
    REST = (206, range_of(1000), DATA[1000:])

    @pytest.mark.parametrize(
        ("answers", "ranges"),
        [
            ([BROKEN, REST], ["bytes=1000-"]),
            # A server that cannot.
            ([BROKEN, (200, {}, DATA)], ["bytes=1000-"]),
            # Another range than that which was asked for, and the beginning of another file.
            ([BROKEN, (206, range_of(500), DATA[500:]), (200, {}, DATA)], ["bytes=1000-", None]),
            ([(200, BROKEN[1], b"x" * 1000), REST, (200, {}, DATA)], ["bytes=1000-", None]),
        ],
    )
    def test_after_a_broken_transfer(self, server, answers, ranges):
        server.answers = answers
        assert download(f"{server.url}/file", SHA256) == DATA
        assert server.ranges == [None, *ranges]

    def test_more_than_the_file(self, server, tmp_path):
        folder = tmp_path / "cache" / "downloads"
        folder.mkdir(parents=True)
        (folder / f"{SHA256}.part").write_bytes(DATA + b"more")
        server.answers = [(416, {}, b""), (200, {}, DATA)]
        assert download(f"{server.url}/file", SHA256, max_retries=1) == DATA
        assert server.ranges == [f"bytes={len(DATA) + 4}-", None]
        assert [path.suffix for path in sorted(folder.iterdir())] == ["", ".lock"]

    def test_not_without_a_checksum(self, server):
        server.answers = [self.BROKEN, (200, {}, DATA)]
        assert download(f"{server.url}/file") == DATA
        assert server.ranges == [None, None]


def test_silent_host_is_given_up(monkeypatch):
    monkeypatch.setattr(module, "_CONNECT_SECONDS", 0.2)
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()  # Connects, but never answers.
        with pytest.raises(DownloadFailed, match="no answer within"):
            download(f"http://127.0.0.1:{sock.getsockname()[1]}/file")


def test_full_disk_is_not_retried(server, monkeypatch):
    def fail(response, file, name):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_copy", fail)
    with pytest.raises(OSError, match="No space left"):
        download(f"{server.url}/file")
    assert len(server.requests) == 1


def test_parallel_downloads_happen_once(server):
    with ThreadPoolExecutor(8) as executor:
        paths = set(executor.map(lambda _: download_file(f"{server.url}/f", SHA256), range(8)))
    assert len(paths) == 1
    assert server.requests == ["/f"]


@pytest.mark.parametrize("name", ["file", SHA256, "another"])
def test_mirror(monkeypatch, server, tmp_path, closed_url, name):
    """It has files by their name or checksum, and need not have all."""
    (tmp_path / name).write_bytes(DATA)
    monkeypatch.setenv(module.MIRROR_VARIABLE, str(tmp_path))
    urls = {"file": closed_url, SHA256: f"{closed_url}/download?id=1"}
    assert download(urls.get(name, f"{server.url}/file"), SHA256) == DATA


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_terminals_only(server, monkeypatch):
    plain = io.StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    download(f"{server.url}/archive.tar")
    assert plain.getvalue() == ""
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    download(f"{server.url}/archive.tar")
    assert "archive.tar" in terminal.getvalue()


def test_proxy_settings_of_the_moment_apply(server, monkeypatch):
    assert download(f"{server.url}/file") == DATA
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", server.url)
    assert download("http://somewhere.invalid/file") == DATA
    assert server.requests == ["/file", "http://somewhere.invalid/file"]


class _FlakyOpener:
    """Fails with the given exceptions, one after the other, and then works."""

    def __init__(self, monkeypatch, *failures):
        self.failures = list(failures)
        self.opener = module.build_opener()
        monkeypatch.setattr(module, "build_opener", lambda: self)

    def open(self, request, timeout):
        if self.failures:
            raise self.failures.pop(0)
        return self.opener.open(request, timeout=timeout)


@pytest.mark.parametrize(
    "failure",
    [
        URLError(ConnectionResetError(104, "Connection reset by peer")),
        RemoteDisconnected("Remote end closed connection without response"),
        URLError(socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")),
    ],
)
def test_broken_connections_are_retried(server, monkeypatch, failure):
    _FlakyOpener(monkeypatch, failure, failure)
    assert download(f"{server.url}/file") == DATA
    assert len(waits) == 2


@pytest.mark.parametrize(
    "failure",
    [
        URLError(ConnectionRefusedError(111, "Connection refused")),
        URLError(socket.gaierror(socket.EAI_NONAME, "Name or service not known")),
    ],
)
def test_permanent_failures_are_not_retried(server, monkeypatch, failure):
    _FlakyOpener(monkeypatch, failure)
    with pytest.raises(DownloadFailed, match=failure.reason.strerror):
        download(f"{server.url}/file")
    assert waits == []


@pytest.mark.parametrize("status", [200, 404, 503])
def test_credentials_are_sent_and_not_shown(server, status):
    server.answers = [(status, {}, DATA)]
    url = server.url.replace("://", "://me:s3cr%40t@") + "/file"
    if status == 200:
        assert download(url) == DATA
    else:
        with pytest.raises(DownloadFailed, match=str(status)) as raised:
            download(url, max_retries=1)
        assert "s3cr" not in "".join(traceback.format_exception(raised.value))
    expected = base64.b64encode(b"me:s3cr@t").decode()
    assert server.credentials == [f"Basic {expected}"]


@pytest.mark.parametrize("url", ["http://me:s3cret/x@127.0.0.1/file", "http://s3cret:x@y:z/file"])
def test_credentials_of_bad_addresses_are_not_shown(url):
    with pytest.raises(DownloadFailed) as raised:
        download(url)
    assert "s3cret" not in "".join(traceback.format_exception(raised.value))


def test_credentials_are_not_sent_elsewhere(server):
    other = _Server()
    server.answers = [(302, {"Location": f"{other.url}/file"}, b"")]
    try:
        assert download(server.url.replace("://", "://me:s3cret@") + "/file") == DATA
        assert other.credentials == [None]
    finally:
        other.close()
