"""Several programs, or the parts of one, in ``compiler-gym optimize``."""

import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from compiler_gym.cli.console import print_line, print_table, working_on
from compiler_gym.cli.optimize_program import Result, Settings, describe_files
from compiler_gym.cli.optimize_result import Product
from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.product import write_script
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


def make_each(
    inputs: Sequence[tuple[Input, Path]], make: Callable[[int, Input, Path], AnyProduct]
) -> tuple[list[AnyProduct], list[Failed]]:
    """Makes the object file of each program, until Ctrl-C ends one.

    Args:
        inputs: The programs with their object files.
        make: Makes one, given its index, the program and the object file.

    Returns:
        The object files, and the programs that failed.

    Raises:
        Exception: Any error of ``make`` if there is one program, or if the error is not about a
            program.
    """
    made: list[AnyProduct] = []
    failed: list[Failed] = []
    for index, (program, target) in enumerate(inputs):
        try:
            made.append(make(index, program, target))
        except (BenchmarkInitError, ValueError) as error:
            if len(inputs) == 1:
                raise
            failed.append(Failed(program, str(error)))
            print(error, file=sys.stderr)
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


# The summary of ``compiler-gym optimize`` for several programs.

_GOALS = {
    Objective.TEXT: "Bytes of code",
    Objective.ALL: "Bytes of all that is loaded",
    Objective.INSTRUCTIONS: "Machine instructions",
}


def print_summary(results: Sequence[Result]) -> None:
    """Prints a row for each program, and a summary of all."""
    searches = [each.search for each in results]
    level = searches[0].evaluator.compilation.level
    rows = [
        {
            "object file": each.target.name,
            f"clang\n{level}": search.size(search.baseline),
            "best": search.size(search.best),
            "saved": f"{each.saved:.2%}",
            **_other_saved(each),
            "est.\ncycles": _change(each.cycles),
            "tries": search.evaluator.budget.used,
            "seconds": f"{each.seconds:.0f}",
            "output": "right" if each.is_checked else "not checked",
        }
        for each, search in zip(results, searches, strict=True)
    ]
    objective = searches[0].objective
    title = f"{_GOALS[objective]} in object files, chosen by search, against clang {level}"
    print_table(rows, title)
    counts = objective is Objective.INSTRUCTIONS
    are_smaller = "have fewer instructions" if counts else "are smaller"
    smaller = sum(each.saved > 0 for each in results)
    rest = math.exp(sum(math.log(1 - each.saved) for each in results) / len(results))
    by = f", by {1 - rest:.2%} in the geometric mean" if smaller else ""
    print_line(f"\n{smaller} of {len(results)} {are_smaller} than those of clang {level}{by}.")
    if not results[-1].is_finished:
        print_line("Ctrl-C ended the search. These are the best that were found by then.")
    cut = [each.target.name for each in results if each.search.evaluator.budget.is_cut]
    if cut:
        print_line(f"Ended by the time limit: {', '.join(cut)}. Other runs may find other results.")
    print_line(
        f"For one program alone it says where its {objective.unit} went, and what command makes it."
    )


def _other_saved(result: Result) -> dict[str, str]:
    """Returns a cell with the saved share of code, or of loaded bytes; else empty."""
    before, after = result.search.baseline, result.search.best
    if result.search.objective is Objective.ALL:
        return {"code\nsaved": _share(before.object.text, after.object.text)}
    if result.search.objective is Objective.TEXT:
        return {"loaded\nsaved": _share(before.loaded, after.loaded)}
    return {}


def _change(values: tuple[float, float] | None) -> str:
    return f"{values[1] / values[0] - 1:+.1%}" if values and values[0] else ""


def _share(before: int, after: int) -> str:
    return f"{1 - after / before:.2%}" if before else ""


def print_linked_summary(results: Sequence[Result]) -> None:
    """Prints the savings of each part of a linked program, and of all of it."""
    level = results[0].search.evaluator.compilation.level
    print_table(
        [
            {
                "object file": each.target.name,
                "code before": each.objects[0].text,
                "after": each.objects[1].text,
                "est.\ncycles": _change(each.cycles),
                "linked": each.search.size(each.search.best),
                "tries": each.search.evaluator.budget.used,
                "seconds": f"{each.seconds:.0f}",
                "output": "right" if each.is_checked else "not checked",
            }
            for each in results
        ],
        "Bytes of the program that is linked, after each of its parts",
    )
    first, last = results[0].linked, results[-1].linked
    if first and last:
        before, after = first[0].loaded, last[1].loaded
        saved = (
            f"{1 - after / before:.2%} less than the {before}"
            if after < before
            else "as many as those"
        )
        print_line(f"\nThe program has {after} bytes of text and data, {saved} of clang {level}.")
        print_line(describe_files(first[0], last[1]))
    if not results[-1].is_finished:
        print_line("Ctrl-C ended the search. These are the best that were found by then.")


# The parts of a program for ``compiler-gym optimize --objective linked``.

_SECONDS = 3600


class Parts:
    """The object files of a program. One at a time is optimised.

    Args:
        files: The current object file of each part.
        linker: Links them.
    """

    def __init__(self, files: Sequence[Path], linker: Linker):
        self._files = [*files]
        self._linker = linker

    def linker(self, index: int) -> Linker:
        """Returns a linker that replaces the object file of a part."""
        before, after = self._files[:index], self._files[index + 1 :]
        return replace(self._linker, before=tuple(before), after=tuple(after))

    def replace(self, index: int, file: Path) -> None:
        """Replaces the object file of a part."""
        self._files[index] = file.absolute()


@contextmanager
def parts_of_program(inputs: Sequence[tuple[Input, Path]], settings: Settings) -> Iterator[Parts]:
    """Compiles the parts of a program unchanged, for the duration of the context.

    Args:
        inputs: The parts.
        settings: The settings for compiling and linking.

    Raises:
        BenchmarkInitError: If one does not compile. The text has the reason.
    """
    linker = settings.linker
    first = inputs[0][0]
    if first.validator is not None:
        linker = replace(linker, libraries=first.validator.linker_options)
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        files = [Path(folder) / f"{number}.o" for number in range(len(inputs))]
        if len(inputs) > 1:
            with working_on(f"compiling {plural(len(inputs), 'part')}"):
                for (program, _), file in zip(inputs, files, strict=True):
                    _compile(program, settings, file)
        yield Parts(files, linker)


def _compile(program: Input, settings: Settings, file: Path) -> None:
    compilation = Compilation(tools.clang_path(), program.path, settings.options)
    run_tool(compilation.command(file), _SECONDS)
