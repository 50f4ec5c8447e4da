"""NamedDiscrete and Commandline."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

from compiler_gym.spaces import (
    Commandline,
    CommandlineFlag,
    Discrete,
    NamedDiscrete,
    UnknownNameError,
)


@pytest.fixture
def named():
    return NamedDiscrete(["zero", "one", "two"], "numbers")


FLAGS = [
    CommandlineFlag("a", "-a", "the first"),
    CommandlineFlag("b", "-b", "the second"),
    CommandlineFlag("ab", "-a -b", "both at once"),
    CommandlineFlag("level", "-mllvm -level=2"),
]


@pytest.fixture
def commandline():
    return Commandline(FLAGS, "flags")


def test_named_discrete(named):
    assert isinstance(named, gymnasium.spaces.Discrete)
    assert named.n == 3
    assert named.name == "numbers"
    assert named.names == ["zero", "one", "two"]
    assert [named[name] for name in named.names] == [0, 1, 2]
    assert 2 in named
    assert 3 not in named
    assert named.names[named.sample()] in named.names


def test_named_discrete_text(named):
    assert named.to_string([2, 0, np.int64(0)]) == "two zero zero"
    assert named.to_string(1) == "one"
    assert named.to_string([]) == ""
    assert named.from_string("two zero  zero") == [2, 0, 0]
    assert named.from_string("") == []


def test_long_name(named):
    with pytest.raises(UnknownNameError) as caught:
        named["x" * 1_000_000]
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("error", [UnknownNameError, KeyError, ValueError, LookupError])
def test_unknown_name(named, error):
    with pytest.raises(error) as caught:
        named["Twoo"]
    assert str(caught.value) == "'Twoo' is not in the space 'numbers'. Did you mean two?"
    with pytest.raises(error, match="'five' is not in the space 'numbers'"):
        named.from_string("one five")


@pytest.mark.parametrize("value", [3, -1])
def test_unknown_value(named, commandline, value):
    with pytest.raises(IndexError, match=rf"{value} is not in the range \[0, 3\) of 'numbers'"):
        named.to_string([0, value])
    with pytest.raises(IndexError, match=r"\[0, 4\) of 'flags'"):
        commandline.to_string([value - 1, 4])


def test_no_names():
    with pytest.raises(ValueError, match="Space 'x' needs at least one name"):
        NamedDiscrete([], "x")
    with pytest.raises(ValueError, match="Space 'x' needs at least one name"):
        Commandline([], "x")


def test_names_that_occur_twice():
    space = NamedDiscrete(["a", "b", "a"])
    assert space["a"] == 0
    assert space.to_string([2]) == "a"


def test_named_discrete_equality(named):
    assert named == NamedDiscrete(iter(named.names), "numbers")
    assert named == copy.deepcopy(named) == pickle.loads(pickle.dumps(named))
    assert named != NamedDiscrete(named.names, "x")
    assert named != NamedDiscrete(["zero", "two", "one"], "numbers")
    assert named != Discrete(3, "numbers")
    assert Discrete(3, "numbers") != named
    assert repr(named) == "NamedDiscrete(['zero', 'one', 'two'], name='numbers')"


def test_commandline(commandline):
    assert isinstance(commandline, NamedDiscrete)
    assert commandline.names == ["a", "b", "ab", "level"]
    assert commandline.flags == ["-a", "-b", "-a -b", "-mllvm -level=2"]
    assert commandline.descriptions == ["the first", "the second", "both at once", ""]
    assert commandline["b"] == commandline["-b"] == 1
    assert commandline["ab"] == commandline["-a -b"] == 2
    with pytest.raises(UnknownNameError):
        commandline["-c"]


def test_commandline_text(commandline):
    assert commandline.to_string([3, 1, 0]) == "-mllvm -level=2 -b -a"
    assert commandline.to_string(1) == "-b"
    assert commandline.from_string("-mllvm  -level=2 -b -a") == [3, 1, 0]
    assert commandline.from_string("") == []
    assert commandline.commandline([0]) == "-a"
    assert commandline.from_commandline("-a") == [0]


def test_longest_flag_is_taken(commandline):
    assert commandline.from_string("-a -a -b -b") == [0, 2, 1]


@pytest.mark.parametrize(
    ("text", "word"), [("-a -c", "-c"), ("-mllvm -level=3", "-mllvm"), ("-mllvm", "-mllvm")]
)
def test_unknown_flag(commandline, text, word):
    with pytest.raises(ValueError, match=f"'{word}' is not in the space 'flags'"):
        commandline.from_string(text)


def test_prefix_and_suffix():
    space = Commandline(FLAGS, "flags", prefix="cc -O1", suffix="in.c -o out")
    assert space.to_string([1]) == "cc -O1 -b in.c -o out"
    assert space.to_string([]) == "cc -O1 in.c -o out"
    for text in ("cc -O1 -b in.c -o out", "-b in.c -o out", "cc -O1 -b", "-b"):
        assert space.from_string(text) == [1]
    assert space.from_string("cc -O1 in.c -o out") == []
    assert space != Commandline(FLAGS, "flags")


def test_round_trip(commandline):
    commandline.seed(0)
    for length in range(50):
        values = [int(commandline.sample()) for _ in range(length)]
        text = commandline.to_string(values)
        assert commandline.to_string(commandline.from_string(text)) == text


def test_subclass_with_another_spelling():
    class Comma(Commandline):
        def to_string(self, values):
            return ",".join(self.flags[value] for value in values)

        def from_string(self, text):
            return [self[flag] for flag in text.split(",")]

    space = Comma(FLAGS, "flags")
    assert space.commandline([1, 2]) == "-b,-a -b"
    assert space.from_commandline("-b,-a -b") == [1, 2]
    assert repr(space).startswith("Comma(")


def test_commandline_equality(commandline):
    assert commandline == Commandline(FLAGS, "flags")
    assert commandline == copy.deepcopy(commandline) == pickle.loads(pickle.dumps(commandline))
    assert commandline != Commandline(FLAGS, "x")
    assert commandline != Commandline(FLAGS[:-1], "flags")
    changed = [flag._replace(description="another") for flag in FLAGS]
    assert commandline != Commandline(changed, "flags")
    assert commandline != NamedDiscrete(commandline.names, "flags")
    assert NamedDiscrete(commandline.names, "flags") != commandline
