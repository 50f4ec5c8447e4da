"""Several programs on one command line of ``compiler-gym optimize``."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from compiler_gym.cli.console import print_line
from compiler_gym.cli.optimize_result import Product
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.product import write_script

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
