"""``compiler-gym search``: short searches through the program that people run."""

import json
import os
import random
import signal
import subprocess
import threading
from contextlib import closing
from itertools import islice

import pytest

import compiler_gym
from compiler_gym.cli.search_state import FEWEST_TRIES, Budget, Game, Limit
from compiler_gym.cli.sequence_search import find, shorten
from compiler_gym.cli.sequence_trials import PASS_SPACE, SequenceSearch, Trial, Trials
from compiler_gym.envs.llvm import LlvmEnv, make_benchmark_from_source
from compiler_gym.tuning.policies.policy import (
    COST,
    FIRST_SEQUENCE,
    LEVEL_SPACE,
    Policy,
    level_costs,
    mutate,
)
from compiler_gym.tuning.policies.shipped import SEARCH_PIECES
from tests.processes import descendants, is_running, wait_until


def test_search_beats_oz_and_opt_agrees(run, environment):
    done = run("search", "sha256", "sorting", "--tries", "10")
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
    subprocess.run(["/bin/sh", "optimised/commands.sh"], check=True, env={})  # Without any PATH.
    assert (environment / "optimised" / "sha256.bc").read_bytes() == made


def test_own_program_as_json(run, program_c, environment):
    done = run("search", program_c.name, "--seconds", "1", "--goal", "bytes", "--json", "-o", "x")
    (result,) = json.loads(done.stdout)
    assert result["benchmark"] == program_c.as_uri()
    assert result["state"] == "done" and result["opt"] == "identical"
    costs = result["costs"]["bytes"]
    assert 0 < costs["best"] < costs["O0"]
    assert result["ratio"] == costs["best"] / costs["Oz"]
    assert result["commandline"].startswith("opt ")
    assert result["marked_ratio"] == costs["best"] / costs["marked_Oz"]
    assert result["curve"][-1]["tries"] <= result["tries"]
    assert {point["cost"] for point in result["curve"]} >= {costs["best"]}
    assert sorted(os.listdir(environment / "x")) == ["program.c.bc", "program.c.input.bc"]


def test_one_of_several_does_not_compile(run, environment, program_c):
    (environment / "wrong.c").write_text("int f(void) { return g; }\n")
    done = run("search", "wrong.c", program_c.name, "--seconds", "1", "--json", code=1)
    failed, found = json.loads(done.stdout)
    assert (failed["state"], found["state"]) == ("failed", "done")
    assert "use of undeclared identifier 'g'" in failed["error"]
    assert found["error"] is None and found["opt"] == "identical"
    assert "wrong.c failed: " in done.stderr


@pytest.fixture(name="env")
def fixture_env():
    with compiler_gym.make("llvm-v0", benchmark="benchmark://kernels-v0/bitops") as env:
        env.reset()
        yield env


@pytest.fixture(name="trials")
def fixture_trials(env):
    with closing(Trials(env, PASS_SPACE, COST)) as trials:
        yield trials


def test_passes_without_effect_are_removed(env, trials):
    needed, useless = (trials.space[name] for name in ("mem2reg", "globaldce"))
    game = Game(env.benchmark.uri, actions=[useless, needed, needed, useless])
    game.costs["instructions"]["best"] = trials.attempt([needed]).cost
    asked = []
    shorten(game, trials, threading.Event(), lambda tries: asked.append(tries) or False)
    assert game.actions == trials.actions == [needed]
    assert game.commandline.count("mem2reg") == 1
    assert asked == [*range(len(asked))]
    game.actions = [useless, needed]
    shorten(game, trials, threading.Event(), lambda tries: True)
    assert game.actions == [useless, needed]


SOURCE = """
static int twice(int x) { int all[4] = {x, x, 1, 1}; return all[0] + all[1]; }
static int both(int x, int y) { return x > y ? twice(x) - twice(y) : twice(y) - twice(x); }
int sum(const int *values, int count) {
  int all = 0;
  for (int i = 0; i + 1 < count; i++) all += both(values[i], values[i + 1]);
  return all;
}
"""


def found(env, tries, seed=0, goal="instructions", **options):
    game = Game(str(env.benchmark.uri), goal)
    find(env, game, threading.Event(), Budget(tries=tries, **options), seed)
    return game


def test_tries_follow_from_the_seed(env):
    env.reset(benchmark=make_benchmark_from_source(SOURCE, lang="c"))
    first, again, other = (found(env, 60, seed) for seed in (1, 1, 3))
    assert first.tries == 60
    curve = [(tries, cost) for tries, _, cost in first.curve]
    assert (first.actions, curve) == (again.actions, [(at, cost) for at, _, cost in again.curve])
    assert first.actions != other.actions
    # Each point is an improvement, and the last is the result.
    tries, shown = zip(*curve, strict=True)
    assert [*tries] == sorted({*tries}) and [*shown] == sorted({*shown}, reverse=True)
    costs = first.costs["instructions"]
    assert shown[-1] == costs["best"] < costs["Oz"]
    assert first.ratio == costs["best"] / costs["Oz"]
    assert first.marked_ratio == costs["best"] / costs["marked_Oz"]


@pytest.mark.parametrize("goal", ["instructions", "bytes"])
def test_no_result_is_worse_than_the_levels(env, goal):
    levels = level_costs(env)
    costs = found(env, FEWEST_TRIES, goal=goal).costs[goal]
    assert costs["best"] <= min(costs["Oz"], costs["marked_Oz"])
    assert goal == "bytes" or costs["best"] <= min(levels.values())
    # The time does not count for them.
    game = Game(str(env.benchmark.uri), goal)
    find(env, game, threading.Event(), Budget(seconds=0), 0)
    assert game.costs[goal]["best"] <= min(costs["Oz"], costs["marked_Oz"])
    assert len(game.curve) <= game.tries <= FEWEST_TRIES


