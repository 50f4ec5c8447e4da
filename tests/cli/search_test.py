"""``compiler-gym search``: short searches through the program that people run."""

import json
import os
import random
import subprocess
import threading
import time

import compiler_gym
from compiler_gym.cli.sequence_search import Game, shorten
from compiler_gym.tuning.policies.policy import mutate
from compiler_gym.util.llvm_tools import opt_path
from tests.processes import descendants, is_running, wait_until


def test_search_beats_oz_and_opt_agrees(run, environment):
    done = run("search", "sha256", "sorting", "--seconds", "5")
    assert "2 of 2 programs have fewer instructions than with opt -Oz" in done.stdout
    assert "opt made the same bytes for 2 of 2" in done.stdout
    for name in ("sha256", "sorting"):
        assert (environment / "optimised" / f"{name}.bc").read_bytes()[:2] == b"BC"
        assert (environment / "optimised" / f"{name}.input.bc").stat().st_size > 0
    lines = done.stdout.splitlines()
    assert "opt commands that make them in optimised/commands.sh." in done.stdout
    assert max(map(len, lines)) <= 100
    assert not any(line != line.rstrip() for line in lines)
    made = (environment / "optimised" / "sha256.bc").read_bytes()
    (environment / "optimised" / "sha256.bc").unlink()
    path = f"{opt_path().parent}:{os.environ['PATH']}"
    subprocess.run(["sh", "optimised/commands.sh"], check=True, env=os.environ | {"PATH": path})
    assert (environment / "optimised" / "sha256.bc").read_bytes() == made


def test_own_program_as_json(run, program_c, environment):
    done = run("search", program_c.name, "--seconds", "5", "--goal", "bytes", "--json", "-o", "x")
    (result,) = json.loads(done.stdout)
    assert result["benchmark"] == program_c.as_uri()
    assert result["state"] == "done" and result["opt"] == "identical"
    costs = result["costs"]["bytes"]
    assert 0 < costs["best"] < costs["O0"]
    assert result["ratio"] == costs["best"] / costs["Oz"]
    assert result["commandline"].startswith("opt ")
    assert sorted(os.listdir(environment / "x")) == ["program.c.bc", "program.c.input.bc"]


def test_one_of_several_does_not_compile(run, environment, program_c):
    (environment / "wrong.c").write_text("int f(void) { return g; }\n")
    done = run("search", "wrong.c", program_c.name, "--seconds", "2", "--json", code=1)
    failed, found = json.loads(done.stdout)
    assert (failed["state"], found["state"]) == ("failed", "done")
    assert "use of undeclared identifier 'g'" in failed["error"]
    assert found["error"] is None and found["opt"] == "identical"
    assert "wrong.c failed: " in done.stderr


def test_passes_without_effect_are_removed():
    with compiler_gym.make("llvm-v0", benchmark="benchmark://kernels-v0/bitops") as env:
        needed, useless = (env.action_space[name] for name in ("mem2reg", "globaldce"))
        env.reset()
        (cost,), *_ = env.multistep([needed], observation_spaces=["IrInstructionCount"])
        game = Game(env.benchmark.uri, actions=[useless, needed, needed, useless])
        game.costs["instructions"]["best"] = int(cost)
        shorten(env, game, threading.Event(), deadline=time.monotonic() + 3600)
        assert game.actions == [needed]
        assert game.commandline.count("mem2reg") == 1


def test_mutate_changes_a_copy():
    rng = random.Random(0)
    sequence = [1, 2, 3]
    results = [mutate(sequence, 10, rng) for _ in range(200)]
    assert sequence == [1, 2, 3]
    assert {len(result) for result in results} == set(range(7))
    assert all(0 <= action < 10 for result in results for action in result)
    assert mutate([], 1, rng) != []


def test_terminal_shows_the_table_until_ctrl_c(terminal, environment):
    screen = terminal("search", "sha256", "--seconds", "1000")
    screen.wait_for("searching")
    screen.wait_for("%")  # There is a best sequence.
    started = descendants(screen.pid)
    screen.type("\x03")
    screen.wait_for("sha256, as far as the search came:")
    screen.wait_for("-passes='module(")
    screen.end(code=130)
    wait_until(lambda: not any(map(is_running, started)))
    assert os.listdir(environment) == []


def test_search_needs_no_opt(run, monkeypatch, tmp_path):
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path))
    text = run("search", "sha256", "--seconds", "1").stdout
    assert "opt is not installed to prove it. Try: pip install 'compiler_gym[clang]'" in text
