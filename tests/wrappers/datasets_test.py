"""Another benchmark for each episode."""

import numpy as np
import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.wrappers import (
    Counter,
    CycleOverBenchmarks,
    CycleOverBenchmarksIterator,
    IterateOverBenchmarks,
    RandomOrderBenchmarks,
    TimeLimit,
)


@pytest.fixture
def programs(program):
    """Small benchmarks 0 to 3, by these last characters of their URIs."""
    contents = program.proto.program.contents
    return [Benchmark.from_file_contents(f"benchmark://user-v0/{i}", contents) for i in range(4)]


def visits(env, count):
    """The benchmarks of the next episodes."""
    numbers = []
    for _ in range(count):
        env.reset()
        numbers.append(int(str(env.benchmark)[-1]))
    return numbers


ALL = [
    IterateOverBenchmarks,
    CycleOverBenchmarks,
    RandomOrderBenchmarks,
    lambda env, programs: CycleOverBenchmarksIterator(env, lambda: iter(programs)),
]


class TestAll:
    @pytest.mark.parametrize("make", ALL)
    def test_reset_with_a_benchmark(self, env, programs, make):
        with pytest.raises(TypeError, match="Benchmark"):
            make(env, programs).reset(benchmark=programs[0])

    @pytest.mark.parametrize("make", ALL)
    def test_fork_goes_on_independently(self, env, programs, make):
        env = make(env, programs)
        visits(env, 1)
        with env.fork() as fork:
            there = visits(fork, 3)
            assert visits(env, 3) == there

    @pytest.mark.parametrize("make", ALL[1:])
    def test_no_benchmarks(self, env, make):
        with pytest.raises(ValueError, match="no benchmarks"):
            make(env, []).reset()

    @pytest.mark.parametrize("make", ALL[:3])
    def test_the_name_of_one(self, env, programs, make):
        with pytest.raises(TypeError, match=r"several benchmarks, got 'fft'; try \['fft'\]"):
            make(env, "fft")


class TestIterate:
    def test_order_and_end(self, env, programs):
        env = IterateOverBenchmarks(env, (program for program in programs))
        assert visits(env, 4) == [0, 1, 2, 3]
        with pytest.raises(StopIteration):
            env.reset()


class TestCycle:
    def test_shared_iterator(self, env, programs):
        env = CycleOverBenchmarks(env, programs[:3], fork_shares_iterator=True)
        assert visits(env, 2) == [0, 1]
        with env.fork() as fork:
            assert visits(fork, 2) == [2, 0]
        assert visits(env, 1) == [1]

    def test_the_generator_is_called_again_at_the_end(self, env, programs):
        calls = []

        def generate():
            calls.append("call")
            return iter(programs[:2])

        env = CycleOverBenchmarksIterator(env, generate)
        assert visits(env, 5) == [0, 1, 0, 1, 0]
        assert len(calls) == 3
        with env.fork() as fork:
            assert visits(fork, 2) == [1, 0]
        assert visits(env, 1) == [1]


class TestRandomOrder:
    def test_order(self, env, programs):
        first = visits(RandomOrderBenchmarks(env, programs, np.random.default_rng(1)), 12)
        again = visits(RandomOrderBenchmarks(env, iter(programs), np.random.default_rng(1)), 12)
        other = visits(RandomOrderBenchmarks(env, programs, np.random.default_rng(2)), 12)
        assert first == again != other
        assert set(first) == {0, 1, 2, 3}
        assert first != [0, 1, 2, 3] * 3


class TestForkBeforeTheFirstReset:
    """It begins an episode, but does not use up a program."""

    @pytest.mark.parametrize("wrap", [lambda env: env, lambda env: TimeLimit(Counter(env), 9)])
    @pytest.mark.parametrize("wrapper", [IterateOverBenchmarks, CycleOverBenchmarks])
    def test_both_go_on_with_the_first(self, env, programs, wrapper, wrap):
        env = wrap(wrapper(env, programs))
        with env.fork() as fork:
            assert str(fork.benchmark)[-1] == str(env.benchmark)[-1] == "0"
            assert visits(fork, 3) == [0, 1, 2]
        assert visits(env, 3) == [0, 1, 2]

    def test_shared_iterator(self, env, programs):
        env = CycleOverBenchmarks(env, programs, fork_shares_iterator=True)
        with env.fork() as fork:
            assert visits(fork, 1) == [1]
        assert visits(env, 2) == [0, 2]
