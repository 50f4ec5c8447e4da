"""Requests that the explorer refuses: of strangers, of other sites, and too large ones."""

import http.client
import json
import os
import threading
import urllib.error
import urllib.request
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from compiler_gym.cli.explore import explore
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.workbench import Sessions
from compiler_gym.errors import SessionLost
from compiler_gym.explorer import server
from compiler_gym.explorer.access import guarded
from compiler_gym.explorer.limits import LOCAL, PUBLIC
from compiler_gym.service import ConnectionOpts
from tests.explorer.conftest import SOURCE, TOKEN, Client, serving
from tests.processes import descendants, kill_all

SROA = "function(sroa)"


@pytest.fixture(scope="module", name="public")
def fixture_public():
    limits = replace(PUBLIC, instructions=500, actions=5, jobs=1, step_seconds=20)
    with serving(limits, token="") as client:
        yield client


def test_the_token_is_needed(client):
    for path in ("", "wrong/", TOKEN[:-1] + "/"):
        stranger = Client(client.url.replace(f"{TOKEN}/", path))
        assert "expected the token" in stranger.fails("info", None, code=403)
        address = stranger.url.replace("http:", "ws:") + "api/rank"
        with pytest.raises(InvalidStatus), connect(address):
            pass


def test_other_origins_and_hosts_are_refused(client):
    evil = {"origin": "https://evil.example"}.items()
    assert "page itself" in client.fails("info", None, code=403, headers=evil)
    with pytest.raises(InvalidStatus), client.job("rank", {}, origin="https://evil.example"):
        pass
    other_port = {"origin": client.url.rsplit(":", 1)[0] + ":1"}.items()
    assert "page itself" in client.fails("info", None, code=403, headers=other_port)
    rebound = {"host": "evil.example"}.items()
    assert "'evil.example'" in client.fails("info", None, code=403, headers=rebound)
    same = {"origin": "/".join(client.url.split("/")[:3])}.items()
    assert client.call("info", headers=same)


def test_a_proxy_with_tls_in_front():
    """As nginx passes requests on: with the name of the page, or with the server's own address."""
    with serving(public_name="example.org:8443") as client:
        page = {"host": "example.org:8443", "origin": "https://example.org:8443"}
        for headers in (page, {"origin": page["origin"]}):
            assert client.call("info", headers=headers.items())
            with client.job("rank", {}, **headers) as socket:
                assert json.loads(socket.recv())["problem"]["kind"] == "input"
        for origin in ("https://example.org", "http://example.org:8443", "https://evil.example"):
            stranger = {"origin": origin}.items()
            assert "page itself" in client.fails("info", None, code=403, headers=stranger)
        evil = {"host": "evil.example", "origin": "https://evil.example"}.items()
        assert "--public-name" in client.fails("info", None, code=403, headers=evil)


@pytest.mark.parametrize("name", ["https://example.org", "example.org/", "a b", "x:y"])
def test_public_names_are_host_names(name):
    with pytest.raises(ValueError, match="host name"):
        guarded(None, LOCAL, "127.0.0.1", public_name=name)


@pytest.mark.parametrize(
    ("public", "name", "browser", "is_opened"),
    [
        (False, "", None, True),
        (False, "", False, False),
        (True, "", None, False),
        (False, "example.org", None, False),
        (True, "example.org", True, True),
    ],
)
def test_a_page_for_others_opens_no_browser(
    monkeypatch, tmp_path, capsys, public, name, browser, is_opened
):
    (tmp_path / "index.html").write_text("the page")
    monkeypatch.setattr(server, "PAGE", tmp_path)
    monkeypatch.setattr(server.ExplorerServer, "run", lambda self: self._socket.close())
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    explore(port=0, browser=browser, public=public, public_name=name)
    url = capsys.readouterr().out.strip()
    assert url.startswith(f"https://{name}/" if name else "http://127.0.0.1:")
    assert opened == [url] * is_opened


def test_visitors_behind_a_proxy_are_counted_one_by_one():
    limits = replace(PUBLIC, requests_per_minute=1)

    def visit(client, address, code=200):
        client.call("info", None, code, {"x-forwarded-for": address}.items())

    with serving(limits, token="", public_name="example.org") as client:
        # The last address is the one that the proxy has seen. The others are the visitor's words.
        for address in ("192.0.2.1", "192.0.2.1, 192.0.2.2", "2001:db8::1"):
            visit(client, address)
        for address in ("192.0.2.9, 192.0.2.1", "2001:db8::ffff:2", "::ffff:192.0.2.2"):
            visit(client, address, code=429)
    with serving(limits, token="") as client:
        visit(client, "192.0.2.1")
        visit(client, "192.0.2.2", code=429)


