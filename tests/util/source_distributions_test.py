"""Source distributions, from an index on this machine."""

import base64
import hashlib
import json
import os
import threading
import traceback
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from compiler_gym.envs.llvm.datasets import packages
from compiler_gym.envs.llvm.datasets.packages import SourceDistribution, fetch
from compiler_gym.errors import DownloadFailed
from compiler_gym.util import download as download_module

CONTENTS = b"an archive"
FILE = "Some_Package-1.0.tar.gz"
WANTED = SourceDistribution("Some.Package", FILE, hashlib.sha256(CONTENTS).hexdigest())
LINK = f"../../files/{FILE}"
index_of_pip = packages._index
PAGES = {
    "json": (
        "application/vnd.pypi.simple.v1+json",
        json.dumps({"files": [{"url": f"{LINK}.asc"}, {"url": LINK}]}),
    ),
    "html": (
        "text/html",
        f'<html><a href="{LINK}.asc#x">x</a><a data-x="&gt;" href="{LINK}#sha256=1">{FILE}</a>',
    ),
}


@pytest.fixture(autouse=True)
def isolated(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("COMPILER_GYM_DATASET_MIRROR", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download_module, "_WAIT_SECONDS", 0)
    # To ask pip takes a second.
    monkeypatch.setattr(packages, "_index", lambda: os.environ["PIP_INDEX_URL"].rstrip("/"))


@pytest.fixture
def pip(monkeypatch):
    """The index is that of pip."""
    monkeypatch.setattr(packages, "_index", index_of_pip.__wrapped__)


@pytest.fixture
def serve(monkeypatch):
    """Starts an index that has a page; returns the paths that are asked for."""
    servers = []

    def start(kind):
        asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                if "Authorization" in self.headers:
                    asked.append(self.headers["Authorization"])
                content_type, text = PAGES[kind]
                body = {"/simple/some-package/": text.encode(), f"/files/{FILE}": CONTENTS}.get(
                    self.path
                )
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple/")
        return asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("kind", PAGES)
def test_it_is_found_through_the_index_of_pip(pip, serve, kind):
    asked = serve(kind)
    assert fetch(WANTED).read_bytes() == CONTENTS
    assert asked == ["/simple/some-package/", f"/files/{FILE}"]


def test_a_mirror_needs_no_index(tmp_path, monkeypatch):
    (tmp_path / FILE).write_bytes(CONTENTS)
    monkeypatch.setenv("COMPILER_GYM_DATASET_MIRROR", str(tmp_path))
    monkeypatch.setattr(packages, "_index", None)
    assert fetch(WANTED).read_bytes() == CONTENTS


def test_a_mirror_need_not_have_everything(serve, tmp_path, monkeypatch):
    serve("json")
    monkeypatch.setenv("COMPILER_GYM_DATASET_MIRROR", str(tmp_path))
    assert fetch(WANTED).read_bytes() == CONTENTS


def test_pip_knows_an_index_without_settings(pip, monkeypatch):
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    assert packages._index().startswith("https://")


class TestCredentials:
    SENT = "Basic " + base64.b64encode(b"me:s3cret").decode()

    @pytest.fixture
    def asked(self, serve, monkeypatch):
        asked = serve("json")
        url = os.environ["PIP_INDEX_URL"].replace("://", "://me:s3cret@")
        monkeypatch.setenv("PIP_INDEX_URL", url)
        return asked

    def test_are_sent(self, pip, asked):
        assert fetch(WANTED).read_bytes() == CONTENTS
        assert asked == ["/simple/some-package/", self.SENT, f"/files/{FILE}", self.SENT]

    @pytest.mark.parametrize(
        ("missing", "text"),
        [
            ({"file": "Some_Package-2.0.tar.gz"}, r"Some_Package-2\.0"),
            ({"name": "other"}, "404"),
            ({"sha256": "0" * 64}, "SHA-256"),
        ],
    )
    def test_are_not_shown(self, asked, missing, text):
        with pytest.raises(DownloadFailed, match=text) as raised:
            fetch(replace(WANTED, **missing))
        shown = "".join(traceback.format_exception(raised.value))
        assert "127.0.0.1" in shown
        assert "s3cret" not in shown

    @pytest.mark.parametrize("url", ["http://me:s3cret/simple", "http://s3cret:x@y:z/simple"])
    def test_of_a_bad_address(self, pip, monkeypatch, url):
        monkeypatch.setenv("PIP_INDEX_URL", url)
        with pytest.raises(DownloadFailed, match="package index") as raised:
            fetch(WANTED)
        assert "s3cret" not in "".join(traceback.format_exception(raised.value))
