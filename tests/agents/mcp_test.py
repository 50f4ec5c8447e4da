"""The MCP server on stdio and HTTP, and the transcript of the document."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from fastmcp import Client
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from compiler_gym.agents.limits import Limits
from compiler_gym.agents.mcp import PATH, Workbenches, make_http_server, make_server, read_token
from compiler_gym.agents.workbench import TOOLS
from compiler_gym.cli.mcp import mcp
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.explorer.access import listen
from tests.agents.conftest import LIMITS
from tests.document_code import block_with, code_blocks
from tests.processes import python_environment, run_interpreter

DOCUMENT = "docs/guides/agents.md"
TOKEN = "a-token-of-the-tests"
GOOD = ["sroa", "early-cse", "simplifycfg", "instcombine", "gvn", "simplifycfg"]

# A call of each tool, in the order in which the server lists them.
EXAMPLES = {
    "list_programs": {},
    "open_program": {"name": "sha256"},
    "list_passes": {"search": "inline"},
    "describe_pass": {"name": "gvn"},
    "apply_passes": {"passes": ["sroa", "gvn"]},
    "undo": {},
    "try_sequences": {"sequences": [GOOD, ["gvn"]], "apply_best": True},
    "fork": {"name": "other"},
    "switch_branch": {"name": "main"},
    "drop_branch": {"name": "other"},
    "branches": {},
    "describe": {"length": "detail"},
    "compare": {},
    "function_sizes": {"objective": "bytes"},
    "read_function": {"function": "next_word"},
    "control_flow": {"function": "next_word"},
    "diff": {},
    "remarks": {},
    "validate": {},
    "export": {"format": "object", "file": "out.o"},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("root")


@pytest.fixture(scope="module")
def server(root):
    benches = Workbenches(LIMITS, root, may_run=True, max_sessions=2)
    yield make_server(benches)
    benches.close()


@pytest.fixture
def url(server):
    """The address of the server on HTTP."""
    http = make_http_server(server, "127.0.0.1", TOKEN, "example.org")
    listening, place = listen("127.0.0.1", 0)
    thread = threading.Thread(target=http.run, args=[[listening]])
    thread.start()
    yield f"{place}{PATH}"
    while not http.started:
        thread.join(0.01)
    http.should_exit = True
    thread.join()
    listening.close()


def plays(server, play):
    """Runs a coroutine with a client."""

    async def run():
        async with Client(server) as client:
            return await play(client)

    return asyncio.run(run())


async def answer(client, tool, arguments):
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    return result.is_error, result.content[0].text


def test_tools_are_described(server):
    tools = plays(server, lambda client: client.list_tools())
    assert sorted(each.name for each in tools) == sorted(TOOLS)
    for tool in tools:
        assert tool.description
        for name, schema in tool.inputSchema["properties"].items():
            assert schema["description"], f"{tool.name}: {name}"
    # What a model has to read before its first call: some 2,500 tokens.
    assert sum(len(json.dumps(each.model_dump(exclude_none=True))) for each in tools) < 12_000


def test_errors_have_advice(server):
    async def play(client):
        return [
            await answer(client, tool, arguments)
            for tool, arguments in (
                ("compare", {}),
                ("open_program", {"name": "sha256"}),
                ("apply_passes", {"passes": "sroa"}),
                ("apply_passes", {"passes": ["sroaa"]}),
                ("undo", {"cuont": 1}),
                ("undo", {}),
            )
        ]

    (_, first), _, *others = plays(server, play)
    assert "call open_program first" in first
    assert [is_error for is_error, _ in others] == [True] * 4
    for (_, text), part in zip(
        others, ("schema", "Did you mean sroa", "schema", "call apply_passes first"), strict=True
    ):
        assert part in text and "pydantic.dev" not in text


def test_sessions_do_not_see_each_other(server):
    async def run():
        async with Client(server) as first, Client(server) as second:
            await first.call_tool("open_program", {"name": "sha256"})
            is_error, text = await answer(second, "compare", {})
            assert is_error and "There is no program yet" in text
            await second.call_tool("open_program", {"source": "int x;"})
            return await answer(first, "branches", {})

    assert "2613" in asyncio.run(run())[1]


def test_least_recently_used_session_is_closed(server):
    async def run():
        async with Client(server) as first, Client(server) as second, Client(server) as third:
            for client in (first, second, third):
                await client.call_tool("open_program", {"name": "sha256"})
            return [(await answer(each, "compare", {}))[0] for each in (third, second, first)]

    assert asyncio.run(run()) == [False, False, True]


def status_of(url, **headers):
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(
        url,
        json.dumps(body).encode(),
        {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **given,
        },
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=250)
    return caught.value.code


def test_http_requests_without_permission(url):
    assert status_of(url) == 401
    assert status_of(url, authorization="Bearer something else") == 401
    good = {"authorization": f"Bearer {TOKEN}"}
    assert status_of(url, **good, host="example.com") == 403
    assert status_of(url, **good, origin="http://example.com") == 403
    assert status_of(url, **good) == 400  # Not before initialize.
    proxy = {"host": "example.org", "origin": "https://example.org"}
    assert status_of(url, **good, **proxy) == 400
    assert status_of(url, **proxy) == 401


@asynccontextmanager
async def stdio_session(*arguments):
    """The protocol's own client, with the program as assistants start it."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "compiler_gym", "mcp", *arguments],
        env=python_environment(),
    )
    async with stdio_client(command) as streams, ClientSession(*streams) as session:
        yield session


