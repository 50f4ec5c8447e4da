"""The example compiler in Python and in C++: the same answers from both."""

import random
import re

import gymnasium
import numpy as np
import pytest

import compiler_gym
import examples.example_compiler_gym_service  # noqa: F401, which makes the ids known.
from compiler_gym.datasets import Benchmark
from compiler_gym.service.proto import EndSessionRequest, Event, StartSessionRequest, StepRequest

IDS = ["example-py-v0", "example-cc-v0"]
FOO = "benchmark://example-compiler-v0/foo"
A, B, C = range(3)


@pytest.fixture(scope="module", params=IDS)
def env(request):
    with compiler_gym.make(request.param) as env:
        yield env


def program(text: str) -> Benchmark:
    return Benchmark.from_file_contents("benchmark://user-v0/program", text.encode())


def run(text: str, number: int) -> int:
    """Returns the result of a program."""
    for line in text.splitlines():
        name, constant = line.split()
        number = number + int(constant) if name == "add" else number * int(constant)
    return number


def random_program(rng: random.Random) -> str:
    constants = [0, 1, 1, 2, -3, 5, 2**30, -(2**31 - 1)]
    lines = [f"{rng.choice(['add', 'mul'])} {rng.choice(constants)}\n" for _ in range(12)]
    return "".join(lines)


def test_spaces(env):
    assert env.compiler_version == "example 1.0"
    assert env.action_space.names == ["a", "b", "c"]
    assert list(env.observation.spaces) == ["ir", "features", "runtime"]
    assert env.observation_space.shape == (3,)
    assert [str(uri) for uri in env.datasets.benchmark_uris()] == [
        "benchmark://example-compiler-v0/foo",
        "benchmark://example-compiler-v0/bar",
    ]


def test_episode(env):
    assert env.reset(benchmark=FOO).tolist() == [5, 3, 2]
    assert env.observation["runtime"] == 9
    assert env.step(A)[3]["action_had_no_effect"]
    assert env.step(C)[:3] == (pytest.approx(np.array([5, 3, 2])), 0, False)
    assert env.observation["ir"] == "mul 2\nadd 2\nmul 4\nadd 12\nadd 5\n"
    observation, reward, done, info = env.multistep([C, B])
    assert observation.tolist() == [2, 1, 1]
    assert (reward, done, info["action_had_no_effect"]) == (5, False, False)
    assert env.observation["ir"] == "mul 8\nadd 25\n"
    assert env.episode_reward == 5


def test_refused_actions(env):
    env.reset(benchmark=FOO)
    with pytest.raises(LookupError, match=r"baz.*foo, bar"):
        env.reset(benchmark="benchmark://example-compiler-v0/baz")
    for text in ["sub 1", "add", "add x", "add 1.5", "add --1", "mul  2", "", "add 1 "]:
        with pytest.raises(ValueError, match=re.escape(f"Not an instruction: {text}")):
            env.reset(benchmark=program(f"add 1\n{text}\n"))
    service = env.service
    start = StartSessionRequest(benchmark=program("add 1\n").proto)
    session = service(service.stub.StartSession, start).session_id
    for action in (-1, 3):
        step = StepRequest(session_id=session, action=[Event(int64_value=action)])
        with pytest.raises(ValueError, match=f"0 to 2.*{action}"):
            service(service.stub.Step, step)
    service(service.stub.EndSession, EndSessionRequest(session_id=session))


def test_both_do_the_same():
    rng = random.Random(0)
    with compiler_gym.make(IDS[0]) as python, compiler_gym.make(IDS[1]) as cpp:
        for _ in range(20):
            text = random_program(rng)
            start = rng.randrange(-100, 100)
            for env in (python, cpp):
                env.reset(benchmark=program(text))
            for action in rng.choices([A, B, C], k=10):
                results = []
                for env in (python, cpp):
                    features, reward, done, info = env.step(action)
                    ir, runtime = env.observation["ir"], env.observation["runtime"]
                    results.append((features.tolist(), reward, done, info, ir, runtime))
                assert results[0] == results[1]
                assert run(ir, start) == run(text, start)


@pytest.mark.parametrize("name", IDS)
def test_gymnasium(name):
    env = gymnasium.make(name)
    observation, _ = env.reset(seed=0)
    assert observation.tolist() == [5, 3, 2]
    assert env.step(B)[1:4] == (0, False, False)
    env.close()
