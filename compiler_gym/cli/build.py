"""``compiler-gym build``: smaller object files for a whole build, checked by its tests."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from compiler_gym.cli.build_tree import BuildTree
from compiler_gym.cli.console import print_json, print_line, print_table
from compiler_gym.cli.lock_file import Key, LockFile
from compiler_gym.cli.options import JsonOption, parse_duration
from compiler_gym.cli.project_build import read_log
from compiler_gym.cli.wrapper_settings import LEVEL, level
from compiler_gym.tuning.size.compilation import (
    Atom,
    Decisions,
    joined_decisions,
    single_decisions,
)
from compiler_gym.util.environment_variables import check_names
from compiler_gym.util.sequence_reducer import reductions
from compiler_gym.util.shell_format import plural

_EVALUATIONS = 40
_MAX_CHARACTERS = 500

T = TypeVar("T")


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
    are found and left out, so that it passes at the end.

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
        tree = BuildTree(command, working, Path(folder))
        try:
            if lock is not None:
                working.write(target.read().values())
            left_out = _build(tree, check, evaluations, seconds, jobs or os.cpu_count() or 1)
            if lock is not None:
                target.write(tree.entries())
        except BaseException:
            tree.clear()
            raise
        finally:
            working.path.unlink(missing_ok=True)
        _report(tree, left_out, check is not None, as_json)


def _build(
    tree: BuildTree, check: str | None, evaluations: int, seconds: float | None, jobs: int
) -> dict[Key, list[str]]:
    """Builds, searches, and checks. Returns the decisions that were left out.

    Raises:
        ChildProcessError: If the build or the check fails by itself.
        ValueError: If the build compiles nothing for size.
    """
    _say("building with clang alone")
    if code := tree.compile():
        raise ChildProcessError(f"The build ended with exit code {code}")
    if tree.lost:
        _say(
            f"leaving {plural(len(tree.lost), 'unit')} as clang makes them, since the build "
            f"removes their object files: {', '.join(tree.lost)}"
        )
    if not tree.units:
        raise ValueError(
            "expected a build that compiles units with -Os or -Oz, got none. It has to compile "
            "everything again (make -B) with CC and CXX. COMPILER_GYM_LEVEL=-Oz replaces the level"
        )
    if check is not None and (why := _why_check_fails(check)):
        raise ChildProcessError(f"The check also fails with clang's object files: {why}")
    count, code = len(tree.units), sum(unit.code for unit in tree.units)
    _say(f"searching {plural(count, 'unit')} with {code} bytes of code")
    tree.search(evaluations, seconds, jobs, lambda done: _say(f"{done} of {count} searched"))
    culprits = _Culprits(tree, check)
    return culprits.leave_out()


class _Culprits:
    """Finds the decisions that make a check fail.

    Args:
        tree: The build.
        check: The check; None if there is none.
    """

    def __init__(self, tree: BuildTree, check: str | None):
        self._tree = tree
        self._check = check

    def leave_out(self) -> dict[Key, list[str]]:
        """Leaves out decisions until the check passes. Returns those left out.

        Raises:
            ChildProcessError: If the build fails, or the check without any decisions.
        """
        left_out: dict[Key, list[str]] = {}
        decisions = self._tree.decisions()
        while self._is_wrong(decisions):
            keys = [key for key, each in decisions.items() if each]
            if not keys:
                raise ChildProcessError(
                    "The build or the check fails without any decisions, but did not before: is "
                    "its result the same each time?"
                )
            if not left_out:
                _say("the check fails: looking for the unit")
            key, atoms = self._culprit(decisions, keys)
            texts = [f"{kind}: {text}" for kind, text in atoms]
            _say(f"{key[0]} is wrong with {', '.join(texts)}: leaving that out")
            left_out[key] = [*left_out.get(key, []), *texts]
            kept = [each for each in single_decisions(decisions[key]) if each not in atoms]
            decisions = self._none_larger(decisions | {key: joined_decisions(kept)}, key)
            self._tree.refuse(key, texts)
        return left_out

    def _culprit(
        self, decisions: Mapping[Key, Decisions], keys: Sequence[Key]
    ) -> tuple[Key, list[Atom]]:
        """Returns a unit that makes the check fail, and its responsible decisions."""
        wrong = _last(keys, lambda some: self._is_same({k: decisions[k] for k in some}))
        key, others = wrong[0], {each: decisions[each] for each in wrong[1:]}
        _say(f"it fails with {' and '.join(each[0] for each in wrong)}: looking for decisions")
        atoms = _last(
            single_decisions(decisions[key]),
            lambda some: self._is_same(others | {key: joined_decisions(some)}),
        )
        return key, atoms

    def _none_larger(self, decisions: dict[Key, Decisions], key: Key) -> dict[Key, Decisions]:
        """Returns decisions, without those for a unit that would be larger or not compile."""
        try:
            self._tree.place(decisions)
        except ChildProcessError:
            return decisions | {key: {}}
        units = [unit for unit in self._tree.units if unit.key == key]
        is_larger = any(unit.sizes()[1] > unit.loaded for unit in units)
        return decisions | {key: {}} if is_larger else decisions

    def _is_same(self, decisions: Mapping[Key, Decisions]) -> bool:
        """Returns true if the check fails, and not because clang refuses the decisions."""
        try:
            return self._is_wrong(decisions)
        except ChildProcessError:
            return False

    def _is_wrong(self, decisions: Mapping[Key, Decisions]) -> bool:
        """Returns true if the build or the check fails. The build then has the given decisions."""
        self._tree.place(decisions)
        code = self._tree.build()
        if self._check is None:
            if code:
                raise ChildProcessError(f"The build ended with exit code {code}")
            return False
        return bool(code) or bool(_why_check_fails(self._check))


def _last(items: Sequence[T], is_wrong: Callable[[list[T]], bool]) -> list[T]:
    """Returns a smallest part of a wrong list that is still wrong."""
    return [[*items], *reductions(items, is_wrong)][-1]


def _why_check_fails(check: str) -> str:
    """Runs a check. Returns the reason for a failure; empty if it passes."""
    done = subprocess.run(
        ["/bin/sh", "-c", check],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode == 0:
        return ""
    return f"exit code {done.returncode}: {done.stdout.strip()[-_MAX_CHARACTERS:]}"


def _report(
    tree: BuildTree, left_out: Mapping[Key, list[str]], is_checked: bool, as_json: bool
) -> None:
    """Prints the sizes of the units, and whether the check passes."""
    rows = []
    for unit in tree.units:
        code, loaded = unit.sizes()
        rows.append((unit.key[0], unit.code, code, unit.loaded, loaded))
    totals = [sum(row[place] for row in rows) for place in range(1, 5)]
    cut = [line.output for line in read_log(tree.log) if "time limit" in line.note]
    if as_json:
        names = ("unit", "code_before", "code", "loaded_before", "loaded")
        print_json(
            {
                "units": [dict(zip(names, row, strict=True)) for row in rows],
                **dict(zip(names[1:], totals, strict=True)),
                "level": level(),
                "check": "passed" if is_checked else "not checked",
                "left_out": {key[0]: texts for key, texts in left_out.items()},
                "ended_by_time_limit": cut,
            }
        )
        return
    heads = ("unit", "code before", "after", "loaded before", "loaded")
    all_rows = [*rows, (plural(len(rows), "unit"), *totals)]
    title = "Bytes of units, each linked alone"
    print_table([dict(zip(heads, row, strict=True)) for row in all_rows], title)
    print_line()
    if wanted := level():
        print_line(f"Sizes before have the build's own levels; {LEVEL}={wanted} replaces them.")
    for (source, _), texts in left_out.items():
        for text in texts:
            print_line(f"Left out of {source}, as the check fails with it: {text}")
    if cut:
        print_line(f"Ended by the time limit: {plural(len(cut), 'unit')}.")
    print_line(f"Check: {'passed' if is_checked else 'not checked'}.")


def _say(text: str) -> None:
    print(f"compiler-gym build: {text}", file=sys.stderr, flush=True)
