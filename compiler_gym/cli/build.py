"""``compiler-gym build``: smaller object files for a whole build, checked by its tests."""

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from compiler_gym.cli.build_tree import BuildTree
from compiler_gym.cli.console import print_json, print_line, print_table
from compiler_gym.cli.culprits import Culprits, say
from compiler_gym.cli.lock_file import LockFile
from compiler_gym.cli.options import DropWeakOption, JsonOption, parse_duration
from compiler_gym.cli.project_build import read_log
from compiler_gym.cli.unit_searches import Begun, UnitSearches
from compiler_gym.cli.wrapper_settings import LEVEL, level
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

    \b
    Examples:
      compiler-gym build --check 'make test' --lock size.lock -- make -B -j8
    """  # noqa: D301
    check_names(os.environ)
    level()  # An error here is one error; in the build, it is one for each unit.
    seconds = None if budget is None else parse_duration(budget)
    target = LockFile((lock or Path("compiler-gym.lock")).absolute())
    if not target.folder.is_dir():
        raise FileNotFoundError(f"There is no folder {target.folder}")
    working = LockFile(target.folder / f".{target.path.name}.{os.getpid()}")
    with tempfile.TemporaryDirectory(prefix="compiler_gym-") as folder:
        tree = BuildTree(command, working, Path(folder), drop_weak_symbols)
        try:
            if lock is not None:
                working.write(target.read().values())
            _compile(tree, check)
            _search(tree, evaluations, seconds, jobs or processors())
            culprits = Culprits(tree, check)
            culprits.leave_out()
            if lock is not None:
                target.write(tree.entries())
        except BaseException:
            tree.clear()
            raise
        finally:
            working.path.unlink(missing_ok=True)
        _report(tree, culprits, check is not None, as_json)


def _compile(tree: BuildTree, check: str | None) -> None:
    """Builds with clang alone, and runs the check.

    Raises:
        ChildProcessError: If the build or the check fails.
        ValueError: If the build compiles nothing for size.
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


def _linked_rows(tree: BuildTree) -> list[dict[str, Any]]:
    """Returns the sizes of linked files, and the numbers of symbols that they export."""
    now, folder = tree.linked_now(), Path.cwd()
    return [
        {
            "linked": str(path.relative_to(folder) if path.is_relative_to(folder) else path),
            "loaded_before": before.size.loaded,
            "loaded": now[path].size.loaded,
            "stripped_before": before.size.file,
            "stripped": now[path].size.file,
            "exports_before": len(before.exported),
            "exports": len(now[path].exported),
        }
        for path, before in tree.linked.items()
        if path in now
    ]


def _report(tree: BuildTree, culprits: Culprits, is_checked: bool, as_json: bool) -> None:
    """Prints the sizes of linked files and of units, and whether the check passes."""
    rows = []
    for unit in tree.units:
        code, loaded = unit.sizes()
        rows.append((unit.key[0], unit.code, code, unit.loaded, loaded))
    totals = [sum(row[place] for row in rows) for place in range(1, 5)]
    cut = [line.output for line in read_log(tree.log) if "time limit" in line.note]
    taken_back = [source for source, _ in culprits.taken_back]
    linked = _linked_rows(tree)
    if as_json:
        names = ("unit", "code_before", "code", "loaded_before", "loaded")
        print_json(
            {
                "linked": linked,
                "units": [dict(zip(names, row, strict=True)) for row in rows],
                **dict(zip(names[1:], totals, strict=True)),
                "level": level(),
                "check": "passed" if is_checked else "not checked",
                "left_out": {key[0]: texts for key, texts in culprits.left_out.items()},
                "taken_back": taken_back,
                "ended_by_time_limit": cut,
            }
        )
        return
    if linked:
        rows_of_linked = [
            {
                "linked": each["linked"],
                "loaded before": each["loaded_before"],
                "after": each["loaded"],
                "stripped before": each["stripped_before"],
                "stripped": each["stripped"],
                "exports": f"{each['exports_before']} -> {each['exports']}",
            }
            for each in linked
        ]
        print_table(rows_of_linked, "Bytes of linked files: loaded, and of the stripped file")
        print_line()
    else:
        print_line("The build has linked no program or shared library below the current folder.")
    heads = ("unit", "code before", "after", "loaded before", "loaded")
    all_rows = [*rows, (plural(len(rows), "unit"), *totals)]
    title = "Bytes of units, each linked alone"
    print_table([dict(zip(heads, row, strict=True)) for row in all_rows], title)
    print_line()
    if wanted := level():
        print_line(f"Sizes before have the build's own levels; {LEVEL}={wanted} replaces them.")
    for source in taken_back:
        print_line(f"As clang makes it, since a linked file is larger otherwise: {source}")
    for (source, _), texts in culprits.left_out.items():
        for text in texts:
            print_line(f"Left out of {source}, as the check fails with it: {text}")
    if cut:
        print_line(f"Ended by the time limit: {plural(len(cut), 'unit')}.")
    print_line(f"Check: {'passed' if is_checked else 'not checked'}.")
