import pytest

from compiler_gym.spaces import Commandline, CommandlineFlag, NamedDiscrete, UnknownNameError


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


def test_long_name(named):
    with pytest.raises(UnknownNameError) as caught:
        named["x" * 1_000_000]
    assert len(str(caught.value)) < 300


def test_longest_flag_is_taken(commandline):
    assert commandline.from_string("-a -a -b -b") == [0, 2, 1]


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
