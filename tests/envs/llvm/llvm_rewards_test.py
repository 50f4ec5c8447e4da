import math

import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm.llvm_rewards import (
    BaselineImprovementNormalizedReward,
    CostFunctionReward,
    NormalizedReward,
    make_llvm_rewards,
)
from compiler_gym.service.environment.space_choices import copy_reward

COSTS = {"CostO0": 100, "CostO3": 90, "CostOz": 60}


class CountingView(dict):
    """Observations by name, which remembers what was asked for."""

    def __init__(self, values=COSTS, family=0):
        super().__init__(values)
        self.asked = []
        self.family = family

    def __getitem__(self, name):
        self.asked.append(name)
        return super().__getitem__(name)


@pytest.fixture
def view():
    return CountingView()


def benchmark(name="a", program=b"program"):
    return Benchmark.from_file_contents(f"benchmark://user-v0/{name}", program)


def started(reward, view, program=None):
    reward.reset(program or benchmark(), view)
    return reward


def cost_reward():
    return CostFunctionReward(name="R", cost_function="Cost", init_cost_function="CostO0")


def norm_reward():
    return NormalizedReward(name="R", cost_function="Cost", init_cost_function="CostO0")


def baseline_reward(baseline="CostOz"):
    return BaselineImprovementNormalizedReward(
        name="R", cost_function="Cost", init_cost_function="CostO0", baseline_cost_function=baseline
    )


def test_the_unoptimised_cost_is_asked_for_once_a_benchmark(view):
    reward = started(cost_reward(), view)
    assert view.asked == []
    for _ in range(2):
        reward.update([], [95], view)
        reward.update([], [90], view)
        started(reward, view)
    assert view.asked == ["CostO0"]
    # Another program of the same name.
    started(reward, view, benchmark(program=b"other")).update([], [95], view)
    reward.parameters_changed()
    started(reward, view, benchmark(program=b"other")).update([], [95], view)
    assert view.asked == ["CostO0"] * 3


def test_costs_of_a_program_that_comes_again(view):
    """A copy knows them, too, until a session parameter is sent."""
    reward = baseline_reward()
    copies = [reward, copy_reward(reward, {}), copy_reward(reward, {})]
    for each in copies:
        for name in "aba":
            assert started(each, view, benchmark(name)).update([], [60], view) == 1
    assert view.asked == ["CostO0", "CostOz"] * 2
    copies[1].parameters_changed()
    for _ in range(2):
        started(copies[1], view, benchmark("a")).update([], [60], view)
        started(copies[1], view, benchmark("b")).update([], [60], view)
    assert view.asked == ["CostO0", "CostOz"] * 6
    started(copies[2], view, benchmark("b")).update([], [60], view)
    assert view.asked == ["CostO0", "CostOz"] * 6


def test_each_episode_starts_from_the_unoptimised_cost(view):
    reward = started(cost_reward(), view)
    assert reward.update([], [40], view) == 60
    started(reward, view)
    assert reward.update([], [99], view) == 1


def test_program_without_cost():
    view = CountingView({"CostO0": 0})
    assert started(norm_reward(), view).update([], [3], view) == -3


@pytest.mark.parametrize(
    ("baseline_cost", "norm"),
    [
        pytest.param(10, 90, id="much better"),
        pytest.param(90, 10, id="just clearly better"),
        pytest.param(99, 10, id="slightly better"),
        pytest.param(100, 10, id="equal"),
        pytest.param(101, 10, id="slightly worse"),
        pytest.param(150, 50, id="clearly worse"),
        pytest.param(900, 800, id="much worse"),
    ],
)
def test_norm_of_any_baseline(baseline_cost, norm):
    view = CountingView({"CostO0": 100, "CostOz": baseline_cost})
    reward = started(baseline_reward(), view)
    assert reward.update([], [98], view) == pytest.approx(2 / norm)
    assert reward.update([], [0], view) == pytest.approx(98 / norm)


@pytest.mark.parametrize("cost", [0, 3])
def test_program_and_baseline_without_cost(cost):
    view = CountingView({"CostO0": 0, "CostOz": 0})
    assert started(baseline_reward(), view).update([], [cost], view) == -cost


def test_norm_is_computed_again_with_other_parameters(view):
    reward = started(baseline_reward(), view)
    assert reward.update([], [80], view) == 0.5
    reward.parameters_changed()
    view["CostOz"] = 20
    assert reward.update([], [40], view) == 0.5
    view["CostOz"] = 60
    started(reward, view)
    assert reward.update([], [80], view) == 0.5


def test_reward_of_a_failed_step_takes_back_the_episode():
    for reward in make_llvm_rewards():
        assert reward.reward_on_error(2.5) == -2.5


def test_all_rewards():
    rewards = {reward.name: reward for reward in make_llvm_rewards()}
    assert set(rewards) == {
        *("IrInstructionCount", "IrInstructionCountNorm"),
        *("IrInstructionCountO3", "IrInstructionCountOz"),
        *("ObjectTextSizeBytes", "ObjectTextSizeNorm", "ObjectTextSizeO3", "ObjectTextSizeOz"),
        *("TextSizeBytes", "TextSizeNorm", "TextSizeO3", "TextSizeOz"),
        *("CyclesEstimate", "CyclesEstimateNorm", "CyclesEstimateO3", "CyclesEstimateOz"),
    }
    for name, reward in rewards.items():
        is_relative = name.endswith(("O3", "Oz"))
        assert reward.success_threshold == (1 if is_relative else None)
        assert reward.range == (-math.inf, 1 if name.endswith("Norm") else math.inf)
        assert reward.default_value == 0
        assert reward.default_negates_returns
        assert reward.deterministic
        assert reward.platform_dependent == ("TextSize" in name)


def test_an_object_may_go_to_an_environment_of_another_compiler(view):
    other = CountingView({"CostO0": 200, "CostOz": 100}, family=1)
    reward = started(baseline_reward(), view)
    assert reward.update([], [60], view) == 1
    fork = copy_reward(reward, {})
    started(reward, other)
    assert reward.update([], [100], other) == 1
    assert fork.update([], [100], view) == -1
    with pytest.raises(ValueError, match="a reward object for each environment, got R in two"):
        reward.update([], [60], view)
    assert started(reward, view).update([], [60], view) == 1
    assert view.asked == ["CostO0", "CostOz"] * 2
