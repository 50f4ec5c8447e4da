"""The OpenEnv server: episodes over its WebSocket, many clients at once, and its validator."""

import asyncio
import json
import runpy
import shutil
import subprocess
import sys
import threading
import urllib.request
from contextlib import ExitStack, closing, contextmanager
from socket import create_connection
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
from openenv.cli._validation import validate_running_environment
from openenv.validation import Level, Verdict, run_validation
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import compiler_gym.openenv
from compiler_gym.agents.compiler import shared_compiler
from compiler_gym.agents.tasks import TASK_LIMITS
from compiler_gym.agents.workbench import Workbench
from compiler_gym.openenv import CompilerAction, CompilerEnvClient
from compiler_gym.openenv.app import main, make_server
from compiler_gym.util.runfiles_path import runfiles_path

GOOD = ["sroa", "early-cse", "simplifycfg", "instcombine", "gvn", "simplifycfg"]


@pytest.fixture(scope="module")
def url():
    """The address of a server in this process."""
    server = make_server("127.0.0.1", 0, 16, sessions_per_address=8, public_name="example.org")
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def client(url):
    with CompilerEnvClient(base_url=url).sync() as client:
        yield client


@pytest.fixture
def socket(url):
    """A client that writes messages itself."""
    with connect(f"{url.replace('http', 'ws')}/ws") as socket:
        yield socket


def asked(socket, kind, **data):
    socket.send(json.dumps({"type": kind, "data": data}))
    return json.loads(socket.recv())


@contextmanager
def opened(url, host=None, origin=None, client="127.0.0.1"):
    """A WebSocket of a client's address, with headers of a browser's page or of a proxy."""
    place = urlsplit(url)
    connection = create_connection((place.hostname, place.port), source_address=(client, 0))
    address = f"ws://{host or place.netloc}/ws"
    with connection, connect(address, sock=connection, origin=origin) as socket:
        yield socket


