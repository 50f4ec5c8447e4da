import random

import pytest

from benchmarks.arena import OBSERVED
from benchmarks.replay import Replay
from benchmarks.replay_player import ReplayPlayer
from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv


@pytest.fixture
def replay(replay_binary, small_program):
    with Replay(replay_binary, small_program) as replay:
        yield replay


def test_start_resets_the_module(replay):
    first = replay.start().instructions
    replay.apply(["function(sroa)"])
    assert replay.start().instructions == first
    replay.run(["function(sroa)"])  # It has a module of its own.
    assert replay.apply(["function(sroa)"])[1]


def test_same_walk_as_the_environment(replay, small_program):
    benchmark = Benchmark.from_file("benchmark://test-v0/small", small_program)
    rng = random.Random(1)
    with LlvmEnv(benchmark=benchmark) as env:
        env.reset()
        assert env.observation["IrInstructionCount"] == replay.start().instructions
        for _ in range(60):
            action = rng.randrange(env.action_space.n)
            _, _, done, info = env.step(action)
            assert not done, info
            pipeline = env.action_space.names[action]
            assert replay.apply([pipeline])[1] == (not info["action_had_no_effect"]), pipeline


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda replay: replay.run(["no-such-pass"]), "no-such-pass"),
        (lambda replay: replay.apply(["function(sroa)", "no-such-pass"]), "no-such-pass"),
        (lambda replay: replay.observe("NoSuchThing"), 'no observation "NoSuchThing"'),
        (lambda replay: replay._ask(["jump"]), 'Unknown command "jump"'),
    ],
)
def test_failures_are_explained(replay, call, message):
    replay.start()
    with pytest.raises(RuntimeError, match=message):
        call(replay)


@pytest.mark.parametrize("observations", [None, (), OBSERVED])
def test_player_forks_at_the_present_state(replay_binary, small_program, observations, monkeypatch):
    pipelines = ["function(sroa)", "function(simplifycfg)"]
    player = ReplayPlayer(replay_binary, small_program, pipelines, observations)
    try:
        assert player.reset() > 0
        assert player.play([0, 1]) > 0
        applied, apply = [], player._replay.apply
        monkeypatch.setattr(
            player._replay, "apply", lambda names: applied.append([*names]) or apply(names)
        )
        assert player.fork() > 0
        assert applied == [pipelines]  # A fork makes the actions again.
    finally:
        player.close()
