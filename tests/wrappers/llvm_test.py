import numpy as np
import pytest

from compiler_gym.envs.llvm import make_benchmark_from_source, with_dynamic_config
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.wrappers import RuntimePointEstimateReward

PROGRAM = "int main(void) { return 0; }"


@pytest.fixture
def counting(tmp_path):
    """A program whose runs leave a trace, and tell on how many processors they may be."""
    return with_dynamic_config(
        make_benchmark_from_source(PROGRAM, lang="c"),
        run="echo x >> runs; nproc > cpus",
        outfiles=["runs"],
        post_run=[f"cp runs cpus {tmp_path}"],
    )


def test_protocol(env, counting, tmp_path):
    wrapped = RuntimePointEstimateReward(env, runtime_count=3, warmup_count=2)
    wrapped.reset(benchmark=counting)
    assert (tmp_path / "runs").read_text() == "x\n" * 5
    _, reward, _, _ = wrapped.step(wrapped.action_space["mem2reg"])
    assert isinstance(reward, float)
    assert (tmp_path / "runs").read_text() == "x\n" * 10
    assert wrapped.episode_reward == reward


def test_during_an_episode(env, counting, tmp_path):
    env.reset(benchmark=counting)
    wrapped = RuntimePointEstimateReward(env, runtime_count=2, warmup_count=1)
    assert (tmp_path / "runs").read_text() == "x\n" * 3
    _, reward, _, _ = wrapped.step(wrapped.action_space["mem2reg"])
    assert wrapped.episode_reward == reward


def test_reward_is_the_time_saved(env, tmp_path):
    seconds = tmp_path / "seconds"
    seconds.write_text("0.3")
    benchmark = with_dynamic_config(
        make_benchmark_from_source(PROGRAM, lang="c"), run=f"sleep $(cat {seconds})"
    )
    estimates = []

    def estimate(runtimes):
        assert len(runtimes) == 2
        estimates.append(np.min(runtimes))
        return estimates[-1]

    wrapped = RuntimePointEstimateReward(env, runtime_count=2, estimator=estimate)
    wrapped.reset(benchmark=benchmark)
    seconds.write_text("0.1")
    _, reward, _, _ = wrapped.step(wrapped.action_space["mem2reg"])
    assert reward == estimates[0] - estimates[1]
    with wrapped.fork() as fork:
        seconds.write_text("0.3")
        _, reward, _, _ = fork.step(fork.action_space["simplifycfg"])
        assert reward == estimates[1] - estimates[2]
    assert all(np.greater(estimates, [0.3, 0.1, 0.3]))


def test_pinning(env, counting, tmp_path):
    RuntimePointEstimateReward(env, runtime_count=1, pinning=True).reset(benchmark=counting)
    assert (tmp_path / "cpus").read_text() == "1\n"


def test_program_without_commands(env):
    wrapped = RuntimePointEstimateReward(env, runtime_count=1)
    with pytest.raises(BenchmarkInitError, match="not runnable"):
        wrapped.reset(benchmark=make_benchmark_from_source(PROGRAM, lang="c"))