def posted(url, name, body=None, headers=()):
    request = urllib.request.Request(
        f"{url}/{name}" if name == "mcp" else f"{url}/compiler_gym/{name}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"content-type": "application/json", **dict(headers)},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def test_episode(client):
    result = client.reset(split="test", index=5)
    assert "kernels-v0/sha256" in result.observation.text and result.reward is None
    for wrong, message in (
        (CompilerAction(tool="apply_passes", passes=["sroaa"]), "Did you mean sroa"),
        (CompilerAction(tool="undo", name="x"), "expected the arguments of undo"),
    ):
        observation = client.step(wrong).observation
        assert observation.is_error and message in observation.text
    result = client.step(CompilerAction(tool="try_sequences", sequences=[GOOD], apply_best=True))
    assert result.observation.instructions < result.observation.instructions_oz
    assert result.observation.passes_left == 1_000 - len(GOOD) * 2 and not result.done
    state = client.state()
    assert state.step_count == 3 and state.program.endswith("sha256") and state.passes == GOOD
    result = client.step(CompilerAction(tool="submit"))
    assert result.done and 1 < result.reward < 2
    assert result.observation.metadata == {"verified": True}
    assert client.reset(seed=3).observation.calls_left == 30
    assert client.state().split == "train"


def test_tasks(url):
    assert [each["name"] for each in posted(url, "splits")] == ["train", "validation", "test"]
    assert posted(url, "num_tasks", {"split": "train"}) == {"num_tasks": 14}
    task = posted(url, "task", {"split": "test", "index": 5})["task"]
    assert task == {"split": "test", "index": 5, "program": "benchmark://kernels-v0/sha256"}
    body = {"split": "test", "start": 4, "stop": 6}
    assert [each["index"] for each in posted(url, "task_range", body)["tasks"]] == [4, 5]


def test_garbage(socket):
    socket.send("garbage")
    assert json.loads(socket.recv())["data"]["code"] == "INVALID_JSON"
    assert asked(socket, "explode")["data"]["code"] == "UNKNOWN_TYPE"
    assert "expected reset before step" in asked(socket, "step", tool="compare")["data"]["message"]
    assert asked(socket, "step", tool="rm")["data"]["code"] == "VALIDATION_ERROR"
    assert "expected split" in asked(socket, "reset", split="exam")["data"]["message"]
    # The session goes on.
    assert asked(socket, "reset", split="test", index=5)["type"] == "observation"


def test_other_sites_are_refused(url):
    """Pages under their own names, or under a name that resolves to the server."""
    proxy = {"host": "example.org", "origin": "https://example.org"}
    own = {"origin": url}
    for headers in (
        {"host": "evil.example"},
        {"origin": "https://evil.example"},
        {"host": "evil.example", "origin": "http://evil.example"},
    ):
        with pytest.raises(HTTPError, match="403"):
            posted(url, "splits", headers=headers)
        with pytest.raises(InvalidStatus), opened(url, **headers):
            pass
    for headers in (proxy, own):
        assert posted(url, "splits", headers=headers)
        with opened(url, **headers) as socket:
            assert asked(socket, "explode")["data"]["code"] == "UNKNOWN_TYPE"


def test_sessions_of_an_address_are_counted(url):
    with ExitStack() as stack:
        # Sockets of other tests may still be counted for their address.
        for _ in range(8):
            stack.enter_context(opened(url, client="127.0.0.2"))
        with pytest.raises(InvalidStatus), opened(url, client="127.0.0.2"):
            pass
        with opened(url, client="127.0.0.3"):
            assert posted(url, "splits")


@pytest.mark.parametrize("number", [7, "seven", [7]])
def test_all_sessions_have_a_socket(url, number):
    """A session of MCP over HTTP would not be counted: it lasts without its client."""
    method = "openenv/session/create"
    answer = posted(url, "mcp", {"jsonrpc": "2.0", "method": method, "id": number})
    assert "play episodes over /ws" in answer["error"]["message"] and "result" not in answer
    assert answer["id"] == (None if number == [7] else number)


def test_too_large_message(url, socket):
    with connect(f"{url.replace('http', 'ws')}/ws") as large, pytest.raises(ConnectionClosed):
        large.send("x" * (8 << 20))
        large.recv()
    assert asked(socket, "reset", split="test", index=5)["type"] == "observation"


def test_unknown_argument_of_reset(socket):
    answer = asked(socket, "reset", splitt="test")
    assert "expected the arguments seed, " in answer["data"]["message"]
    assert "got splitt" in answer["data"]["message"]


def test_too_many_passes_are_refused(socket):
    asked(socket, "reset", split="test", index=5)
    answer = asked(socket, "step", tool="apply_passes", passes=["gvn"] * 1_000)
    assert answer["data"]["code"] == "VALIDATION_ERROR"


LISTS = [GOOD[:length] for length in range(1, 7)]


def test_other_sessions_are_unaffected(url):
    """Six play at once, while one is killed, one sends garbage and one wants the whole program."""

    async def play(passes):
        async with CompilerEnvClient(base_url=url) as client:
            result = await client.reset(split="test", index=5)
            for name in passes:
                result = await client.step(CompilerAction(tool="apply_passes", passes=[name]))
            return result.observation.instructions

    async def all_at_once():
        killed = subprocess.Popen([sys.executable, "-c", KILLED, url], stdout=subprocess.PIPE)
        players = [asyncio.create_task(play(passes)) for passes in LISTS]
        await asyncio.to_thread(killed.stdout.readline)
        killed.kill()
        await asyncio.to_thread(misbehave, url)
        killed.communicate()
        return await asyncio.gather(*players)

    assert asyncio.run(all_at_once()) == [cost_after(passes) for passes in LISTS]


def cost_after(passes):
    with closing(Workbench(shared_compiler(TASK_LIMITS), TASK_LIMITS)) as bench:
        bench.open_program("sha256")
        bench.apply_passes(passes)
        return bench.cost()


KILLED = """
import json, sys, time
from websockets.sync.client import connect
socket = connect(sys.argv[1].replace("http", "ws") + "/ws")
socket.send(json.dumps({"type": "reset", "data": {"split": "test", "index": 5}}))
socket.recv()
print("plays", flush=True)
socket.send(json.dumps({"type": "step", "data": {"tool": "submit"}}))
time.sleep(60)
"""


def misbehave(url):
    for garbage in (b"\x00" * 1_000, "{" * 10_000):  # The server may close the connection at once.
        with connect(f"{url.replace('http', 'ws')}/ws") as socket:
            socket.send(garbage)
    with connect(f"{url.replace('http', 'ws')}/ws") as socket:
        asked(socket, "reset", split="test", index=5)
        answer = asked(socket, "step", tool="describe", length="ir")
        assert len(json.dumps(answer)) < 10_000


def test_package_is_valid(tmp_path, monkeypatch):
    # The validation takes links for files that are missing.
    folder = tmp_path / "space"
    shutil.copytree(runfiles_path("compiler_gym/openenv/space"), folder)
    report = run_validation(folder, max_level=Level.STATIC, skip_build=True)
    assert report.verdict is Verdict.PASS, report
    # The manifest names this application.
    monkeypatch.setenv("SPACE_HOST", "example.org")
    app = runpy.run_path(folder / "server" / "app.py")["app"]
    assert {"/ws", "/reset", "/health"} <= {route.path for route in app.routes}
    # OpenEnv's tools start it without our server. Its checks are part of it.
    with TestClient(app, base_url="http://localhost") as client:
        for host, status in {"localhost": 200, "example.org": 200, "evil.example": 403}.items():
            assert client.get("/health", headers={"host": host}).status_code == status
        evil = {"host": "example.org", "origin": "https://evil.example"}
        assert client.get("/health", headers=evil).status_code == 403
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws", headers=evil):
            pass
        large = {"content-length": str(2 << 20)}
        assert client.post("/mcp", content=b"", headers=large).status_code == 429


def test_running_server_is_valid(url):
    report = validate_running_environment(url, timeout_s=60)
    assert report["passed"], report


def test_interrupted(monkeypatch):
    def run(server):
        raise KeyboardInterrupt

    monkeypatch.setattr("uvicorn.Server.run", run)
    with pytest.raises(SystemExit, match="130"):
        main(["--port", "0"])


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "openenv", None)
    with pytest.raises(ImportError, match=r"pip install 'compiler_gym\[openenv\]'"):
        _ = compiler_gym.openenv.CompilerState
    with pytest.raises(AttributeError):
        _ = compiler_gym.openenv.nothing
