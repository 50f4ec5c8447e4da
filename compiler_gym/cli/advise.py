"""``compiler-gym advise``: risky options that make a program smaller."""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compiler_gym.cli.app import clang_options
from compiler_gym.cli.console import print_json, print_line, working_on
from compiler_gym.cli.options import JsonOption
from compiler_gym.tuning.size.compilation import check_options

if TYPE_CHECKING:
    from compiler_gym.tuning.size.advice import Measured


def advise(
    context: typer.Context,
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="All C or C++ sources, .ll or .bc files of a program or a shared library.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ],
    library: Annotated[
        list[str] | None,
        typer.Option("--library", "-l", help="A library to link with, such as z. May be repeated."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Number of parallel compilers.")
    ] = 2,
    as_json: JsonOption = False,
) -> None:
    """Measure risky options that make a program smaller.

    The options are for clang and the linker. Each is shown with its bytes and its risk.

    The sources are compiled and linked with each suggestion, and without any: to a shared library
    if there is no main. The cost is the bytes of code, constants, data and tables that are loaded,
    in the file without symbols. Nothing is written. Searches never try these options, because they
    change the guarantees of the program. Options after -- are clang's, and may include another
    level than -Oz.

    \b
    Examples:
      compiler-gym advise program.c
      compiler-gym advise src/*.c -l z -- -Iinclude -DNDEBUG
    """  # noqa: D301, the mark of a paragraph that is not filled.
    from compiler_gym.envs.llvm.benchmarks.validation import LIBRARIES
    from compiler_gym.tuning.size.advice import SUGGESTIONS, Adviser

    options = clang_options(context)
    check_options(options)
    libraries = (*(f"-l{name}" for name in library or ()), *LIBRARIES)
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        adviser = Adviser(sources, options, Path(folder), libraries, jobs)
        with working_on("measuring"):
            size = adviser.size()
            measured = [adviser.measure(each) for each in SUGGESTIONS]
    measured.sort(key=lambda each: -(each.saved or 0))
    if as_json:
        kind = "shared library" if adviser.is_library else "program"
        print_json({"kind": kind, "size": asdict(size), "advice": [*map(_as_json, measured)]})
        return
    kind = "shared library" if adviser.is_library else "program"
    print_line(f"The {kind} that clang {adviser.level} makes loads {size.loaded} bytes.")
    for each in measured:
        _print(each)


def _as_json(measured: "Measured") -> dict[str, Any]:
    suggestion = measured.suggestion
    return {
        "compiling": suggestion.compiling,
        "linking": suggestion.linking,
        "risk": suggestion.risk,
        "before": measured.before and asdict(measured.before),
        "after": measured.after and asdict(measured.after),
        "saved": measured.saved,
        "why": measured.why,
    }


def _print(measured: "Measured") -> None:
    print_line(f"\n{measured.suggestion.options}")
    if measured.saved is None or measured.before is None:
        print_line(f"  Not measured: {measured.why}")
        return
    share = abs(measured.saved) / max(measured.before.loaded, 1)
    if measured.saved:
        verb = "Saves" if measured.saved > 0 else "Costs"
        print_line(f"  {verb} {abs(measured.saved)} bytes, {share:.2%}.")
    else:
        print_line("  Saves nothing here.")
    if measured.saved > 0:
        print_line(f"  Risk: {measured.suggestion.risk}")
