"""The package verifiers, as a client of the OpenEnv server, run by tools/test_examples.sh."""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from compiler_gym.compliance.target import unassigned_port

EXAMPLE = Path(__file__).absolute().parents[2] / "examples" / "verifiers.toml"
PROGRAMS = Path(os.environ.get("VERIFIERS_PROGRAMS", "")).absolute()
ANSWERS = [
    {
        "tool": "try_sequences",
        "sequences": [["sroa", "early-cse", "simplifycfg", "instcombine", "gvn", "simplifycfg"]],
        "apply_best": True,
    },
    {"tool": "submit"},
]


class ScriptedModel(BaseHTTPRequestHandler):
    """A model that says the next of some answers, over the API of OpenAI."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = sum(each["role"] == "assistant" for each in body["messages"])
        base = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        choice = {
            "index": 0,
            "delta": {"role": "assistant", "content": json.dumps(ANSWERS[said])},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        events = [{**base, "choices": [choice]}, {**base, "choices": [], "usage": usage}]
        lines = [json.dumps(each) for each in events] + ["[DONE]"]
        text = "".join(f"data: {line}\n\n" for line in lines).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def model_url():
    server = ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def running(*command, cwd):
    process = subprocess.Popen(command, cwd=cwd)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def server_url(tmp_path):
    port = unassigned_port()
    url = f"http://127.0.0.1:{port}"
    command = (sys.executable, "-m", "compiler_gym.openenv.app", "--port", str(port))
    # In this folder, Python would import the sources and not the installed package.
    with running(*command, cwd=tmp_path) as process:
        while True:
            assert process.poll() is None
            try:
                urllib.request.urlopen(f"{url}/health")
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        yield url


def test_verified_rewards(server_url, model_url, tmp_path):
    """Two episodes of each of two programs, each of which is rewarded at its end."""
    done = subprocess.run(
        [
            *(PROGRAMS / "vf-eval", "@", EXAMPLE, "-m", "scripted"),
            *("--client.base-url", model_url, "--output-dir", tmp_path),
            *("--env.taskset.base-url", server_url),
        ],
        env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "OPENAI_API_KEY": "none"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.rglob("traces.jsonl")
    traces = [each for line in path.open() for each in json.loads(line)["traces"]]
    rewards = [each["rewards"]["openenv_reward"]["score"] for each in traces]
    assert len(rewards) == 4
    assert all(1 < each < 2 for each in rewards)
