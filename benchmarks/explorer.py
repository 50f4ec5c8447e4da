"""Measures the page of the explorer in a browser. See benchmarks/README.md."""

import gzip
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.table import Table

from benchmarks.machine import cpu_seconds, describe_machine, load_average
from benchmarks.programs import PROGRAMS, check_sizes
from compiler_gym.envs.llvm import make_benchmark, make_benchmark_from_source
from compiler_gym.envs.workbench import COSTS
from compiler_gym.explorer import jobs, messages
from compiler_gym.explorer.limits import LOCAL
from compiler_gym.explorer.server import PAGE, ExplorerServer
from compiler_gym.explorer.workbench import Workbench

PASSES = (
    "sroa", "early-cse", "simplifycfg", "instcombine", "loop-rotate", "licm", "indvars", "gvn",
    "jump-threading", "reassociate", "dse", "sccp", "loop-simplify", "lcssa", "reg2mem", "sroa",
    "loop-unroll", "instcombine", "aggressive-instcombine", "simplifycfg",
)  # fmt: skip
"""The passes that are clicked, one after the other. Those that change nothing are not counted."""

_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

# Clicks a pass. The time ends after the frame that draws the IR of the new state.
_CLICK = """name => new Promise(resolve => {
  const old = document.querySelector('.ir');
  const buttons = [...document.querySelectorAll('.actions li button')];
  const button = buttons.find(each => each.querySelector('b').textContent === name);
  const began = performance.now();
  button.click();
  const check = () => {
    const ir = document.querySelector('.ir');
    if (ir === old || !ir?.querySelector('.line')) return requestAnimationFrame(check);
    const drawn = new MessageChannel();
    drawn.port1.onmessage = () => resolve(performance.now() - began);
    drawn.port2.postMessage(null);
  };
  requestAnimationFrame(check);
})"""

# Scrolls for two seconds, and returns the times between frames.
_SCROLL = """() => new Promise(resolve => {
  const ir = document.querySelector('.ir');
  const times = [];
  const step = time => {
    times.push(time);
    ir.scrollTop += 400;
    if (ir.scrollTop + ir.clientHeight >= ir.scrollHeight) ir.scrollTop = 0;
    if (time - times[0] < 2000) requestAnimationFrame(step);
    else resolve(times.slice(1).map((each, i) => each - times[i]));
  };
  requestAnimationFrame(step);
})"""


@contextmanager
def _served(bench: Workbench) -> Iterator[str]:
    server = ExplorerServer(bench, "", "127.0.0.1", 0, PAGE)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join()
        bench.close()


def click_times(page: Page, passes: Sequence[str]) -> list[float]:
    """Returns the milliseconds from each click of a pass to the frame that shows its IR.

    Passes that change nothing are left out.
    """
    times = []
    for name in passes:
        milliseconds = page.evaluate(_CLICK, name)
        if page.locator(".tree [aria-current=true] em").inner_text() != "no change":
            times.append(milliseconds)
    return times


def _page_row(browser: Browser, url: str, rounds: int) -> list[str]:
    """Returns the cells of a program: clicks, blame, and frames."""
    times, first = [], 0.0
    for i in range(rounds):
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(url)
        page.locator(".ir .line").first.wait_for()
        # Each round goes another way, because the server remembers states.
        times += click_times(page, PASSES[i:] + PASSES[:i])
        if i == 0:
            first = _seconds_until(page, "Blame", ".ir .by")
            scrolled = page.evaluate(_SCROLL)
        page.close()
    times.sort()
    slow = sum(each > 17.5 for each in scrolled)
    return [
        f"{len(times)}",
        f"{statistics.median(times):,.0f} ms",
        f"{times[len(times) * 9 // 10]:,.0f} ms",
        f"{first:.2f} s",
        f"{len(scrolled) / sum(scrolled) * 1000:.0f} ({slow} late)",
    ]


def _seconds_until(page: Page, tab: str, place: str) -> float:
    began = time.monotonic()
    page.get_by_role("tab", name=tab).click()
    page.locator(place).first.wait_for()
    return time.monotonic() - began


