import pytest

from compiler_gym.envs.llvm.regalloc.regalloc_env import EvictionCommandline, PriorityCommandline
from compiler_gym.spaces import CommandlineFlag

EVICTIONS = ["candidate-0", "candidate-1", "none", "default"]
PRIORITIES = ["first", "last", "sooner", "default"]


def make(space_class, names):
    return space_class([CommandlineFlag(name, name, "") for name in names])


@pytest.fixture
def space():
    return make(EvictionCommandline, EVICTIONS)


@pytest.mark.parametrize("actions", [[], [0], [3, 3, 3, 1, 3], [2, 2, 0, 0, 3]])
def test_round_trip(space, actions):
    for each in (space, make(PriorityCommandline, PRIORITIES)):
        assert each.from_string(each.to_string(actions)) == actions


def test_text(space):
    assert space.to_string([3, 3, 0, 2]) == "evictions<default*2;candidate-0;none>"
    priorities = make(PriorityCommandline, PRIORITIES)
    assert priorities.to_string([3, 3, 0, 2]) == "priorities<default*2;first;sooner>"


def test_other_texts(space):
    with pytest.raises(LookupError, match="candidate-9"):
        space.from_string("evictions<candidate-9>")
    for text in ("sroa", "evictions", "evictions<default*two>", "priorities<default>"):
        with pytest.raises(ValueError, match="expected"):
            space.from_string(text)
