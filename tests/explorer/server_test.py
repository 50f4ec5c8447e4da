"""Requests of the explorer's page: programs, states, rankings, searches, exports."""

import csv
import itertools
import json
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from compiler_gym.envs.llvm import LlvmEnv, make_benchmark_from_source
from compiler_gym.explorer import jobs
from compiler_gym.tuning.policies.policy import Levels, Policy
from compiler_gym.util import llvm_tools
from tests.explorer.conftest import SOURCE

SROA, INSTCOMBINE = "function(sroa)", "function(instcombine<no-verify-fixpoint>)"
INLINE = "cgscc(inline)"


@pytest.fixture
def program(client):
    return client.paste()


def path(client, program, actions, first=0):
    return client.call("path", {"program": program, "actions": actions, "first": first})


def test_info(client):
    info = client.call("info")
    by_name = {action["name"]: action for action in info["actions"]}
    assert by_name[SROA]["short"] == "sroa"
    assert "default<Oz>" in [each["name"] for each in info["pipelines"]]
    assert {"sha256", "json"} <= {*info["programs"]}
    assert len(info["autophase"]) == 56


def test_built_in_program(client):
    program = client.call("program", {"name": "bitops"})
    assert program["instructions"] > 100
    assert "Did you mean sha256" in client.fails("program", {"name": "sha255"})
    assert "There is no built-in" in client.fails("program", {"name": "/etc/passwd"})


def test_steps_and_ir_are_those_of_an_environment(client, program):
    found = path(client, program, [SROA, SROA, INLINE])
    with LlvmEnv() as env:
        env.reset(benchmark=make_benchmark_from_source(SOURCE, lang="c"))
        before = env.observation["IrInstructionCount"]
        env.step(env.action_space[SROA])
        after = env.observation["IrInstructionCount"]
        env.multistep([env.action_space[SROA], env.action_space[INLINE]])
        assert found["ir"] == env.ir
    first, second, third = found["steps"]
    assert client.call("program", {"source": _source()})["instructions"] == before
    assert (first["changed"], first["instructions"]) == (True, after)
    assert [*first["functions_changed"]] == ["square", "twice"]
    assert (second["changed"], second["functions_changed"]) == (False, [])
    assert third["functions_changed"] == ["twice"]
    assert path(client, program, [SROA, SROA, INLINE], first=2)["steps"] == [third]
    assert path(client, program, [])["steps"] == []


def _source():
    return {"language": "c", "text": SOURCE, "flags": ""}


def test_branches_do_not_disturb_each_other(client, program):
    one = path(client, program, [SROA, INSTCOMBINE])
    path(client, program, [SROA, INLINE])
    assert path(client, program, [SROA, INSTCOMBINE]) == one


def test_level_as_a_branch(client, program):
    (step,) = path(client, program, ["default<Oz>"])["steps"]
    assert step["instructions"] < client.call("program", {"source": _source()})["instructions"]
    mixed = {"program": program, "actions": ["default<Oz>", SROA]}
    assert "pipelines only" in client.fails("path", mixed)
    request = {"program": program, "actions": ["default<Oz>"], "objective": "instructions"}
    (failed,) = client.results("rank", request)
    assert "branch of a level" in failed["problem"]["message"]


def test_metrics(client, program):
    before = client.call("metrics", {"program": program, "actions": []})
    after = client.call("metrics", {"program": program, "actions": [SROA, INLINE]})
    assert after["bytes"] < before["bytes"]
    assert after["cycles"] < before["cycles"]
    assert len(after["autophase"]) == 56


def test_pipelines_as_text(client):
    actions = client.call("pipeline", {"text": "sroa,cgscc(inline)"})["actions"]
    assert actions == [SROA, INLINE]
    assert "Did you mean" in client.fails("pipeline", {"text": "srao"})
    assert "Missing" in client.fails("pipeline", {"text": "function(sroa"})


def test_errors_of_the_compiler_are_at_lines(client):
    broken = {"language": "c++", "text": "int f() {\n  return x;\n}\n", "flags": ""}
    answer = client.call("program", {"source": broken}, code=422)
    assert answer["message"].startswith("line 2: use of undeclared identifier 'x'")
    (diagnostic,) = answer["diagnostics"]
    assert (diagnostic["line"], diagnostic["column"]) == (2, 10)
    broken = {"language": "ir", "text": "define void @f() {\n  ret i32 %x\n}\n", "flags": ""}
    answer = client.call("program", {"source": broken}, code=422)
    assert answer["diagnostics"][0]["line"] == 2


def test_flags(client):
    text = "int f(void) { return N; }\n"
    program = client.paste(text, flags="-DN=42 -std=c11")
    assert "i32 42" in path(client, program, [])["ir"]
    source = {"language": "c", "text": text, "flags": "-fplugin=evil.so"}
    assert "'-fplugin=evil.so'" in client.fails("program", {"source": source})


def test_ranking(client, program):
    request = {"program": program, "actions": [], "objective": "instructions"}
    *rows, end = client.results("rank", request)
    assert end == {"type": "done"}
    names = [action["name"] for action in client.call("info")["actions"]]
    assert sorted(row["action"] for row in rows) == sorted(names)
    saved = {row["action"]: row["saved"] for row in rows}
    before = client.call("program", {"source": _source()})["instructions"]
    (step,) = path(client, program, [SROA])["steps"]
    assert saved[SROA] == before - step["instructions"] > 0
    unchanged = {row["action"] for row in rows if not row["changed"]}
    assert "function(licm)" not in saved and "function(loop-mssa(licm))" in unchanged