def _graph_line(browser: Browser) -> str:
    """Returns how long it takes to draw the control flow of a function of 500 blocks."""
    bench = Workbench(LOCAL, make_benchmark_from_source(_branchy_source(), lang="c"))
    with _served(bench) as url:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(url)
        page.locator(".ir .line").first.wait_for()
        seconds = _seconds_until(page, "Graphs", ".graph .node")
        blocks = page.locator(".graph .node").count()
        page.close()
    return f"The control flow of {blocks} blocks is drawn {seconds:.2f} s after the click."


def _branchy_source() -> str:
    tests = "".join(
        f"  if (x > {i}) y += x * {i}; else while (y & {i + 1}) y = y / 2 - x;\n" for i in range(83)
    )
    return f"int f(int x) {{\n  int y = x;\n{tests}  return y;\n}}\n"


def _job_rows(bench: Workbench, rounds: int) -> list[tuple[str, str, str]]:
    """Returns the wall clock and processor times of rankings, and of the causes of a branch."""
    assert bench.first is not None
    id = bench.first.message.id
    branch = [bench.action_space.names[bench.action_space[name]] for name in PASSES[:8]]
    objectives: Any = [*COSTS]
    rows = []
    for objective in objectives:
        # New states: the service remembers the machine code of functions.
        ways = [branch[i % 4 : i % 4 + 1 + i // 4] for i in range(rounds)]
        runs = []
        for actions in ways:
            request = messages.RankRequest(program=id, actions=actions, objective=objective)
            bench.observe(id, actions, ["IrInstructionCount"])
            runs.append(_timed(jobs.rank(bench, request, jobs.Control())))
        rows.append((f"ranking by {objective}", *_medians(runs)))
    request = messages.CausesRequest(program=id, actions=branch)
    run = _timed(jobs.causes(bench, request, jobs.Control()))
    rows.append(("causes of the eighth pass", *_medians([run])))
    return rows


def _timed(job: Iterator[Any]) -> tuple[float, float]:
    """Returns the seconds of wall clock and of processors that a job takes."""
    began, busy = time.monotonic(), cpu_seconds()
    for _ in job:
        pass
    return time.monotonic() - began, cpu_seconds() - busy


def _medians(runs: Sequence[tuple[float, float]]) -> tuple[str, str]:
    wall, cpu = (statistics.median(each) for each in zip(*runs, strict=True))
    return f"{wall:.2f} s", f"{cpu:.2f} s"


def _compressed(page: Path) -> str:
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in page.glob("**/*.*")}
    total = sum(sizes.values())
    parts = ", ".join(f"{name} {size / 1000:.0f}" for name, size in sorted(sizes.items()))
    return f"{total / 1000:,.0f} kB ({parts})"


def main(
    size: Annotated[
        list[int] | None, typer.Option(help="About how many IR instructions. May be repeated.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is measured.")] = 5,
) -> None:
    """Measure the explorer: from a click to the new IR, rankings, blame, causes, frames."""
    check_sizes(size or ())
    console = Console()
    console.print(describe_machine(), highlight=False)
    console.print(f"load average {load_average():.2f}")
    clicks = Table("instructions", "clicks", "median", "90 %", "blame", "frames a second")
    ranked = Table("instructions", "job", "wall clock", "processors")
    with (
        tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=_FLAGS)
        for each in size or PROGRAMS:
            bench = Workbench(LOCAL, make_benchmark(PROGRAMS[each].make(Path(folder))))
            assert bench.first is not None
            count = f"{bench.first.message.instructions:,}"
            with _served(bench) as url:
                clicks.add_row(count, *_page_row(browser, url, rounds))
                for cells in _job_rows(bench, rounds):
                    ranked.add_row(count, *cells)
            ranked.add_section()
        graph = _graph_line(browser)
        browser.close()
    console.print(clicks)
    console.print(ranked)
    console.print(graph, highlight=False)
    console.print(f"The page, compressed: {_compressed(PAGE)}", highlight=False)
    console.print(f"load average {load_average():.2f}")


if __name__ == "__main__":
    typer.run(main)
