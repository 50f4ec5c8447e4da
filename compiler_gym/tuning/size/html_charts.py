"""The pictures of the page about a search: treemaps, the curve, and size against cycles."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree.ElementTree import Element

from compiler_gym.tuning.size.html_elements import (
    change_of,
    element,
    number,
    short_name,
    signed,
    visible,
)
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.util.shell_format import plural

# The squarified treemap layout of Bruls, Huizing and van Wijk.


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


_MAX_PARTS = 120

# The shape of a treemap, and the places of a chart in units of its own.
_CHARACTER_WIDTH, _CHARACTER_HEIGHT = 7, 13
_MAP_WIDTH, _MAP_HEIGHT = 16.0, 10.0
_WIDTH, _HEIGHT = 560, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 26, 40


@dataclass(frozen=True)
class Part:
    """A function or a table of a program, before and after.

    Attributes:
        name: Its name.
        before: Its bytes; 0 if there was none.
        after: Its bytes; 0 if there is none any more.
        is_code: Whether it is code.
        link: The place of the page that has more about it; empty for none.
    """

    name: str
    before: int
    after: int
    is_code: bool
    link: str = ""


def treemaps(parts: Sequence[Part]) -> Element:
    """Returns two treemaps side by side, of the parts before and after, in the same scale."""
    before, after = [each.before for each in parts], [each.after for each in parts]
    whole = max(1, sum(before), sum(after))
    return element(
        "div",
        {"class": "pair"},
        _treemap("Before", parts, before, whole),
        _treemap("After", parts, after, whole),
    )


def key() -> Element:
    """Returns what the colours of treemaps mean."""
    entries = [
        ("code", "code, unchanged"),
        ("table", "tables and data, unchanged"),
        ("less1", "smaller"),
        ("less3", "smaller by 30 % or gone"),
        ("more1", "larger"),
        ("more3", "larger by 30 % or new"),
    ]
    marks = (
        element("span", None, element("i", {"class": kind, "aria-hidden": "true"}), text)
        for kind, text in entries
    )
    return element("div", {"class": "key"}, *marks)


def _treemap(title: str, parts: Sequence[Part], sizes: Sequence[int], whole: int) -> Element:
    total = sum(sizes)
    height = _MAP_HEIGHT * total / whole
    cells: list[Element] = []
    top = 0.0
    for is_code in (True, False):
        group = [
            (part, size)
            for part, size in zip(parts, sizes, strict=True)
            if size and part.is_code == is_code
        ]
        share = height * sum(size for _, size in group) / total if total else 0.0
        box = Box(0, top, _MAP_WIDTH, share)
        top += share
        places = squarify([size for _, size in group], box)
        for (part, size), place in zip(group, places, strict=True):
            cells.append(_cell(part, size, place, height))
    style = f"aspect-ratio: {_MAP_WIDTH} / {max(height, 0.01):.3f}"
    heading = element("h3", None, f"{title}: {number(total)} bytes")
    return element("div", None, heading, element("div", {"class": "map", "style": style}, *cells))


def _cell(part: Part, size: int, place: Box, height: float) -> Element:
    style = ";".join(
        f"{name}:{100 * value / of:.3f}%"
        for name, value, of in (
            ("left", place.left, _MAP_WIDTH),
            ("top", place.top, height),
            ("width", place.width, _MAP_WIDTH),
            ("height", place.height, height),
        )
    )
    name = visible(part.name)
    change = f"{number(part.before)} → {number(part.after)} bytes"
    kinds = ("cell", "" if part.is_code else "table", _shade(part))
    return element(
        "a" if part.link else "div",
        {
            "class": " ".join(filter(None, kinds)),
            "style": style,
            "title": f"{name}: {change} ({change_of(part.before, part.after)})",
            "href": f"#{part.link}" if part.link else "",
        },
        element("span", None, short_name(name), element("small", None, number(size))),
    )


def _shade(part: Part) -> str:
    """Returns the class of a part, by its change."""
    if part.before == part.after:
        return ""
    kind = "less" if part.after < part.before else "more"
    share = abs(part.after - part.before) / part.before if part.before else 1.0
    return f"{kind}{1 if share < 0.1 else 2 if share < 0.3 else 3}"


def all_parts(
    functions: Sequence[Part],
    code: tuple[int, int],
    tables: tuple[Mapping[str, int], Mapping[str, int]],
) -> list[Part]:
    """Returns the parts of a treemap, in the order of their bytes before.

    Args:
        functions: The functions.
        code: All bytes of code, before and after.
        tables: The bytes of each table, before and after.
    """
    order = sorted(functions, key=lambda each: (-max(each.before, each.after), each.name))
    parts, rest = order[:_MAX_PARTS], order[_MAX_PARTS:]
    if rest:
        sums = sum(each.before for each in rest), sum(each.after for each in rest)
        parts.append(Part(plural(len(rest), "smaller function"), *sums, is_code=True))
    other = (code[0] - sum(p.before for p in parts), code[1] - sum(p.after for p in parts))
    if max(other) > 0:
        parts.append(Part("padding and code outside of functions", *other, is_code=True))
    before, after = tables
    parts += [
        Part(name, before.get(name, 0), after.get(name, 0), is_code=False)
        for name in {**before, **after}
    ]
    return sorted(parts, key=lambda each: (-each.before, -each.after, each.name))


def curve(search: Optimizer) -> Element:
    """Returns a picture of the smallest size after each evaluation, and where stages end."""
    steps = [(used, size) for used, _, size in search.curve]
    last = max(search.evaluator.budget.used, steps[-1][0], 1)
    low, high = min(size for _, size in steps), max(size for _, size in steps)
    room = max(high - low, 1) * 0.08
    x = _scale(0, last, _LEFT, _WIDTH - _RIGHT)
    y = _scale(low - room, high + room, _HEIGHT - _BOTTOM, _TOP + 14)
    path = f"M{x(steps[0][0])} {y(steps[0][1])}"
    for used, size in steps[1:]:
        path += f"H{x(used)}V{y(size)}"
    path += f"H{x(last)}"
    marks = [
        each
        for index, stage in enumerate(search.stages)
        for each in (
            _line(x(stage.evaluations), _TOP, x(stage.evaluations), _HEIGHT - _BOTTOM, "mark"),
            _text(x(stage.evaluations) - 4, 12 + 13 * (index % 2), stage.name, "end"),
        )
    ]
    unit = search.objective.unit
    label = f"{unit} over evaluations: from {number(high)} to {number(low)}"
    return _chart(
        label,
        *_axes(f"evaluations: {number(last)}"),
        *marks,
        _text(_LEFT - 6, y(high) + 4, number(high), "end"),
        *([_text(_LEFT - 6, y(low) + 4, number(low), "end")] if low < high else []),
        _text(_LEFT, _HEIGHT - 14, "0", "middle"),
        element("path", {"class": "curve", "d": path}),
    )


def size_against_cycles(changes: Sequence[tuple[str, int, float]]) -> Element:
    """Returns a picture with a dot for each function, on logarithmic scales.

    Args:
        changes: The name of each function, its change in bytes and its change in cycles.
    """
    widest = max([abs(size) for _, size, _ in changes] + [10])
    highest = max([abs(cycles) for _, _, cycles in changes] + [10])
    x = _logarithmic(widest * 1.5, _LEFT, _WIDTH - _RIGHT)
    y = _logarithmic(highest * 1.5, _HEIGHT - _BOTTOM, _TOP)
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    return _chart(
        "Change in bytes against change in estimated cycles, a dot for each function",
        *(_line(x(value), _TOP, x(value), bottom, _tick(value)) for value in _ticks(widest)),
        *(_line(_LEFT, y(value), right, y(value), _tick(value)) for value in _ticks(highest)),
        *(_text(x(value), bottom + 16, signed(value), "middle") for value in _ticks(widest)),
        *(_text(_LEFT - 6, y(value) + 4, signed(value), "end") for value in _ticks(highest)),
        _text(_LEFT, 14, "change in cycles", "start"),
        _text(right, _HEIGHT - 6, "change in bytes", "end"),
        *_dots(changes, x, y),
    )


def _dots(
    changes: Sequence[tuple[str, int, float]],
    x: Callable[[float], float],
    y: Callable[[float], float],
) -> Iterator[Element]:
    """Yields the dots of functions, and the names of those for which there is room."""
    taken = [(x(size) - 6, x(size) + 6, y(cycles) + 4) for _, size, cycles in changes]
    for index, (name, size, cycles) in enumerate(changes):
        shown = visible(name)
        text = f"{shown}: {signed(size)} bytes, {signed(cycles, 1)} cycles"
        place = {"class": "dot", "cx": x(size), "cy": y(cycles), "r": 4.5}
        yield element("circle", place, element("title", None, text))
        short = short_name(shown)
        begin, height = x(size) + 8, y(cycles) + 4
        end = begin + len(short) * _CHARACTER_WIDTH
        if end < _WIDTH and all(
            each == index or abs(height - line) > _CHARACTER_HEIGHT or begin > right or end < left
            for each, (left, right, line) in enumerate(taken)
        ):
            taken.append((begin, end, height))
            yield _text(begin, height, short, "start", "dot-name")


def _ticks(largest: float) -> list[int]:
    """Returns powers of ten of both signs, and zero."""
    powers = [10**power for power in range(1, len(str(int(largest))))]
    return [*(-each for each in reversed(powers)), 0, *powers]


def _tick(value: int) -> str:
    return "mark" if value else "axis"


def _logarithmic(largest: float, first: float, last: float) -> Callable[[float], float]:
    """Returns a function from values of both signs to places, linear close to zero."""
    place = _scale(-math.log1p(largest), math.log1p(largest), first, last)
    return lambda value: place(math.copysign(math.log1p(abs(value)), value))


def _scale(low: float, high: float, first: float, last: float) -> Callable[[float], float]:
    """Returns a function from values to places."""
    factor = (last - first) / (high - low)
    return lambda value: round(first + (value - low) * factor, 1)


def _chart(label: str, *children: Element) -> Element:
    box = {"viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "role": "img", "aria-label": label}
    return element("svg", box, *children)


def _axes(below: str) -> list[Element]:
    bottom = _HEIGHT - _BOTTOM
    return [
        _line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, "axis"),
        _line(_LEFT, _TOP, _LEFT, bottom, "axis"),
        _text(_WIDTH - _RIGHT, _HEIGHT - 14, below, "end"),
    ]


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Element:
    return element("line", {"class": kind, "x1": x1, "y1": y1, "x2": x2, "y2": y2})


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> Element:
    return element("text", {"class": kind, "x": x, "y": y, "text-anchor": anchor}, text)
