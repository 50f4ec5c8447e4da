"""Recorded episodes as conversations."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from compiler_gym.agents.chat import conversation, conversations, write
from compiler_gym.cli.chat import chat
from tests.processes import run_interpreter

PROGRAM = "benchmark://kernels-v0/sha256"
GOOD = {"failed_action": None, "error": None}


@pytest.fixture
def bench(make_bench):
    return make_bench()


def test_conversation(bench):
    found = conversation(bench, PROGRAM, ["sroa", "mem2reg", "simplifycfg", "inline"])
    system, user, *rest = found["messages"]
    assert system["role"] == "system" and "kernels-v0/sha256" in user["content"]
    assert [each["role"] for each in rest] == ["assistant", "tool"] * 4
    calls = [each["tool_calls"][0]["function"] for each in rest[::2]]
    # After sroa there is nothing left for mem2reg.
    names = [json.loads(each["arguments"]).get("passes", [None])[0] for each in calls]
    assert names == ["sroa", "simplifycfg", "inline", None]
    assert rest[0]["content"].startswith("sroa: ")
    assert rest[0]["content"].endswith("Here it saves 1077 instructions.")
    assert "2613 before, 1536 now" in rest[1]["content"]
    assert ": passed: 'hex_value' inlined into" in rest[4]["content"]
    assert found["verified"] and found["reward"] == 0  # Inlining made it larger than it was.
    assert found["instructions_oz"] == 1327 and found["instructions"] > 2613
    assert {each["function"]["name"] for each in json.loads(found["tools"])} == {
        "apply_passes",
        "submit",
    }


def test_best_of_several(bench):
    def row(actions, sizes, **more):
        return {"program": PROGRAM, "actions": actions, "sizes": sizes, **more}

    rows = [
        row(["dce"], [2613, 2600]),
        row(["sroa"], [2613, 1536]),
        row([], []),
        row(["gvn"], [2613, 1], failed_action="sroa"),
        row([], [], error="lost"),
    ]
    (best,) = conversations(bench, rows, best=1)
    assert best["instructions"] == 1536 and 0.8 < best["reward"] < 0.9
    assert len([*conversations(bench, rows)]) == 2


def test_unplayable_episode(bench):
    rows = [{"program": PROGRAM, "actions": ["sroaa"], "sizes": [1, 1]}]
    with pytest.raises(ValueError, match="cannot be played"):
        [*conversations(bench, rows)]


def test_files(bench, tmp_path):
    rows = [conversation(bench, PROGRAM, ["sroa"])]
    assert write(tmp_path / "a.jsonl", rows) == write(tmp_path / "a.parquet", rows) == 1
    (line,) = (tmp_path / "a.jsonl").read_text().splitlines()
    assert json.loads(line) == rows[0]
    (read,) = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert read["messages"][2]["tool_calls"] == rows[0]["messages"][2]["tool_calls"]
    with pytest.raises(ValueError, match=r"\.jsonl"):
        write(tmp_path / "a.csv", rows)


def test_command(tmp_path, capsys):
    rows = [
        {"episode": name, "program": PROGRAM, "actions": [name], "sizes": [2613, size], **GOOD}
        for name, size in (("function(dce)", 2600), ("function(sroa)", 1536))
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "episodes-0.parquet")
    chat(tmp_path, tmp_path / "chat.jsonl", best=1)
    assert capsys.readouterr().out.endswith("chat.jsonl: 1 conversation of 2 episodes\n")
    found = json.loads((tmp_path / "chat.jsonl").read_text())
    assert found["instructions"] == 1536
    assert found["messages"][2]["content"].startswith("sroa: ")
    with pytest.raises(FileNotFoundError, match="episodes"):
        chat(tmp_path / "nothing", tmp_path / "chat.jsonl", best=1)


def test_no_package_of_a_protocol_is_needed():
    code = (
        "import sys\n"
        "for name in ('fastapi', 'fastmcp', 'mcp', 'openenv', 'starlette', 'trl', 'uvicorn'):\n"
        "    sys.modules[name] = None\n"
        "import compiler_gym.agents.baselines, compiler_gym.agents.chat, compiler_gym.agents.trl\n"
        "import compiler_gym.openenv\n"
    )
    run_interpreter("-c", code)
