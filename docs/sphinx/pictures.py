"""Draws the pictures of the site from the measured figures beside them.

``bazel run //docs:pictures`` writes them into ``docs/pictures``: the same figures give the same
bytes. ``benchmarks/README.md`` tells how the figures are measured. ``learning.svg`` is drawn by
``bazel run //benchmarks:learning_report``.
"""

import csv
import os
import re
import sys
from io import StringIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

BLUE, ORANGE, GREY, INK = "#0b6b8f", "#e07a1f", "#7d8790", "#22303a"
FONT = ["DejaVu Sans"]


def main() -> None:
    """Draws all pictures into a folder, by default that of the repository."""
    root = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    source = Path(__file__).absolute().parents[1] / "pictures"
    output = Path(root, "docs/pictures") if root and len(sys.argv) == 1 else Path(sys.argv[1])
    draw_all(source, output)


def draw_all(source: Path, output: Path) -> None:
    """Draws all pictures.

    Args:
        source: The folder of the measured figures.
        output: The folder of the pictures, which exists.
    """
    mpl.rcParams.update({"svg.hashsalt": "compiler_gym", "font.family": FONT, "font.size": 10})
    for name, draw in CHARTS.items():
        figure = Figure(figsize=(7, 3.4), layout="constrained")
        draw(figure.subplots(), rows_of(source / f"{name}.csv"))
        save(figure, output / f"{name}.svg")
    for name, draw in DIAGRAMS.items():
        figure = Figure(figsize=(7, 2.6), layout="constrained")
        axes = figure.subplots()
        axes.set(xlim=(-0.1, 14), ylim=(-0.1, 5.4))
        axes.axis("off")
        draw(axes)
        save(figure, output / f"{name}.svg")
    (output / "demo.svg").write_text(terminal(source / "demo.txt"), encoding="utf-8")


def save(figure: Figure, path: Path) -> None:
    """Writes a picture as SVG, without date and without trailing blanks."""
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows_of(path: Path) -> dict[str, list[float]]:
    """Returns the columns of a file of figures."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def finish(axes: Axes, x: str, y: str) -> None:
    """Labels the axes, and leaves out what carries no figure."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e8eb")
    axes.set_axisbelow(True)
    axes.legend(frameon=False)


def step_cost(axes: Axes, data: dict[str, list[float]]) -> None:
    """Draws the cost of a step by the size of the program."""
    x = data["instructions"]
    axes.loglog(x, data["environment"], "o-", color=BLUE, label="env.step() in Python")
    axes.loglog(x, data["process"], "s--", color=ORANGE, label="the same work in one C++ process")
    axes.set_xticks(x, [f"{each:,.0f}" for each in x])
    axes.set_yticks([100, 1000, 10000], ["0.1", "1", "10"])
    axes.minorticks_off()
    finish(axes, "IR instructions of the program", "milliseconds, median")


def scaling(axes: Axes, data: dict[str, list[float]]) -> None:
    """Draws the speedup of vector environments over a loop."""
    small = slice(0, 4)
    x = data["environments"][small]
    for name, colour, style in (
        ("send and recv", BLUE, "o-"),
        ("step", ORANGE, "s-"),
        ("AsyncVectorEnv", GREY, "^--"),
    ):
        axes.plot(x, data[name][small], style, color=colour, label=name)
    axes.axhline(1, color=INK, linewidth=0.8, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.set_xticks(x, [f"{each:.0f}" for each in x])
    axes.set_ylim(0)
    finish(axes, "environments, 200 instructions each, 2 processors", "speedup over a loop")


def bytes_saved(axes: Axes, data: dict[str, list[float]]) -> None:
    """Draws the bytes saved by the number of evaluations."""
    x = data["evaluations"]
    axes.fill_between(x, data["least"], data["most"], color=BLUE, alpha=0.15, label="28 programs")
    axes.plot(x, data["mean"], "o-", color=BLUE, label="geometric mean")
    axes.set_xscale("log")
    axes.set_xticks(x, [f"{each:.0f}" for each in x])
    axes.minorticks_off()
    axes.set_ylim(0)
    finish(axes, "evaluations", "% smaller than clang -Oz")
    axes.legend(frameon=False, loc="upper left")


def search(axes: Axes, data: dict[str, list[float]]) -> None:
    """Draws the bytes saved by the time of the search, at the end of each stage."""
    x, y = data["seconds"], data["saved"]
    axes.plot(x, y, "o-", color=BLUE, label="sha256, 120 evaluations")
    axes.set_xlim(0)
    axes.set_ylim(0)
    finish(axes, "seconds, at the end of each stage", "% smaller than clang -Oz")


def box(axes: Axes, x: float, y: float, width: float, text: str, colour: str = BLUE) -> None:
    """Draws a box with a text."""
    shape = FancyBboxPatch(
        (x, y), width, 1.5, "round,pad=0,rounding_size=0.2", fc="white", ec=colour
    )
    shape.set_linewidth(1.6)
    axes.add_patch(shape)
    axes.text(x + width / 2, y + 0.75, text, ha="center", va="center", color=INK, fontsize=9)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str = "") -> None:
    """Draws an arrow from one point to another, with a text beside its middle."""
    shape = FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=12, color=GREY)
    axes.add_patch(shape)
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    axes.text(x, y + 0.12, text, ha="center", va="bottom", color=INK, fontsize=8)