def test_ranking_is_cancelled(client, monkeypatch):
    stopped, tried = threading.Event(), itertools.count()
    stop, try_action = jobs.Control.stop, jobs._try

    def stop_and_tell(control):
        stop(control)
        stopped.set()

    def wait_and_try(*arguments):
        assert next(tried) < 10 or stopped.wait(100)
        return try_action(*arguments)

    monkeypatch.setattr(jobs.Control, "stop", stop_and_tell)
    monkeypatch.setattr(jobs, "_try", wait_and_try)
    program = client.call("program", {"name": "sha256"})["id"]
    request = {"program": program, "actions": [], "objective": "instructions"}
    with client.job("rank", request) as socket:
        assert json.loads(socket.recv())["type"] == "row"
        socket.send("stop")
        rest = [json.loads(text) for text in socket]
    assert rest[-1] == {"type": "done"}
    assert len(rest) < 20


def test_search_finds_something_and_stops(client, program):
    request = {"program": program, "objective": "instructions", "seconds": 60}
    with client.job("search", request) as socket:
        points = [json.loads(socket.recv()), json.loads(socket.recv())]
        socket.send("stop")
        points += [json.loads(text) for text in socket]
    assert points.pop() == {"type": "done"}
    best = points[-1]
    assert points[0]["tries"] == 0 and best["best"] < points[0]["best"]
    assert path(client, program, best["actions"])["steps"][-1]["instructions"] == best["best"]


def test_search_is_paused(client, program):
    request = {"program": program, "objective": "instructions", "seconds": 60}
    with client.job("search", request) as socket:
        json.loads(socket.recv())
        socket.send("pause")
        with pytest.raises(TimeoutError):
            while True:  # What was on its way comes first.
                socket.recv(timeout=0.6)
        socket.send("resume")
        assert json.loads(socket.recv())["type"] == "point"
        socket.send("stop")
        assert [json.loads(text) for text in socket][-1] == {"type": "done"}


@pytest.mark.parametrize("policy", ["pieces45", "sequence", "network"])
def test_policy_gives_a_branch(client, policy, program):
    actions = client.call("policy", {"program": program, "policy": policy})["actions"]
    before = client.call("program", {"source": _source()})["instructions"]
    left = path(client, program, actions)["steps"][-1]["instructions"]
    assert left < before
    level = path(client, program, ["mark-for-size<Oz>", "default<Oz>"])
    assert left <= level["steps"][-1]["instructions"]


def test_policy_gives_a_level_if_that_is_best(client, monkeypatch, program):
    poor = Policy((("globaldce",),), {}, levels=True)
    monkeypatch.setattr(Policy, "load", lambda _: poor)
    actions = client.call("policy", {"program": program, "policy": "sequence"})["actions"]
    with LlvmEnv() as env:
        assert tuple(actions) in Levels.of(env).all


def test_causes(client):
    program = client.paste("int f(void) { int a = 3; int b = a + 1; return b * 2; }\n")
    request = {"program": program, "actions": ["function(bdce)", SROA, "function(sccp)"]}
    *causes, _ = client.results("causes", request)
    assert [each["verdict"] for each in causes] == ["no influence", "enables"]
    request["actions"] = [SROA, INSTCOMBINE]  # Both remove loads.
    *causes, _ = client.results("causes", request)
    assert [each["verdict"] for each in causes] == ["does its work"]
    (failed,) = client.results("causes", {"program": program, "actions": ["nothing"]})
    assert "nothing" in failed["problem"]["message"]


def test_export(client, tmp_path, program):
    answer = client.call("export", {"program": program, "actions": [SROA, INLINE]})
    assert "-passes='module(function(sroa),cgscc(inline))'" in answer["commandline"]
    header, row = csv.reader(answer["csv"].splitlines())
    assert header == ["benchmark", "reward", "walltime", "commandline", "compiler_version"]
    assert row[1:] == ["", "0.0", answer["commandline"], row[-1]]
    assert row[-1].startswith(f"{llvm_tools.llvm_version()}.")
    made = {}
    exec(answer["python"], made)
    assert made["benchmark"].proto.uri.startswith("benchmark://user-v0/")
    environment = {**os.environ, "OPT": str(llvm_tools.opt_path())}
    script = ["sh", "-c", answer["script"]]
    subprocess.run(script, cwd=tmp_path, env=environment, check=True, timeout=250)
    broken = ["sh", "-c", answer["script"].replace("cgscc(inline)", "globaldce")]
    assert subprocess.run(broken, cwd=tmp_path, env=environment, timeout=250).returncode == 1


def test_ten_visitors_at_once(client):
    def visit(number):
        program = client.paste(f"int g(int); int f(int x) {{ return g(x) + {number}; }}\n")
        state = {"program": program, "actions": [SROA, INSTCOMBINE]}
        found = path(client, program, state["actions"])
        rows = client.results("causes", state) if number % 5 == 0 else []
        return found, client.call("metrics", state), client.call("code", state), rows

    with ThreadPoolExecutor(10) as pool:
        at_once = [*pool.map(visit, range(10))]
    client.bench.forget()
    for number in (0, 3, 9):
        assert visit(number) == at_once[number]
    assert all(f" {number}" in found["ir"] for number, (found, *_) in enumerate(at_once[1:], 1))
