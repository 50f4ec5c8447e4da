"""Tests of the text form of answers to the register allocator."""

import pytest

from compiler_gym.envs.llvm.regalloc.regalloc_env import EvictionCommandline
from compiler_gym.spaces import CommandlineFlag

NAMES = ["candidate-0", "candidate-1", "none", "default"]


@pytest.fixture
def space():
    return EvictionCommandline([CommandlineFlag(name, name, "") for name in NAMES])


@pytest.mark.parametrize("actions", [[], [0], [3, 3, 3, 1, 3], [2, 2, 0, 0, 3]])
def test_round_trip(space, actions):
    assert space.from_string(space.to_string(actions)) == actions


def test_text(space):
    assert space.to_string([3, 3, 0, 2]) == "evictions<default*2;candidate-0;none>"


def test_other_texts(space):
    with pytest.raises(LookupError, match="'candidate-9' is not in"):
        space.from_string("evictions<candidate-9>")
    for text in ("sroa", "evictions", "evictions<default*two>"):
        with pytest.raises(ValueError, match="expected"):
            space.from_string(text)
