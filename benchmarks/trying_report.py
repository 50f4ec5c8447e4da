"""Measures the evaluations per second of searches, with clang loaded once and for each evaluation.

    bazel run //benchmarks:trying_report -- nbody file.c ...

The object files of both ways are compared, byte for byte.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from compiler_gym.tuning.size import evaluator, trial_link
from compiler_gym.tuning.size.compilation import NO_CHANGE, Change, Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.portfolio import shipped_portfolio
from compiler_gym.tuning.size.trial_link import trial_linker
from compiler_gym.util.commands import run_command
from compiler_gym.util.started_programs import run_started

_WAYS = {"loaded each time": run_command, "loaded once": run_started}
_NO_PASSES = ("-Xclang", "-disable-llvm-passes", "-emit-llvm")


@contextmanager
def way_of(name: str) -> Iterator[Callable]:
    """Has searches run programs in one of the two ways; returns what runs them."""
    with ExitStack() as stack:
        for module in (evaluator, trial_link):
            stack.enter_context(patch.object(module, "run_started", _WAYS[name]))
        yield _WAYS[name]


@dataclass
class Row:
    """The milliseconds of one source in one way, each the least of all rounds.

    Attributes:
        start: Loading clang, and printing its version.
        reading: Loading clang and the plugin, and copying the bitcode without any pass.
        linking: LLD, which links the object file alone.
        evaluation: An evaluation, on average over the portfolio.
        digests: The object files of the evaluations.
    """

    start: float = float("inf")
    reading: float = float("inf")
    linking: float = float("inf")
    evaluation: float = float("inf")
    digests: tuple[str, ...] = ()


def milliseconds(do: Callable[[], object]) -> float:
    """Returns the time that a function takes."""
    begin = time.perf_counter()
    do()
    return 1000 * (time.perf_counter() - begin)


def measure(source: Path, options: Sequence[str], row: Row, run: Callable, folder: Path) -> None:
    """Measures one round of a source."""
    clang, plugin = tools.clang_path(), tools.own_passes_path()
    compilation = Compilation(clang, source, (*options, "-w"), plugin)
    changes = [each.change for each in shipped_portfolio()]
    linker = trial_linker(compilation.options)
    with Evaluator(compilation, folder, Budget(), trial=linker) as tries:
        tries.evaluate_source()
        if tries.unit is None or linker is None:
            raise SystemExit(f"expected bitcode of which clang makes the same code: {source}")
        load = Change(passes=("skip-passes<0=none>",)).arguments(plugin)
        copy = [clang, *_NO_PASSES, *load, "-c", tries.unit, "-o", folder / "copy.bc"]
        made = folder / "made.o"
        run(compilation.command_of_unit(tries.unit, made, NO_CHANGE))
        link = [linker.lld, "--unresolved-symbols=ignore-all", "--noinhibit-exec", "--entry=0"]
        for command in ([clang, "--version"], copy, [*link, made, "-o", folder / "linked"]):
            run(command)  # Loads the program.
        row.start = min(row.start, milliseconds(lambda: run([clang, "--version"])))
        row.reading = min(row.reading, milliseconds(lambda: run(copy)))
        words = [*link, made, "-o", folder / "linked"]
        row.linking = min(row.linking, milliseconds(lambda: run(words)))
        found: list[evaluator.Evaluation] = []
        times = [milliseconds(lambda c=each: found.extend(tries.evaluate([c]))) for each in changes]
        row.evaluation = min(row.evaluation, sum(times) / len(times))
        row.digests = tuple(each.object.digest for each in found)


def report(sources: Sequence[Path], options: Sequence[str], rounds: int) -> list[str]:
    """Returns a table with a line for each source and way."""
    lines = [
        "| source | lines | clang | start | bitcode | LLD | evaluation | evaluations per second |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for source in sources:
        rows = {name: Row() for name in _WAYS}
        for _ in range(rounds):
            for name, row in rows.items():
                with way_of(name) as run, tempfile.TemporaryDirectory() as folder:
                    measure(source, options, row, run, Path(folder))
        if len({row.digests for row in rows.values()}) != 1:
            raise SystemExit(f"expected the same object files in both ways: {source}")
        count = len(source.read_text(errors="replace").splitlines())
        name = source.parent.name if source.name == "program.c" else source.name
        for way, row in rows.items():
            times = (row.start, row.reading, row.linking, row.evaluation)
            cells = [name, str(count), way, *(f"{each:.1f} ms" for each in times)]
            lines.append(f"| {' | '.join(cells)} | {1000 / row.evaluation:.1f} |")
    return lines


def main() -> None:
    """Measures what the command line says, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", default=["sha256"], help="kernels or C files")
    parser.add_argument("--option", action="append", default=[], help="an option of clang")
    parser.add_argument("--rounds", type=int, default=5, help="of which the fastest counts")
    arguments = parser.parse_args()
    sources = [
        Path(each).absolute() if each.endswith(".c") else KERNELS_PATH / each / "program.c"
        for each in arguments.sources
    ]
    print("\n".join(report(sources, arguments.option, arguments.rounds)))


if __name__ == "__main__":
    main()
