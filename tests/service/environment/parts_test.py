"""Small parts of environments, where environments do not show all of what they do."""

import gymnasium
import numpy as np
import pytest

from compiler_gym.datasets import Datasets
from compiler_gym.service.environment.action_spaces import ActionEncoder
from compiler_gym.service.environment.benchmark_selection import BenchmarkSelection
from compiler_gym.service.environment.space_choices import copy_reward
from compiler_gym.service.proto import Event
from compiler_gym.spaces import Reward
from tests.service.toy_service import HELLO, ToyDataset


class TestActionEncoder:
    @pytest.fixture
    def encoded(self):
        """The actions that were encoded so far."""
        return []

    def encoder(self, space, encoded) -> ActionEncoder:
        def to_event(action):
            encoded.append(action)
            return Event(int64_value=int(np.sum(action)))

        return ActionEncoder(space, to_event)

    def test_space_that_does_not_start_at_0(self, encoded):
        space = gymnasium.spaces.Discrete(3, start=-1)
        space.name = "x"
        encoder = self.encoder(space, encoded)
        assert encoder.encode([-1, 1])[0] == [-1, 1]
        with pytest.raises(ValueError, match=r"2 .*\[-1, 2\)"):
            encoder.encode([2])
        with pytest.raises(TypeError, match=r"\[-1, 2\)"):
            encoder.encode([0.5])


class TestBenchmarkSelection:
    def test_first_one_is_looked_up_once(self):
        looked_up = []

        class Counting(ToyDataset):
            def benchmarks(self):
                looked_up.append(self.name)
                return super().benchmarks()

            def benchmark_from_parsed_uri(self, uri):
                looked_up.append(str(uri))
                return super().benchmark_from_parsed_uri(uri)

        selection = BenchmarkSelection(Datasets([Counting()]))
        assert selection.next() is selection.next() is selection.peek()
        assert looked_up == [HELLO]


class TestRewardCopy:
    def test_shallow_copies_are_for_the_class_that_says_so(self):
        class Shallow(Reward):
            copies_are_shallow = True

        class Derived(Shallow):
            pass

        for reward_class, are_shared in ((Shallow, True), (Derived, False)):
            reward = reward_class("a", ["b"])
            reward.values = {"x": [1]}
            clone = copy_reward(reward, {})
            assert type(clone) is reward_class
            assert (clone.values is reward.values) == are_shared
            assert clone.observation_spaces == ["b"]
            assert clone.observation_spaces is not reward.observation_spaces

    def test_classes_that_copy_themselves(self):
        class Own(Reward):
            def __deepcopy__(self, memo):
                return "mine"

        assert copy_reward(Own("a"), {}) == "mine"
