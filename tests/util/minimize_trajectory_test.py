"""Minimisation of trajectories: with a stand-in for environments, and with LLVM."""

import numpy as np
import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import LlvmEnv, make_benchmark_from_source
from compiler_gym.errors import MinimizationError, ValidationError
from compiler_gym.util.minimize_trajectory import (
    bisect_trajectory,
    environment_validation_fails,
    minimize_trajectory_iteratively,
    random_minimization,
)


class Recorder:
    """Remembers actions, and does nothing else."""

    benchmark = "benchmark://none-v0/none"

    def __init__(self, actions):
        self.actions = list(actions)
        self.resets = 0

    def reset(self, benchmark):
        assert benchmark == self.benchmark
        self.actions = []
        self.resets += 1

    def multistep(self, actions):
        self.actions += actions


def holds(*needed):
    return lambda env: set(needed) <= set(env.actions)


ALL = [bisect_trajectory, random_minimization, minimize_trajectory_iteratively]


class TestBisection:
    @pytest.mark.parametrize("n", range(10))
    def test_end_and_beginning(self, n):
        env = Recorder(range(10))
        list(bisect_trajectory(env, holds(n)))
        assert env.actions == list(range(n + 1))
        env = Recorder(range(10))
        list(bisect_trajectory(env, holds(n), reverse=True))
        assert env.actions == list(range(n, 10))

    def test_few_questions(self):
        env = Recorder(range(1000))
        list(bisect_trajectory(env, holds(77)))
        assert env.actions == list(range(78))
        assert env.resets <= 12


class TestAll:
    @pytest.mark.parametrize("minimize", ALL)
    def test_nothing_matters(self, minimize):
        env = Recorder(range(5))
        list(minimize(env, lambda env: True))
        assert env.actions == []

    @pytest.mark.parametrize("minimize", ALL)
    def test_everything_matters(self, minimize):
        env = Recorder(range(5))
        assert list(minimize(env, lambda env: len(env.actions) == 5)) == []
        assert env.actions == list(range(5))

    @pytest.mark.parametrize("minimize", ALL)
    def test_ever_shorter(self, minimize):
        env = Recorder(range(40))
        lengths = [len(env.actions)]
        for each in minimize(env, holds(3, 30)):
            assert each is env
            assert holds(3, 30)(env)
            lengths.append(len(env.actions))
        assert lengths == sorted(set(lengths), reverse=True)
        assert len(env.actions) == lengths[-1] < 40

    @pytest.mark.parametrize("minimize", ALL)
    def test_hypothesis_that_does_not_hold(self, minimize):
        with pytest.raises(MinimizationError, match="3 actions"):
            list(minimize(Recorder(range(3)), lambda env: False))

    @pytest.mark.parametrize("minimize", ALL)
    def test_flaky_hypothesis(self, minimize):
        """Asked three times, a hypothesis that holds every third time counts as one that holds."""
        asked = []

        def flaky(env):
            asked.append(env)
            return len(asked) % 3 == 0 and 4 in env.actions

        env = Recorder(range(5))
        with pytest.raises(MinimizationError):
            list(minimize(env, flaky))
        asked.clear()
        list(minimize(env, flaky, flakiness=3))
        assert 4 in env.actions


def test_random_minimization():
    env = Recorder(range(200))
    list(random_minimization(env, holds(7, 70), rng=np.random.default_rng(0)))
    assert {7, 70} <= set(env.actions)
    assert len(env.actions) < 10


@pytest.mark.parametrize("ratios", [(0, 0.5), (1.5, 0.5), (0.5, 1)])
def test_wrong_ratios(ratios):
    with pytest.raises(ValueError, match="between 0 and 1"):
        list(random_minimization(Recorder([1]), holds(), *ratios))


def test_iteratively():
    env = Recorder(range(40))
    list(minimize_trajectory_iteratively(env, holds(3, 17, 30)))
    assert env.actions == [3, 17, 30]


@pytest.fixture
def broken():
    """An LLVM environment whose program is wrong as soon as mem2reg has run."""
    program = make_benchmark_from_source("int f(int x) { int y = x; return y; }", lang="c")
    benchmark = Benchmark(program.proto)

    def validate(env):
        if "alloca" not in env.ir:
            yield ValidationError("Wrong output", {})

    benchmark.add_validation_callback(validate)
    with LlvmEnv(benchmark=benchmark) as env:
        env.reset()
        names = ["globaldce", "dce", "mem2reg", "simplifycfg", "instcombine", "dce"]
        env.multistep([env.action_space[name] for name in names])
        yield env


def test_passes_that_break_a_program(broken):
    assert environment_validation_fails(broken)
    list(bisect_trajectory(broken))
    assert len(broken.actions) == 3
    assert broken.actions[-1] == broken.action_space["mem2reg"]
    list(minimize_trajectory_iteratively(broken))
    assert broken.actions == [broken.action_space["mem2reg"]]
    assert environment_validation_fails(broken)