def test_large_requests_are_refused(client):
    place = urlsplit(client.url)
    connection = http.client.HTTPConnection(place.netloc)
    connection.putrequest("POST", f"{place.path}api/program")
    connection.putheader("content-length", str(9 << 20))
    connection.endheaders()
    reply = connection.getresponse()
    assert (reply.status, b"8,388,608 bytes" in reply.read()) == (429, True)


def test_large_requests_without_a_length_are_refused():
    with serving(replace(LOCAL, body_bytes=1000)) as client:
        place = urlsplit(client.url)
        connection = http.client.HTTPConnection(place.netloc)
        body = iter([b" " * 600, b" " * 600])
        kind = {"content-type": "application/json"}
        connection.request("POST", f"{place.path}api/program", body, kind, encode_chunked=True)
        reply = connection.getresponse()
        assert (reply.status, json.loads(reply.read())["kind"]) == (400, "input")


def test_malformed_requests(client):
    assert "program" in client.fails("path", {"actions": []})
    assert "extra" in client.fails("path", {"program": "x", "actions": [], "extra": 1}).lower()
    assert "first" in client.fails("path", {"program": "x", "actions": [], "first": -1})
    (failed,) = client.results("rank", {"program": "x"})
    assert failed["problem"]["kind"] == "input"


def test_files_of_the_server_are_not_served(tmp_path):
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "index.html").write_text("the page")
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    with serving(page=folder) as client:
        assert urllib.request.urlopen(client.url).read() == b"the page"
        for path in (
            "../secret",
            "%2e%2e/secret",
            "..%2fsecret",
            "link",
            "/etc/passwd",
            "%2fetc/passwd",
        ):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(client.url + path)
            assert caught.value.code in (403, 404)


def test_limits_for_strangers(public):
    for text, problem in (
        ('#include "/etc/passwd"\n', "expected #include of headers of the system"),
        ('__asm__(".incbin \\"/etc/passwd\\"");\nint x;\n', "inline assembly"),
    ):
        source = {"language": "c", "text": text, "flags": ""}
        assert problem in public.fails("program", {"source": source}, code=422)
    long = "int f(int x) {" + "x = x * 3 + f(x);" * 200 + "return x; }\n"
    source = {"language": "c", "text": long, "flags": ""}
    assert "at most 500 instr" in public.fails("program", {"source": source}, code=429)
    large = {"language": "c", "text": "/*" + "x" * (300 << 10) + "*/", "flags": ""}
    assert "262,144 bytes" in public.fails("program", {"source": large}, code=429)
    program = public.paste(SOURCE)
    state = {"program": program, "actions": [SROA] * 6}
    assert "at most 5 actions" in public.fails("path", state, code=429)
    search = {"program": program, "objective": "instructions", "seconds": 31}
    (failed,) = public.results("search", search)
    assert "at most 30 s" in failed["problem"]["message"]


def test_jobs_of_a_visitor_are_counted(public):
    program = public.paste(SOURCE)
    search = {"program": program, "objective": "instructions", "seconds": 30}
    with public.job("search", search) as socket:
        assert json.loads(socket.recv())["type"] == "point"
        (failed,) = public.results("search", search)
        assert "Too many jobs" in failed["problem"]["message"]
    rank = {"program": program, "actions": [], "objective": "instructions"}
    # The first ends some time after the page has gone.
    assert len(public.results_of_a_free_slot("rank", rank)) > 100


def test_a_paused_job_does_not_keep_its_slot():
    limits = replace(PUBLIC, jobs=1, all_jobs=1, job_seconds=1)
    with serving(limits, token="") as client:
        search = {"program": client.paste(), "objective": "instructions", "seconds": 30}
        with client.job("search", search) as socket:
            socket.send("pause")
            *_, last = [json.loads(text) for text in socket]
            assert "at most 1 s, pauses included" in last["problem"]["message"]
        program = search["program"]
        rank = {"program": program, "actions": [], "objective": "instructions"}
        assert client.results_of_a_free_slot("rank", rank)


def test_silent_sockets_are_closed():
    with serving(replace(PUBLIC, idle_seconds=0.2, sockets=2), token="") as client:
        address = client.url.replace("http:", "ws:") + "api/rank"
        with connect(address) as first, connect(address):
            with pytest.raises(InvalidStatus), connect(address):
                pass
            with pytest.raises(ConnectionClosed, match=r"no message for 0\.2 s"):
                first.recv()


