"""A server of the explorer in this process, and a client of it."""

import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from websockets.sync.client import connect

from compiler_gym.explorer.limits import LOCAL
from compiler_gym.explorer.server import ExplorerServer
from compiler_gym.explorer.workbench import Workbench

TOKEN = "a-token-of-tests"

SOURCE = """\
int square(int x) { return x * x; }
int twice(int x) { int y = square(x); return y + y; }
"""


class Client:
    """Makes requests as the page does."""

    def __init__(self, url, bench=None):
        self.url = url
        self.bench = bench

    def call(self, name, body=None, code=200, headers=()):
        """The answer to a request, whose status is to be as expected."""
        request = urllib.request.Request(
            f"{self.url}api/{name}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json", **dict(headers)},
        )
        try:
            with urllib.request.urlopen(request, timeout=250) as reply:
                status, text = reply.status, reply.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        assert status == code, text
        return json.loads(text)

    def fails(self, name, body, code=400, headers=()):
        return self.call(name, body, code, headers)["message"]

    @contextmanager
    def job(self, name, body, **options):
        """The messages of a job."""
        address = self.url.replace("http:", "ws:") + f"api/{name}"
        with connect(address, **options) as socket:
            socket.send(json.dumps(body))
            yield socket

    def results(self, name, body):
        with self.job(name, body) as socket:
            return [json.loads(text) for text in socket]

    def paste(self, text=SOURCE, language="c", flags=""):
        source = {"language": language, "text": text, "flags": flags}
        return self.call("program", {"source": source})["id"]


@contextmanager
def serving(limits=LOCAL, token=TOKEN, program=None, page=None):
    bench = Workbench(limits, program)
    server = ExplorerServer(bench, token, "127.0.0.1", 0, page)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Client(server.url, bench)
    finally:
        server.stop()
        thread.join()
        bench.close()


@pytest.fixture(scope="module")
def client():
    with serving() as made:
        yield made
