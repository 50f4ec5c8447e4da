"""Reports of ``compiler-gym build``: the sizes of linked files and of units."""

from pathlib import Path
from typing import Any

from compiler_gym.cli.build_tree import BuildTree
from compiler_gym.cli.console import print_line, print_table
from compiler_gym.cli.culprits import Culprits
from compiler_gym.cli.project_build import read_log
from compiler_gym.cli.wrapper_settings import LEVEL, level
from compiler_gym.util.shell_format import plural

_UNIT = ("unit", "code_before", "code", "loaded_before", "loaded")


def build_as_json(tree: BuildTree, culprits: Culprits, is_checked: bool) -> dict[str, Any]:
    """Returns the sizes of linked files and of units, and whether the check passes, for JSON."""
    rows = [dict(zip(_UNIT, row, strict=True)) for row in _unit_rows(tree)]
    return {
        "linked": _linked_rows(tree),
        "units": rows,
        **{name: sum(row[name] for row in rows) for name in _UNIT[1:]},
        "level": level(),
        "check": "passed" if is_checked else "not checked",
        "left_out": {key[0]: texts for key, texts in culprits.left_out.items()},
        "taken_back": [source for source, _ in culprits.taken_back],
        "ended_by_time_limit": _cut(tree),
    }


def print_build(tree: BuildTree, culprits: Culprits, is_checked: bool) -> None:
    """Prints the sizes of linked files and of units, and whether the check passes."""
    linked = [
        {
            "linked": each["linked"],
            "loaded before": each["loaded_before"],
            "after": each["loaded"],
            "stripped before": each["stripped_before"],
            "stripped": each["stripped"],
            "exports": f"{each['exports_before']} -> {each['exports']}",
        }
        for each in _linked_rows(tree)
    ]
    if linked:
        print_table(linked, "Bytes of linked files: loaded, and of the stripped file")
        print_line()
    else:
        print_line("The build has linked no program or shared library below the current folder.")
    rows = _unit_rows(tree)
    totals = [sum(row[place] for row in rows) for place in range(1, 5)]
    heads = ("unit", "code before", "after", "loaded before", "loaded")
    all_rows = [*rows, (plural(len(rows), "unit"), *totals)]
    title = "Bytes of units, each linked alone"
    print_table([dict(zip(heads, row, strict=True)) for row in all_rows], title)
    print_line()
    if wanted := level():
        print_line(f"Sizes before have the build's own levels; {LEVEL}={wanted} replaces them.")
    for source, _ in culprits.taken_back:
        print_line(f"As clang makes it, since a linked file is larger otherwise: {source}")
    for (source, _), texts in culprits.left_out.items():
        for text in texts:
            print_line(f"Left out of {source}, as the check fails with it: {text}")
    if cut := _cut(tree):
        print_line(f"Ended by the time limit: {plural(len(cut), 'unit')}.")
    print_line(f"Check: {'passed' if is_checked else 'not checked'}.")


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


def _unit_rows(tree: BuildTree) -> list[tuple[Any, ...]]:
    """Returns the names of units, with their code and loaded bytes before and after."""
    rows = []
    for unit in tree.units:
        code, loaded = unit.sizes()
        rows.append((unit.key[0], unit.code, code, unit.loaded, loaded))
    return rows


def _cut(tree: BuildTree) -> list[str]:
    """Returns the object files of units whose search the time limit has ended."""
    return [line.output for line in read_log(tree.log) if "time limit" in line.note]
