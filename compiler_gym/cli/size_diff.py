"""``compiler-gym size-diff``: the growth between two builds, as a gate for pull requests."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from compiler_gym.cli.options import JsonOption
from compiler_gym.cli.size_limit import (
    ROWS,
    AssemblyOption,
    FailAboveOption,
    Judged,
    JudgeOption,
    Rows,
    parse_limit,
)


def size_diff(
    old: Annotated[
        Path,
        typer.Argument(
            help="An ELF file, an object file, an archive, or the folder of a build.",
            show_default=False,
        ),
    ],
    new: Annotated[Path, typer.Argument(help="The same of the new build.", show_default=False)],
    fail_above: FailAboveOption = None,
    judge: JudgeOption = Judged.LOADED,
    by: Annotated[
        Rows | None,
        typer.Option(
            help="Rows of the table. By default symbols, or sections if a file has no symbols.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number of rows of a table.")] = ROWS,
    assembly: AssemblyOption = 0,
    objects: Annotated[
        bool,
        typer.Option(
            "--objects",
            help="Compare the object files and archives of a folder, even if it has programs or "
            "shared libraries.",
        ),
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a comment on a pull request.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the sizes of two builds, as a gate for changes.

    Of folders, programs and shared libraries are compared, or else object files and archives.
    Files have the same relative path in both builds. Everything that is not ELF is ignored, and
    counted. The sizes are those of sections that are loaded, without debugging information.

    By default, --fail-above judges the total of loaded bytes: code, constants and initialised
    data. The exit code is 0 within the limit, 1 above it, and 2 if the command line is wrong, an
    input cannot be read, or the two builds cannot be compared.

    \b
    Examples:
      compiler-gym size-diff old/firmware.elf new/firmware.elf
      compiler-gym size-diff build-main build --fail-above 1% --assembly 3
      compiler-gym size-diff old.a new.a --fail-above 300B --judge ram
    """  # noqa: D301
    from compiler_gym.cli.size_diff_formats import exit_if_not_checked, print_report, printing
    from compiler_gym.cli.size_diff_report import Report
    from compiler_gym.cli.size_inputs import read_builds

    with exit_if_not_checked("size-diff", markdown, as_json) as form:
        allowed = None if fail_above is None else parse_limit(fail_above)
        report = Report(*read_builds(old, new, objects), allowed, judge)
    with printing():
        print_report(report, form, by, limit, assembly)
    for reason in report.unreadable:
        print(f"compiler-gym size-diff: not checked: {reason}", file=sys.stderr)
    raise typer.Exit(report.exit_code)
