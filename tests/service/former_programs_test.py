"""Environments of one's own, as users of former releases wrote them after the tutorial."""

from collections.abc import Iterable
from pathlib import Path

import pytest

import compiler_gym
from compiler_gym.datasets import Benchmark, Dataset
from compiler_gym.datasets.uri import BenchmarkUri
from compiler_gym.envs.compiler_env import CompilerEnv
from compiler_gym.spaces import Reward
from compiler_gym.util import registration
from compiler_gym.util.registration import register
from tests.service.toy_service import toy_service

TOY_SERVICE_BINARY: Path = toy_service()


class LengthReward(Reward):
    """An example reward that uses changes in the "length" observation value."""

    def __init__(self):
        super().__init__(
            name="growth",
            observation_spaces=["length"],
            default_value=0,
            default_negates_returns=True,
            deterministic=False,
            platform_dependent=True,
        )
        self.baseline_length = 0

    def reset(self, benchmark: str, observation_view):
        del benchmark  # unused
        self.baseline_length = observation_view["length"]

    def update(self, action, observations, observation_view):
        del action  # unused
        del observation_view  # unused
        return float(observations[0] - self.baseline_length) / self.baseline_length


class ExampleDataset(Dataset):
    def __init__(self, *args, **kwargs):
        super().__init__(
            name="benchmark://example-v1",
            license="MIT",
            description="An example dataset",
        )
        self._benchmarks = {
            "/foo": Benchmark.from_file_contents("benchmark://example-v1/foo", b"Ir data"),
            "/bar": Benchmark.from_file_contents("benchmark://example-v1/bar", b"Ir data, more"),
        }

    def benchmark_uris(self) -> Iterable[str]:
        yield from (f"benchmark://example-v1{k}" for k in self._benchmarks)

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        if uri.path in self._benchmarks:
            return self._benchmarks[uri.path]
        else:
            raise LookupError("Unknown program name")


@pytest.fixture
def env():
    register(
        id="example-v0",
        entry_point="compiler_gym.service.client_service_compiler_env:ClientServiceCompilerEnv",
        kwargs={
            "service": TOY_SERVICE_BINARY,
            "rewards": [LengthReward()],
            "datasets": [ExampleDataset()],
        },
    )
    with compiler_gym.make("example-v0") as env:
        yield env
    compiler_gym.COMPILER_GYM_ENVS.remove("example-v0")
    del registration._specs["example-v0"]


def test_the_tutorial(env: CompilerEnv):
    env.reset(
        benchmark="benchmark://example-v1/foo",
        reward_space="growth",
        observation_space="histogram",
    )
    for _ in range(20):
        observation, reward, done, _ = env.step(env.action_space["append-a"])
        assert not done
    assert observation[0] == 2 + 20
    assert reward == pytest.approx(20 / 7)
    assert str(env.benchmark) == "benchmark://example-v1/foo"


def test_a_raw_step(env: CompilerEnv):
    """Steps as subclasses of environments make them."""
    env.reset(benchmark="benchmark://example-v1/foo", reward_space="growth")
    observations, rewards, done, info = env.raw_step(
        [3, 3], [env.observation.spaces["text"]], [env.reward.spaces["growth"]]
    )
    assert observations == ["Ir dataaa"]
    assert rewards == pytest.approx([2 / 7])
    assert not done
    assert not info["action_had_no_effect"]
    assert env.episode_reward == 0
