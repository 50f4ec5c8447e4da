import copy
import pickle

import numpy as np
import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.errors import BenchmarkInitError, ServiceError
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.spaces import DefaultRewardFromObservation, Reward, RuntimeReward


@pytest.mark.parametrize(
    ("negates", "episode_reward", "expected"),
    [(False, 10, -1), (False, None, -1), (True, 10, -11), (True, None, -1), (True, -2.5, 1.5)],
)
def test_reward_on_error(negates, episode_reward, expected):
    reward = Reward("r", default_value=-1, default_negates_returns=negates)
    assert reward.reward_on_error(episode_reward) == expected


def test_equality_and_hash():
    reward = Reward("r", ["a"])
    assert reward == "r"
    assert reward != "s"
    assert reward == Reward("r", ["a"])
    assert reward == copy.deepcopy(reward) == pickle.loads(pickle.dumps(reward))
    assert reward != Reward("r", ["b"])
    assert reward != Reward("r", ["a"], min=0)
    assert reward != DefaultRewardFromObservation("r")
    assert {reward: 1}["r"] == 1
    assert len({reward, Reward("r", ["a"]), "r"}) == 1


def test_default_reward_from_observation():
    reward = DefaultRewardFromObservation("size")
    assert reward == "size"
    assert reward.observation_spaces == ["size"]
    assert reward.reward_on_error(7) == RuntimeReward(1, 0, min).reward_on_error(7) == -7
    reward.reset("benchmark://x", {})
    assert reward.update([0], [np.int64(5)], {}) == 5
    assert reward.update([0], [3], {}) == -2
    assert isinstance(reward.update([0], [3], {}), float)
    reward.reset("benchmark://x", {})
    assert reward.update([0], [4.5], {}) == 4.5


def view(*seconds):
    return {"IsRunnable": True, "Runtime": [*seconds]}


@pytest.fixture
def runtime():
    return RuntimeReward(runtime_count=3, warmup_count=1, estimator=np.median)


def test_runtime_reward_of_another_program(runtime):
    runtime.reset("benchmark://x", view(1.0, 1.0, 1.0))
    runtime.reset("benchmark://y", view(5.0, 5.0, 5.0))
    assert runtime.update([0], [[4.0, 4.0, 4.0]], {}) == 1
    benchmark = program("benchmark://a-v0/x", b"one", "./a.out")
    runtime.reset(benchmark, view(1.0, 1.0, 1.0))
    benchmark.proto.dynamic_config.run_cmd.argument.append("--slowly")
    runtime.reset(benchmark, view(5.0, 5.0, 5.0))
    assert runtime.update([0], [[4.0, 4.0, 4.0]], {}) == 1


def test_runtime_reward_after_a_program_that_cannot_be_run(runtime):
    runtime.reset("benchmark://x", view(1.0, 1.0, 1.0))
    with pytest.raises(BenchmarkInitError, match="benchmark://y"):
        runtime.reset("benchmark://y", {"IsRunnable": False, "Runtime": []})
    runtime.reset("benchmark://x", view(3.0, 3.0, 3.0))
    assert runtime.update([0], [[2.0, 2.0, 2.0]], {}) == 1


def program(uri: str, contents: bytes = b"", run: str = "") -> Benchmark:
    proto = BenchmarkProto(uri=uri, program=File(contents=contents))
    proto.dynamic_config.run_cmd.argument.append(run)
    for number in range(20):
        proto.dynamic_config.run_cmd.env[f"{number}"] = "1"
    return Benchmark(proto)


def test_runtime_reward_needs_all_measurements(runtime):
    with pytest.raises(ServiceError, match=r"3 runtimes.*1"):
        runtime.reset("benchmark://x", view(1.0))
    runtime.reset("benchmark://x", view(1.0, 1.0, 1.0))
    with pytest.raises(ServiceError, match=r"3 runtimes.*4"):
        runtime.update([0], [[1.0] * 4], {})
