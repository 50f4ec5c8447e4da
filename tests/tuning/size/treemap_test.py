"""The layout of treemaps."""

import pytest

from compiler_gym.tuning.size.html_charts import Box, squarify


def test_example_of_the_paper():
    boxes = squarify([6, 6, 4, 3, 2, 2, 1], Box(0, 0, 6, 4))
    assert [each.width * each.height for each in boxes] == pytest.approx([6, 6, 4, 3, 2, 2, 1])
    assert boxes[0] == pytest.approx((0, 0, 3, 2))
    assert boxes[1] == pytest.approx((0, 2, 3, 2))
    assert max(max(each.width / each.height, each.height / each.width) for each in boxes) < 3


@pytest.mark.parametrize("sizes", [[1], [1000, 1], [1, 1000], [7] * 50, [*range(1, 90)]])
def test_parts_fill_the_box_without_overlap(sizes):
    whole = Box(1, 2, 16, 10)
    boxes = squarify(sizes, whole)
    areas = [each.width * each.height for each in boxes]
    assert areas == pytest.approx([size * 160 / sum(sizes) for size in sizes])
    for index, one in enumerate(boxes):
        assert one.left >= 1 - 1e-9 and one.left + one.width <= 17 + 1e-9
        assert one.top >= 2 - 1e-9 and one.top + one.height <= 12 + 1e-9
        for other in boxes[:index]:
            width = min(one.left + one.width, other.left + other.width)
            width -= max(one.left, other.left)
            height = min(one.top + one.height, other.top + other.height)
            height -= max(one.top, other.top)
            assert width < 1e-9 or height < 1e-9


def test_nothing():
    assert squarify([], Box(0, 0, 1, 1)) == []
