"""The squarified treemap layout of Bruls, Huizing and van Wijk."""

from collections.abc import Sequence
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle; its origin is the upper left corner."""

    left: float
    top: float
    width: float
    height: float


def squarify(sizes: Sequence[float], box: Box) -> list[Box]:
    """Divides a rectangle into parts that are close to squares.

    Args:
        sizes: The areas of the parts in any unit: positive numbers. The parts are closest to
            squares if the largest is first.
        box: The rectangle to be divided.

    Returns:
        The parts, in the order of the sizes. Their areas are in proportion to the sizes.
    """
    parts: list[Box] = []
    total = sum(sizes)
    scale = box.width * box.height / total if total else 0.0
    areas = [size * scale for size in sizes]
    while areas:
        side = min(box.width, box.height)
        count = 1
        while count < len(areas) and _worst(areas[: count + 1], side) <= _worst(
            areas[:count], side
        ):
            count += 1
        row, areas = areas[:count], areas[count:]
        strips, box = _cut(row, box)
        parts += strips
    return parts


def _worst(row: Sequence[float], side: float) -> float:
    """Returns the largest aspect ratio of the parts of a row along a side."""
    area = sum(row)
    return max(side**2 * max(row) / area**2, area**2 / (side**2 * min(row)))


def _cut(row: Sequence[float], box: Box) -> tuple[list[Box], Box]:
    """Cuts a row of parts off a rectangle along its shorter side; returns these and the rest."""
    parts, place = [], 0.0
    if box.width >= box.height:
        depth = sum(row) / box.height
        for area in row:
            parts.append(Box(box.left, box.top + place, depth, area / depth))
            place += area / depth
        return parts, Box(box.left + depth, box.top, max(0.0, box.width - depth), box.height)
    depth = sum(row) / box.width
    for area in row:
        parts.append(Box(box.left + place, box.top, area / depth, depth))
        place += area / depth
    return parts, Box(box.left, box.top + depth, box.width, max(0.0, box.height - depth))
