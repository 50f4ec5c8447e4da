"""Decorators of methods and classes."""

import pytest

from compiler_gym.util.decorators import frozen_class, memoized_property


class Circle:
    def __init__(self, radius):
        self.radius = radius
        self.computed = 0

    @memoized_property
    def area(self):
        """Three times the square."""
        self.computed += 1
        return 3 * self.radius**2


def test_computed_once_for_each_object():
    one, two = Circle(1), Circle(2)
    assert one.computed == 0
    assert [one.area, one.area, two.area, two.area] == [3, 3, 12, 12]
    assert (one.computed, two.computed) == (1, 1)
    assert Circle.area.__doc__ == "Three times the square."


def test_cannot_be_set():
    circle = Circle(1)
    with pytest.raises(AttributeError, match="area"):
        circle.area = 4
    assert circle.area == 3


@frozen_class
class Point:
    def __init__(self, x):
        self.x = x
        self.x += 1


def test_frozen():
    point = Point(1)
    assert point.x == 2
    with pytest.raises(TypeError, match="'x'"):
        point.x = 5
    with pytest.raises(TypeError, match="immutable"):
        point.y = 5
    assert vars(point)["x"] == 2


def test_subclass_of_frozen():
    class Point3(Point):
        def __init__(self, x, z):
            super().__init__(x)
            self.z = z

    assert (Point3(1, 7).x, Point3(1, 7).z) == (2, 7)