def test_passes_of_llvm_alone(env, trials):
    with closing(Trials(env, LEVEL_SPACE, COST)) as levels:
        used = []
        for llvm_only in (True, False):
            game = Game("", costs={"instructions": {"O0": 1}})
            search = SequenceSearch(game, levels, trials, llvm_only)
            some = islice(search.candidates(random.Random(0)), 2000)
            used.append({each for who, actions in some if who is trials for each in actions})
    own = {each for each in used[1] if trials.space.options[each]}
    marks = {trials.space["mark-for-size<Oz>"], trials.space["mark-for-size<Os>"]}
    assert own - used[0] == own - marks
    assert trials.space["merge-identical-blocks"] in own
    assert marks & used[0]


def test_learnt_pieces_follow_the_best_passes(env, trials):
    learnt = Policy.load(SEARCH_PIECES).sequences
    assert {*learnt} > {*Policy.load("pieces").sequences}
    with closing(Trials(env, LEVEL_SPACE, COST)) as levels:
        game = Game("", costs={"instructions": {"O0": 1}})
        search = SequenceSearch(game, levels, trials, llvm_only=False)
        trials.keep([trials.space["sroa"]], 0)
        some = [*islice(search.candidates(random.Random(0)), len(learnt))]
    assert some == [(trials, [trials.space[name] for name in ("sroa", *each)]) for each in learnt]


def test_equally_good_sequences_stay_short(env, trials, monkeypatch):
    monkeypatch.setattr(Trials, "attempt", lambda self, actions: Trial(actions, 1, False))
    with closing(Trials(env, LEVEL_SPACE, COST)) as levels:
        game = Game("", costs={"instructions": {"O0": 1}})
        search = SequenceSearch(game, levels, trials, llvm_only=True)
        search.run(threading.Event(), Limit(None, 2000), random.Random(0))
        assert 0 < len(levels.actions) < 60
    assert 0 < len(trials.actions) < 300


class TestTrials:
    def test_costs_are_those_of_whole_episodes(self, env, trials):
        rng = random.Random(0)
        actions = [trials.space[name] for name in FIRST_SEQUENCE]
        trials.keep(*trials.attempt(actions)[:2])
        assert trials.best == cost_of(env, trials.space, actions)
        for _ in range(8):
            other = mutate(trials.actions, int(trials.space.n), rng)
            effective, cost, _ = trials.attempt(other)
            assert cost == cost_of(env, trials.space, other)
            assert cost == cost_of(env, trials.space, effective)

    def test_actions_without_effect_are_left_out(self, trials):
        needed, useless = (trials.space[name] for name in ("mem2reg", "globaldce"))
        first = trials.attempt([useless, needed, useless])
        assert first == ([needed], first.cost, False)
        assert trials.attempt([needed, useless, needed]) == ([needed], first.cost, True)

    def test_a_common_beginning_is_not_repeated(self, trials, monkeypatch):
        actions = trials.attempt([trials.space[name] for name in FIRST_SEQUENCE]).actions
        trials.keep(actions, 0)
        run = []
        multistep, step = LlvmEnv.multistep, LlvmEnv.step
        monkeypatch.setattr(
            LlvmEnv,
            "multistep",
            lambda env, many, **spaces: run.extend(many) or multistep(env, many, **spaces),
        )
        monkeypatch.setattr(LlvmEnv, "step", lambda env, one: run.append(one) or step(env, one))

        def steps_for(sequence):
            run.clear()
            trials.attempt(sequence)
            return len(run)

        assert steps_for([*actions[:-1], actions[0]]) == len(actions)
        assert steps_for([*actions[:-2], actions[0]]) < len(actions) / 2
        # What is kept of another best sequence is the common beginning.
        trials.keep([*actions[:20], *actions], 0)
        assert steps_for([*actions[:20], *actions[1:]]) == 4 + len(actions) - 1
        trials.keep(actions[1:], 0)
        assert steps_for(actions[1:-1]) == len(actions) - 2

    def test_a_result_without_a_cost(self, trials, monkeypatch):
        needed = trials.space["mem2reg"]
        ended = [None], None, True, {}
        monkeypatch.setattr(LlvmEnv, "multistep", lambda *_, **spaces: ended)
        assert trials.attempt([needed]) == ([needed], None, False)
        assert trials.attempt([needed]) == ([needed], None, True)

    def test_goes_on_after_the_end_of_the_service(self, env, trials):
        actions = [trials.space[name] for name in FIRST_SEQUENCE[:20]]
        actions, cost, _ = trials.attempt(actions)
        trials.keep(actions, cost)
        os.kill(env.service.service.pid, signal.SIGKILL)
        assert trials.attempt([*actions, *actions[:2]]).cost


def cost_of(env, space, actions):
    env.reset(action_space=space)
    return int(env.multistep(actions, observation_spaces=[COST])[0][0])


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


def test_search_needs_no_opt(run, environment, monkeypatch, tmp_path):
    monkeypatch.setenv("COMPILER_GYM_LLVM", str(tmp_path))
    text = run("search", "sha256", "--seconds", "1").stdout
    assert "opt is not installed to prove it. Try: pip install 'compiler_gym[clang]'" in text
    commands = (environment / "optimised" / "commands.sh").read_text()
    assert f"# COMPILER_GYM_LLVM is {tmp_path}, but there is no executable" in commands
    assert "\nopt " in commands
