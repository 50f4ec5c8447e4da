"""Copies of objects."""

from compiler_gym.util.random_state import shallow_copy


class Parent:
    def __init__(self):
        self.number, self.values = 1, [2]


class Child(Parent):
    def __init__(self):
        raise AssertionError("called")


def test_copy():
    original = Parent()
    clone = shallow_copy(original)
    assert type(clone) is Parent
    assert clone.values is original.values
    clone.number = 3
    clone.other = 4
    assert original.__dict__ == {"number": 1, "values": [2]}


def test_it_makes_no_use_of_the_constructor():
    original = object.__new__(Child)
    assert type(shallow_copy(original)) is Child