@asynccontextmanager
async def http_session(url):
    """The protocol's own client over HTTP."""
    async with (
        create_mcp_http_client({"Authorization": f"Bearer {TOKEN}"}) as http,
        streamable_http_client(url, http_client=http) as (reader, writer, _),
        ClientSession(reader, writer) as session,
    ):
        yield session


async def call_each_tool(session):
    """Calls each tool that the server lists. Returns what the server says first, and the answers.

    A tool without an example raises KeyError.
    """
    started = await session.initialize()
    answers = {}
    for tool in (await session.list_tools()).tools:
        result = await session.call_tool(tool.name, EXAMPLES[tool.name])
        answers[tool.name] = result.isError, result.content[0].text
    return started.instructions, answers


def check_answers(answers, root, limits):
    assert answers.keys() == EXAMPLES.keys()
    assert [text for is_error, text in answers.values() if is_error] == []
    assert max(len(text) for _, text in answers.values()) < limits.answer_characters + 120
    assert "2613 before" in answers["apply_passes"][1]
    (root / "out.o").unlink()


def test_official_client_calls_each_tool_on_stdio(root):
    async def run():
        async with stdio_session("--root", str(root)) as session:
            return await call_each_tool(session)

    instructions, answers = asyncio.run(run())
    check_answers(answers, root, Limits())
    assert "try_sequences" in instructions
    ran = answers["validate"][1]
    assert "The program was not run: the server was started without --allow-run" in ran


def test_official_client_calls_each_tool_on_http(url, root):
    async def run():
        async with http_session(url) as session:
            return await call_each_tool(session)

    _, answers = asyncio.run(run())
    check_answers(answers, root, LIMITS)
    assert "output of the program" in answers["validate"][1]


def test_the_command_prints_an_address_once_it_has_it():
    words = ("-m", "compiler_gym", "mcp", "--http", "--port")
    with subprocess.Popen(
        [sys.executable, *words, "0"], stderr=subprocess.PIPE, text=True, env=python_environment()
    ) as running:
        address = running.stderr.readline().strip()
        assert status_of(address) == 401
        done = run_interpreter(*words, urlsplit(address).port, code=1)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=250)
    assert "expected a free address of this machine" in done.stderr and "Bearer" not in done.stderr


def test_end_of_input_ends_the_program():
    done = run_interpreter("-m", "compiler_gym", "mcp", stdin=subprocess.DEVNULL)
    assert (done.stdout, done.stderr) == ("", "")


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastmcp", None)
    with pytest.raises(EnvironmentNotSupported, match=r"pip install 'compiler_gym\[mcp\]'"):
        mcp()


def test_token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text("short\n")
    with pytest.raises(ValueError, match="chmod 600"):
        read_token(path)
    path.chmod(0o600)
    with pytest.raises(ValueError, match="at least 16"):
        read_token(path)
    path.write_text("0123456789abcdef\n")
    assert read_token(path) == "0123456789abcdef"


def test_transcript_of_the_document(server):
    """Each call gets the answer that the document shows."""
    transcript = block_with("> open_program", code_blocks(DOCUMENT, "text"))
    exchanges = re.findall(r"^> (\w+) (\{[^\n]*\})\n(.*?)(?=^> |\Z)", transcript, re.M | re.S)
    assert len(exchanges) >= 6

    async def play(client):
        return [await answer(client, tool, json.loads(text)) for tool, text, _ in exchanges]

    shown = [expected.strip() for _, _, expected in exchanges]
    assert [text for _, text in plays(server, play)] == shown
    ratios = re.findall(r"^instructions .* (\S+)%$", transcript, re.M)
    assert len([each for each in ratios if each.startswith("-")]) == 3
