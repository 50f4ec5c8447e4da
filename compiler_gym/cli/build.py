"""``compiler-gym build``: smaller object files for a whole build, checked by its tests."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from compiler_gym.cli.build_report import build_as_json, print_build
from compiler_gym.cli.build_tree import BuildTree
from compiler_gym.cli.console import print_json, print_line
from compiler_gym.cli.culprits import Culprits, say
from compiler_gym.cli.earlier_build import EarlierBuild
from compiler_gym.cli.lock_file import LockFile
from compiler_gym.cli.options import DropWeakOption, JsonOption, parse_duration
from compiler_gym.cli.size_diff_formats import (
    exit_if_not_checked,
    print_report,
    printing,
    report_as_json,
)
from compiler_gym.cli.size_limit import (
    ROWS,
    AssemblyOption,
    FailAboveOption,
    Judged,
    JudgeOption,
    parse_limit,
)
from compiler_gym.cli.unit_searches import Begun, UnitSearches
from compiler_gym.cli.wrapper_settings import level
from compiler_gym.util.environment_variables import check_names
from compiler_gym.util.processors import processors
from compiler_gym.util.shell_format import plural

_EVALUATIONS = 40


def build(
    command: Annotated[list[str], typer.Argument(help="The build, after --.", show_default=False)],
    check: Annotated[
        str | None,
        typer.Option(help="A command that ends with exit code 0 if the build works."),
    ] = None,
    lock: Annotated[
        Path | None, typer.Option(help="The lock file to use and to write.", show_default=False)
    ] = None,
    evaluations: Annotated[
        int, typer.Option(min=0, help="Evaluations for an average unit.")
    ] = _EVALUATIONS,
    budget: Annotated[
        str | None,
        typer.Option(help="Time limit of all searches, such as 5m. By default none."),
    ] = None,
    drop_weak_symbols: DropWeakOption = False,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="OLD",
            help="An earlier build to compare the new one with, as size-diff does: an ELF file, an "
            "object file, an archive, or a folder.",
            show_default=False,
        ),
    ] = None,
    fail_above: FailAboveOption = None,
    judge: JudgeOption = Judged.LOADED,
    assembly: AssemblyOption = 0,
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown",
            help="Print only the comparison with OLD: Markdown, for a comment on a pull request.",
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="Number of parallel compilers; by default one for each core.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Build a project with smaller object files, and check it.

    The build runs with compiler-gym-cc as CC and compiler-gym-c++ as CXX, and must compile
    everything again. Larger units get more evaluations. If --check fails, the responsible decisions
    are found and left out, so that it passes at the end. No program or shared library that the
    build links becomes larger, or loses exported symbols: units that would do that are as clang
    makes them.

    With --against, the files that the new build makes at the end are compared with those of OLD,
    which has to come from the same command: if not, what the search saves hides growth. A file of
    OLD is compared with the file of the same name, and a folder with the folder below which the
    build makes the same relative paths. OLD is read before the build, which may replace it. The
    exit code is then 0 within the limit of --fail-above, 1 above it, and 2 if nothing was compared,
    for example because the build or the check failed.

    \b
    Examples:
      compiler-gym build --check 'make test' --lock size.lock -- make -B -j8
      compiler-gym build --against ../main --fail-above 1% -- make -B
      compiler-gym build --against old/app.elf --fail-above 300B -- make -B
    """  # noqa: D301
    is_gate = against is not None or fail_above is not None or assembly > 0 or markdown
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        with exit_if_not_checked("build", markdown, as_json) if is_gate else nullcontext():
            check_names(os.environ)
            level()  # An error here is one error; in the build, it is one for each unit.
            seconds = None if budget is None else parse_duration(budget)
            earlier = _earlier(against, Path(folder), fail_above, judge) if is_gate else None
            with _opened_tree(command, lock, Path(folder), drop_weak_symbols) as tree:
                culprits = Culprits(tree, check)
                _compile(tree, check, earlier)
                _search(tree, evaluations, seconds, jobs or processors())
                culprits.leave_out()
            growth = None if earlier is None else earlier.compare(tree.made)
        with printing():
            if as_json:
                facts = build_as_json(tree, culprits, check is not None)
                if growth is not None:
                    facts["growth"] = report_as_json(growth, assembly)
                print_json(facts)
            elif not markdown:
                print_build(tree, culprits, check is not None)
            if earlier is not None and growth is not None and not as_json:
                if not markdown:
                    print_line(f"\nOLD: {against}\nNEW: {os.path.relpath(earlier.new)}")
                print_report(growth, "markdown" if markdown else "text", None, ROWS, assembly)
    if growth is not None:
        raise typer.Exit(growth.exit_code)


