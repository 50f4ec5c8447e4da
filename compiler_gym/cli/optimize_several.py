"""The programs of ``compiler-gym optimize``: one, several, or the parts of one."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import typer

from compiler_gym.cli.console import messages, print_json, print_line, working_on
from compiler_gym.cli.failures import reason_for
from compiler_gym.cli.optimize_program import Product, Result, Settings, optimize_program
from compiler_gym.cli.optimize_report import print_linked_summary, print_report, print_summary
from compiler_gym.cli.optimize_speed import (
    SpeedResult,
    optimize_speed,
    print_speed_report,
    print_speed_summary,
    workload_of,
)
from compiler_gym.cli.options import check_outputs, program_file, program_uri
from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets, get_llvm_datasets
from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.evaluator import compile_source
from compiler_gym.tuning.size.html_report import write_html
from compiler_gym.tuning.size.inputs import Input, known_program
from compiler_gym.tuning.size.linking import Linker, merge_program
from compiler_gym.tuning.size.memory_regions import MemoryUse
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.product import write_script
from compiler_gym.tuning.speed.workload import SlowdownLimit
from compiler_gym.util import llvm_tools
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.shell_format import plural

AnyProduct = TypeVar("AnyProduct", bound=Product)


@dataclass(frozen=True)
class Failed:
    """A program without an object file.

    Attributes:
        program: The program.
        error: The reason.
    """

    program: Input
    error: str

    def as_json(self) -> dict[str, Any]:
        """Returns the failure for JSON."""
        return {"source": str(self.program.path), "object": None, "error": self.error}


def named_inputs(
    names: list[str], output: Path | None, others: Sequence[Path], settings: Settings
) -> list[tuple[Input, Path]]:
    """Returns the programs of a command line, each with its object file.

    Args:
        names: The names of the programs.
        output: The object file of one program, or the folder of several ones.
        others: The other files that will be written.
        settings: The settings.

    Raises:
        OSError: If a file to write has no folder, or is no ordinary file.
        typer.BadParameter: If files to write are programs, or have the same path.
    """
    if len(names) > 1 and output is not None:
        output.mkdir(parents=True, exist_ok=True)
    elif output is not None and output.is_dir():
        raise IsADirectoryError(f"{output} is a folder: name the object file, as -o {output}/x.o")
    folder = Path() if output is None else output if len(names) > 1 else output.parent
    for path in (folder, *(each.parent for each in others)):
        if not path.is_dir():
            raise FileNotFoundError(f"There is no folder {path}")
    for_size = settings.objective is not None
    inputs = [_input(name, folder, for_size) for name in names]
    stems = [each.name for each in inputs]
    if twice := sorted({stem for stem in stems if stems.count(stem) > 1}):
        raise typer.BadParameter(f"There are several programs called {', '.join(twice)}.")
    single = output if len(names) == 1 else None
    targets = [single or folder / f"{each.name}.o" for each in inputs]
    check_outputs((each.path for each in inputs), [*targets, *others])
    return [*zip(inputs, targets, strict=True)]


def merged_input(
    names: list[str],
    output: Path | None,
    others: Sequence[Path],
    settings: Settings,
    keep: list[str],
) -> tuple[Input, Path]:
    """Returns the whole program of a command line, and its object file."""
    (first, target), *_ = named_inputs(names[:1], output, others, settings)
    folder, for_size = target.parent, settings.objective is not None
    inputs = [first, *(_input(name, folder, for_size) for name in names[1:])]
    bitcode, objective = target.with_suffix(".whole.bc"), settings.objective or Objective.ALL
    check_outputs((each.path for each in inputs), [target, bitcode, *others])
    with working_on(f"compiling {plural(len(inputs), 'part')}"):
        merged = merge_program(inputs, bitcode, settings.options, keep, objective.read)
    return merged, target


def _input(name: str, folder: Path, for_size: bool) -> Input:
    path = program_file(name)
    if path is not None:
        return Input(path.stem, path)
    return known_program(LlvmDatasets(get_llvm_datasets()), program_uri(name), folder, for_size)


def slowdown_limits(
    inputs: Sequence[tuple[Input, Path]], limit: float | None, run: str | None, link: str | None
) -> list[SlowdownLimit | None]:
    """Returns the time limit of each program; None for no limits.

    Raises:
        ValueError: If a program cannot be run.
        EnvironmentNotSupported: If SciPy is not installed.
    """
    if limit is None:
        return [None] * len(inputs)
    return [SlowdownLimit(workload_of(each, run, Linker(link)), limit) for each, _ in inputs]


def make_small(
    inputs: Sequence[tuple[Input, Path]],
    settings: Settings,
    limits: Sequence[SlowdownLimit | None],
    script: Path | None,
    as_json: bool,
    html: Path | None,
) -> int:
    """Optimises programs for size. Returns the exit code."""
    is_linked = settings.objective is not None and settings.objective.is_linked
    with parts_of_program(inputs, settings) if is_linked else nullcontext() as parts:

        def make(index: int, program: Input, target: Path) -> Result:
            return _part(index, program, target, settings, limits[index], parts)

        results, failed = make_each(inputs, make, parts.order if parts else None)
        if parts and results:
            results = _completed(parts, results, failed)
    results = with_script(results, script)
    summarise = print_linked_summary if is_linked else print_summary
    code = _report(len(inputs) == 1, results, failed, as_json, print_report, summarise)
    if results and results[-1].memory and not results[-1].memory[1].fits:
        code = code or 1
    if html is not None and results:
        _write_html(html, results[0], parts.linker(0) if parts else None, settings.jobs)
    return code


def _part(
    index: int,
    program: Input,
    target: Path,
    settings: Settings,
    limit: SlowdownLimit | None,
    parts: "Parts | None",
) -> Result:
    """Optimises a program, or a part of one."""
    if parts is None:
        return optimize_program(program, target, settings, limit)
    settings = replace(settings, linker=parts.linker(index))
    if parts.is_enough:  # The program fits: the other parts stay as clang makes them.
        settings = replace(settings, evaluations=0)
    result = optimize_program(program, target, settings, limit)
    parts.replace(index, target)
    if result.memory is not None:
        before, after = result.memory
        parts.is_enough |= after.is_enough and not before.fits
    return result


def _completed(parts: "Parts", results: Sequence[Result], failed: Sequence[Failed]) -> list[Result]:
    """Writes the parts that Ctrl-C left, and links all as they were written.

    Returns:
        The results. The last one has the use of memory by the program.

    Raises:
        LinkError: If the program does not link.
    """
    if kept := parts.write_rest({each.program.path for each in failed}):
        messages().print(f"As clang makes them: {', '.join(map(str, kept))}", soft_wrap=True)
    last = results[-1]
    if failed and last.memory:  # The program was linked with object files that nobody has.
        use: MemoryUse | None = replace(last.memory[1], is_linked=False)
    else:
        use = parts.memory_use()
    return [*results[:-1], replace(last, written=use)]


def _write_html(html: Path, result: Result, linker: Linker | None, jobs: int) -> None:
    with working_on("measuring what each decision brings"):
        write_html(
            html,
            result.search,
            str(result.target),
            result.command,
            is_checked=result.is_checked,
            linker=linker,
            jobs=jobs,
        )


def make_fast(
    inputs: Sequence[tuple[Input, Path]],
    settings: Settings,
    run: str | None,
    script: Path | None,
    as_json: bool,
) -> int:
    """Optimises programs for speed. Returns the exit code."""

    def make(index: int, program: Input, target: Path) -> SpeedResult:
        del index
        workload = workload_of(program, run, settings.linker)
        return optimize_speed(program, target, settings, workload)

    results, failed = make_each(inputs, make)
    results = with_script(results, script)
    is_single = len(inputs) == 1
    return _report(is_single, results, failed, as_json, print_speed_report, print_speed_summary)


def _report(
    is_single: bool,
    results: Sequence[AnyProduct],
    failed: Sequence[Failed],
    as_json: bool,
    print_one: Callable[[AnyProduct], None],
    print_several: Callable[[Sequence[AnyProduct]], None],
) -> int:
    """Prints what was made. Returns the exit code."""
    if as_json:
        print_json([*(each.as_json() for each in results), *(each.as_json() for each in failed)])
    elif is_single:
        print_one(results[0])
    else:
        if results:
            print_several(results)
        print_rest(results, failed)
    if not all(each.is_finished for each in results):
        return INTERRUPTED
    return 1 if failed else 0


def make_each(
    inputs: Sequence[tuple[Input, Path]],
    make: Callable[[int, Input, Path], AnyProduct],
    order: Sequence[int] | None = None,
) -> tuple[list[AnyProduct], list[Failed]]:
    """Makes the object file of each program, until Ctrl-C ends one.

    Args:
        inputs: The programs with their object files.
        make: Makes one, given its index, the program and the object file.
        order: Their indices in the order in which they are made; None for their own order.

    Returns:
        The object files, and the programs that failed.

    Raises:
        Exception: Any error of ``make`` if there is one program.
    """
    made: list[AnyProduct] = []
    failed: list[Failed] = []
    for index in order or range(len(inputs)):
        program, target = inputs[index]
        try:
            made.append(make(index, program, target))
        except KeyboardInterrupt:
            if not made:
                raise
            made[-1] = replace(made[-1], is_finished=False)
            break
        except Exception as error:  # The others do not depend on it.
            if len(inputs) == 1:
                raise
            reason = reason_for(str(program.path), error)
            failed.append(Failed(program, reason))
            name = str(program.path)
            print(reason if name in reason else f"{name}: {reason}", file=sys.stderr)
        else:
            if not made[-1].is_finished:
                break
    return made, failed


def with_script(products: Sequence[AnyProduct], script: Path | None) -> list[AnyProduct]:
    """Writes one script that makes all object files again, if one is asked for.

    Returns:
        The object files, with the result of the script's check.

    Raises:
        Exception: Any error of :func:`write_script`.
    """
    if script is None or not products:
        return [*products]
    said = [each.summary for each in products]
    same = write_script(script, [each.command for each in products], said)
    return [
        replace(each, script=script, is_script_repeatable=is_same)
        for each, is_same in zip(products, same, strict=True)
    ]


def print_rest(products: Sequence[Product], failed: Sequence[Failed]) -> None:
    """Prints the script and the failures below the table of several programs."""
    if products and products[0].script is not None:
        identical = sum(each.is_script_repeatable for each in products)
        print_line(f"{products[0].script} makes {identical} of {len(products)} again, identical.")
    for each in failed:
        print_line(f"{each.program.path} failed: no object file is written for it, see above.")


class Parts:
    """The object files of a program. One at a time is optimised.

    Args:
        inputs: The parts, each with the path of its object file.
        files: The current object file of each part, which has the name of that path.
        linker: Links them.

    Attributes:
        is_enough: True if less use of the region helps no more: the program fits and did not at
            first, or other regions are too full.
    """

    def __init__(self, inputs: Sequence[tuple[Input, Path]], files: Sequence[Path], linker: Linker):
        self._inputs = inputs
        self._files = [*files]
        self._linker = linker
        self._written: set[int] = set()
        self.is_enough = False

    def linker(self, index: int) -> Linker:
        """Returns a linker that replaces the object file of a part."""
        before, after = self._files[:index], self._files[index + 1 :]
        name = _name_of(self._inputs[index][1])
        return replace(self._linker, before=tuple(before), after=tuple(after), name=name)

    @property
    def order(self) -> Sequence[int] | None:
        """The order of the search: for a region of memory, parts with the most code come first."""
        if not self._linker.region or len(self._files) == 1:
            return None
        sizes = [read_object(file).text for file in self._files]
        return sorted(range(len(sizes)), key=lambda index: -sizes[index])

    def replace(self, index: int, file: Path) -> None:
        """Replaces the object file of a part."""
        self._files[index] = file.absolute()
        self._written.add(index)

    def write_rest(self, failed: Collection[Path]) -> list[Path]:
        """Writes the object files that no search wrote, and returns their paths.

        Args:
            failed: The sources that have no object file.
        """
        written = []
        for index, (program, target) in enumerate(self._inputs):
            if index not in self._written and program.path not in failed:
                shutil.copyfile(self._files[index], target)
                self.replace(index, target)
                written.append(target)
        return written

    def memory_use(self) -> MemoryUse | None:
        """Links all object files, and returns their use of memory; None without a region.

        Raises:
            LinkError: If they do not link.
        """
        if not self._linker.region:
            return None
        *before, last = self._files
        return replace(self._linker, before=tuple(before)).memory_use(last)


def _name_of(target: Path) -> str:
    """Returns the relative path under which linker scripts find an object file."""
    return str(target) if not target.is_absolute() and ".." not in target.parts else target.name


@contextmanager
def parts_of_program(inputs: Sequence[tuple[Input, Path]], settings: Settings) -> Iterator[Parts]:
    """Compiles the parts of a program unchanged, for the duration of the context.

    Args:
        inputs: The parts.
        settings: The settings for compiling and linking.

    Raises:
        BenchmarkInitError: If one does not compile. The text has the reason.
        LinkError: If they do not link.
    """
    linker = settings.linker
    first = inputs[0][0]
    if first.validator is not None:
        linker = replace(linker, libraries=first.validator.linker_options)
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        files = [Path(folder) / _name_of(target) for _, target in inputs]
        parts = Parts(inputs, files, linker)
        if len(inputs) > 1:
            with working_on(f"compiling {plural(len(inputs), 'part')}"):
                for (program, _), file in zip(inputs, files, strict=True):
                    _compile(program, settings, file)
            # What is wrong with the command is an error once, not for each part.
            parts.linker(0).measure(files[0])
        yield parts


def _compile(program: Input, settings: Settings, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    compile_source(Compilation(llvm_tools.clang_path(), program.path, settings.options), file)