def test_requests_at_a_time_are_counted():
    with serving(replace(PUBLIC, requests=0), token="") as client:
        assert "at most 0 requests at a time" in client.fails("info", None, code=429)


def test_requests_of_a_visitor_are_counted():
    limits = replace(PUBLIC, requests_per_minute=3)
    with serving(limits, token="") as client:
        for name, code in (("info", 200), ("nothing", 404), ("info", 200)):
            client.call(name, code=code)
        assert "at most 3 requests a minute" in client.fails("info", None, code=429)
        with pytest.raises((InvalidStatus, ConnectionClosed)), client.job("rank", {}):
            pass


def test_endless_passes_are_stopped():
    with serving(replace(PUBLIC, step_seconds=0.002), token="") as client:
        program = client.call("program", {"name": "sha256"})["id"]
        slow = {"program": program, "actions": ["cgscc(inline)", "function(gvn)"]}
        answer = client.call("path", slow, code=422)
        assert (answer["kind"], "inline) failed" in answer["message"]) == ("pass", True)
        rank = {"program": program, "actions": [], "objective": "instructions"}
        *rows, end = client.results("rank", rank)
        assert end == {"type": "done"}
        assert any(row["error"] for row in rows)
        assert client.call("path", {"program": program, "actions": []})["steps"] == []


def test_crashing_passes_end_their_own_session_only(tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("exclude: []\n")
    settings = ConnectionOpts(script_args=[f"--action_policy={policy}"])
    with serving(PUBLIC, token="") as client:
        # The passes that LLVM has to crash itself are no actions otherwise.
        env = LlvmEnv(connection_settings=settings)
        client.bench.sessions = Sessions(env)
        client.bench.action_space = env.action_space
        program = client.paste()
        before = client.call("path", {"program": program, "actions": [SROA]})
        fatal = {"program": program, "actions": [SROA, "trigger-crash-module"]}
        assert "trigger-crash-module failed" in client.fails("path", fatal, code=422)
        assert client.call("path", {"program": program, "actions": [SROA]}) == before


def test_states_are_made_again_when_their_sessions_were_killed():
    others = {*descendants(os.getpid())}
    with serving() as client:
        state = {"program": client.paste(), "actions": [SROA, "cgscc(inline)"]}
        before = client.call("path", state)
        level = {**state, "actions": ["default<Oz>"]}
        of_level = client.call("path", level)
        kill_all({*descendants(os.getpid())} - others)
        assert client.call("path", state) == before
        assert client.call("path", level) == of_level
        assert client.call("metrics", state)["instructions"]


def test_a_lost_session_is_no_fault_of_a_pass(client, monkeypatch):
    def lose(*_):
        raise SessionLost("The session has ended")

    state = {"program": client.paste("int f(void) { return 2026; }\n"), "actions": [SROA]}
    monkeypatch.setattr(client.bench, "step", lose)
    assert client.call("path", state, code=503)["kind"] == "service"


def test_a_slow_state_does_not_delay_others_of_its_program(client, monkeypatch):
    program = client.paste()
    step, may_go_on = client.bench.step, threading.Event()

    def step_when_allowed(env, actions, costs=()):
        assert "function(adce)" not in actions or may_go_on.wait(100)
        return step(env, actions, costs)

    monkeypatch.setattr(client.bench, "step", step_when_allowed)
    slow = {"program": program, "actions": ["function(adce)"]}
    with ThreadPoolExecutor(2) as pool:
        try:
            waiting = [pool.submit(client.call, "path", slow) for _ in range(2)]
            assert client.call("path", {**slow, "actions": [SROA]})["steps"]
            assert not any(each.done() for each in waiting)
        finally:
            may_go_on.set()
        assert waiting[0].result() == waiting[1].result()
    assert client.bench._states._locks == {}


def test_states_are_made_again_when_they_were_dropped():
    limits = replace(PUBLIC, states=2, programs=2)
    with serving(limits, token="") as client:
        program = client.paste()
        state = {"program": program, "actions": [SROA, "function(adce)", "cgscc(inline)"]}
        first = client.call("path", state)
        assert client.call("path", {**state, "first": 2})["ir"] == first["ir"]
        for value in range(3):
            client.paste(f"int f(void) {{ return {value}; }}\n")
        assert client.call("path", state, code=410)["kind"] == "unknown program"
        assert client.paste() == program
        assert client.call("path", state) == first