def _earlier(path: Path | None, work: Path, fail_above: str | None, judged: Judged) -> EarlierBuild:
    """Returns the earlier build that the options name.

    Raises:
        OSError: If it does not exist or cannot be read.
        ValueError: If there is none, or the limit is wrong.
    """
    limit = None if fail_above is None else parse_limit(fail_above)
    if path is None:
        raise ValueError(
            "--fail-above, --assembly and --markdown are about a comparison: expected --against "
            "OLD, an earlier build, got none"
        )
    return EarlierBuild(path, work / "old", limit, judged)


@contextmanager
def _opened_tree(
    words: Sequence[str], lock: Path | None, work: Path, may_drop_weak: bool
) -> Iterator[BuildTree]:
    """Opens a build. At the end, its lock file is written.

    After an error, the build has no object files but those of clang.

    Args:
        words: The command of the build.
        lock: The lock file to use and to write; None for none.
        work: A folder for temporary files.
        may_drop_weak: Whether weak symbols that clang's object files export may be missing.

    Raises:
        FileNotFoundError: If the lock file has no folder.
    """
    target = LockFile((lock or Path("compiler-gym.lock")).absolute())
    if not target.folder.is_dir():
        raise FileNotFoundError(f"There is no folder {target.folder}")
    working = LockFile(target.folder / f".{target.path.name}.{os.getpid()}")
    tree = BuildTree(words, working, work, may_drop_weak)
    try:
        if lock is not None:
            working.write(target.read().values())
        yield tree
        if lock is not None:
            target.write(tree.entries())
    except BaseException:
        tree.clear()
        raise
    finally:
        working.path.unlink(missing_ok=True)


def _compile(tree: BuildTree, check: str | None, earlier: EarlierBuild | None) -> None:
    """Builds with clang alone, and runs the check.

    Args:
        tree: The build.
        check: The check; None if there is none.
        earlier: The build to compare with; None if there is none.

    Raises:
        ChildProcessError: If the build or the check fails.
        ValueError: If the build compiles nothing for size, or cannot be compared.
    """
    say("building with clang alone")
    if code := tree.compile():
        raise ChildProcessError(f"The build ended with exit code {code}")
    if tree.lost:
        say(
            f"leaving {plural(len(tree.lost), 'unit')} as clang makes them, since the build "
            f"removes their object files: {', '.join(tree.lost)}"
        )
    if not tree.units:
        raise ValueError(
            "expected a build that compiles units with -Os or -Oz, got none. It has to compile "
            "everything again (make -B) with CC and CXX. COMPILER_GYM_LEVEL=-Oz replaces the level"
        )
    if earlier is not None:
        earlier.compare(tree.made)  # An error here comes before the search.
    if check is not None and (why := tree.why_check_fails_with_clang(check)):
        raise ChildProcessError(f"The check also fails with clang's object files: {why}")


def _search(tree: BuildTree, evaluations: int, seconds: float | None, jobs: int) -> None:
    searches = UnitSearches(tree.units, evaluations, jobs)
    count, code = len(tree.units), sum(unit.code for unit in tree.units)
    limit = "" if seconds is None else f", at most {_duration(seconds)}"
    say(
        f"searching {plural(count, 'unit')} with {code} bytes of code: about "
        f"{_duration(searches.seconds)}{limit}"
    )
    tree.search(searches, seconds, _say_begun)


def _say_begun(begun: Begun) -> None:
    say(
        f"{begun.unit.key[0]}: {plural(begun.evaluations, 'evaluation')}, about "
        f"{_duration(begun.seconds)}; {begun.done} of {plural(begun.count, 'unit')} done, about "
        f"{_duration(begun.seconds_left)} left"
    )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