def processes(axes: Axes) -> None:
    """Draws the processes: program, service, and a process for each session."""
    box(axes, 0.1, 1.9, 3.3, "Python\nenvironment, policy")
    box(axes, 5.3, 1.9, 2.9, "service\nstarts sessions", GREY)
    for index, y in enumerate((0.1, 1.9, 3.7)):
        box(axes, 10.2, y, 3.6, f"session {index + 1}\nLLVM, one program", ORANGE)
        arrow(axes, (8.2, 2.65), (10.2, y + 0.75), "fork" if index == 1 else "")
    arrow(axes, (3.4, 2.65), (5.3, 2.65), "reset")
    axes.add_patch(
        FancyArrowPatch(
            (1.8, 3.4),
            (10.2, 4.6),
            arrowstyle="<|-|>",
            mutation_scale=12,
            color=BLUE,
            connectionstyle="arc3,rad=-0.12",
        )
    )
    axes.text(5.2, 4.75, "step: a socket for each session", color=INK, fontsize=8, ha="center")


def action(axes: Axes) -> None:
    """Draws the path of an action, there and back."""
    texts = (
        "env.step(5)",
        "episode",
        "frame on\na socket",
        "session\nprocess",
        "the pass",
        "observation",
    )
    width = 1.95
    for index, text in enumerate(texts):
        x = 0.05 + index * 2.37
        box(axes, x, 2.6, width, text, BLUE if index < 3 else ORANGE)
        if index + 1 < len(texts):
            arrow(axes, (x + width, 3.35), (x + 2.37, 3.35))
    axes.add_patch(
        FancyArrowPatch(
            (12.9, 2.6),
            (1.0, 2.6),
            arrowstyle="-|>",
            mutation_scale=12,
            color=GREY,
            connectionstyle="arc3,rad=-0.16",
        )
    )
    axes.text(
        7, 0.7, "reply: observation, reward, end of episode", ha="center", fontsize=9, color=INK
    )
    axes.text(2.4, 4.4, "Python", color=BLUE, fontsize=9)
    axes.text(9.6, 4.4, "C++, in the process of the session", color=ORANGE, fontsize=9)


def terminal(path: Path) -> str:
    """Returns the picture of a terminal that shows a text."""
    lines = path.read_text(encoding="utf-8").splitlines()
    width = max(map(len, lines))
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True)
    for line in lines:
        text = Text(line)
        text.highlight_regex(r"^\$.*", "bold cyan")
        text.highlight_regex(r"\bright$", "green")
        text.highlight_regex(r"\d+\.\d\d%", "bold yellow")
        console.print(text)
    svg = console.export_svg(title="bash tools/demo.sh", theme=MONOKAI, unique_id="demo")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)  # It would be fetched.
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


CHARTS = {
    "step-cost": step_cost,
    "scaling": scaling,
    "bytes-saved": bytes_saved,
    "search": search,
}
DIAGRAMS = {"processes": processes, "action": action}

if __name__ == "__main__":
    main()
