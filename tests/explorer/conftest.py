"""A server of the explorer in this process, and a client of it."""

import json
import socket
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from urllib.parse import urlsplit

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
    def job(self, name, body, host=None, origin=None):
        """The messages of a job."""
        place = urlsplit(self.url)
        address = f"ws://{host or place.netloc}{place.path}api/{name}"
        connection = socket.create_connection((place.hostname, place.port))
        with connection, connect(address, sock=connection, origin=origin) as job:
            job.send(json.dumps(body))
            yield job

    def results(self, name, body):
        with self.job(name, body) as job:
            return [json.loads(text) for text in job]

    def results_of_a_free_slot(self, name, body):
        """The messages of a job, once an earlier job has ended."""
        for _ in range(100):
            results = self.results(name, body)
            if results[-1]["type"] == "done":
                return results
        raise AssertionError(results)

    def paste(self, text=SOURCE, language="c", flags=""):
        source = {"language": language, "text": text, "flags": flags}
        return self.call("program", {"source": source})["id"]


@contextmanager
def serving(limits=LOCAL, token=TOKEN, program=None, page=None, public_name=""):
    bench = Workbench(limits, program)
    server = ExplorerServer(bench, token, "127.0.0.1", 0, page, public_name)
    port = server._socket.getsockname()[1]
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Client(f"http://127.0.0.1:{port}{urlsplit(server.url).path}", bench)
    finally:
        server.stop()
        thread.join()
        bench.close()


@pytest.fixture(scope="module")
def client():
    with serving() as made:
        yield made
