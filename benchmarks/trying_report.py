"""Measures the evaluations of searches per second of a processor.

clang is loaded once, or for each evaluation:

    bazel run //benchmarks:trying_report -- nbody file.c ...

The object files of both ways are compared, byte for byte.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from compiler_gym.tuning.size import evaluator, linking
from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.tuning.size.evaluator import Budget, Evaluation, Evaluator
from compiler_gym.tuning.size.ranking import shipped_portfolio
from compiler_gym.tuning.size.trial_linking import trial_linker
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import run_command
from compiler_gym.util.started_programs import run_started

_WAYS = {"loaded each time": run_command, "loaded once": run_started}
# Programs that are loaded once move to large pages after so many runs.
_RUNS_BEFORE_MOVING = 100
_NO_PASSES = ("-Xclang", "-disable-llvm-passes", "-emit-llvm")


@contextmanager
def way_of(name: str) -> Iterator[Callable[..., Any]]:
    """Has searches run programs in one of the two ways; returns what runs them."""
    with ExitStack() as stack:
        for module in (evaluator, linking):
            stack.enter_context(patch.object(module, "run_started", _WAYS[name]))
        yield _WAYS[name]


@dataclass(frozen=True)
class Row:
    """The milliseconds of processor time of one source in one way.

    Attributes:
        start: Loading clang, and printing its version.
        reading: Loading clang and the plugin, and copying the bitcode without any pass.
        linking: LLD, which links the object file alone.
        evaluation: An evaluation, on average over the portfolio.
        digests: The object files of the evaluations.
    """

    start: float
    reading: float
    linking: float
    evaluation: float
    digests: tuple[str, ...]


def processor_seconds() -> float:
    """Returns the processor time of this process and all that it has started."""
    own = sum(os.times()[:4])
    pids = [
        pid
        for path in Path("/proc/self/task").glob("*/children")
        for pid in path.read_text().split()
    ]
    fields = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids)
    # Of a process and of its children that have ended, in user and in system mode.
    ticks = sum(sum(map(int, each[11:15])) for each in fields)
    return own + ticks / os.sysconf("SC_CLK_TCK")


def milliseconds(do: Callable[[], object], count: int) -> float:
    """Returns the processor time of a function, on average over so many calls."""
    do()  # Loads the program.
    begin = processor_seconds()
    for _ in range(count):
        do()
    return 1000 * (processor_seconds() - begin) / count


def measure(source: Path, options: Sequence[str], run: Callable[..., Any], rounds: int) -> Row:
    """Measures a source.

    Args:
        source: The source.
        options: Options of clang.
        run: Runs a program.
        rounds: The number of times that all changes are evaluated.
    """
    clang, plugin = llvm_tools.clang_path(), llvm_tools.own_passes_path()
    compilation = Compilation(clang, source, (*options, "-w"), plugin)
    linker = trial_linker(compilation.options)
    changes = [each.change for each in shipped_portfolio()]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        found: list[Evaluation] = []

        def evaluate() -> None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            tries = Evaluator(compilation, folder, Budget(), trial=linker, unit=unit)
            with tries:
                tries.unit = unit
                found[:] = tries.evaluate(changes)

        with Evaluator(compilation, folder, Budget(), trial=linker) as tries:
            made = tries.evaluate_source().path
            unit = tries.unit
        if unit is None or linker is None:
            raise SystemExit(f"expected LLD, and bitcode with the code of the source: {source}")
        load = Change(passes=("set-functions<0=none>",)).arguments(plugin)
        copy = [clang, *_NO_PASSES, *load, "-c", unit, "-o", folder / "copy.bc"]
        for _ in range(_RUNS_BEFORE_MOVING):
            run([clang, "--version"])
            linker.size(made)
        return Row(
            start=milliseconds(lambda: run([clang, "--version"]), 10 * rounds),
            reading=milliseconds(lambda: run(copy), 10 * rounds),
            linking=milliseconds(lambda: linker.size(made), 10 * rounds),
            evaluation=milliseconds(evaluate, rounds) / len(changes),
            digests=tuple(each.object.digest for each in found),
        )


def report(sources: Sequence[Path], options: Sequence[str], rounds: int) -> list[str]:
    """Returns a table with a line for each source and way."""
    lines = [
        "| source | lines | clang | start | bitcode | LLD | evaluation | evaluations per second |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for source in sources:
        rows = {}
        for name in _WAYS:
            with way_of(name) as run:
                rows[name] = measure(source, options, run, rounds)
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
    parser.add_argument("--rounds", type=int, default=4, help="of all changes")
    arguments = parser.parse_args()
    sources = [
        Path(each).absolute() if each.endswith(".c") else KERNELS_PATH / each / "program.c"
        for each in arguments.sources
    ]
    print("\n".join(report(sources, arguments.option, arguments.rounds)))


if __name__ == "__main__":
    main()
