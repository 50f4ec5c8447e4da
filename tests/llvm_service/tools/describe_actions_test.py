"""The page about the actions of LLVM, and the program that writes it."""

import re
import subprocess

import pytest

from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import find_service_binary

LEVELS = {
    "Module": "module",
    "CGSCC": "call graph",
    "Function": "function",
    "LoopNest": "loop nest",
    "Loop": "loop",
}


@pytest.fixture(scope="module")
def page():
    program = find_service_binary("describe_actions", package="llvm_service/tools")
    return subprocess.run([program], capture_output=True, text=True, check=True, timeout=250).stdout


def listed_by_opt() -> set[tuple[str, str]]:
    """The level and name of each IR pass, as opt lists them."""
    listing = subprocess.run(
        [llvm_tools.opt_path(), "-print-passes"],
        capture_output=True,
        text=True,
        check=True,
        timeout=250,
    ).stdout
    passes = set()
    level = parameters = None
    for line in listing.splitlines():
        if not line.startswith(" "):
            heading = re.fullmatch(r"(\w+) passes( with params)?:", line)
            level = LEVELS.get(heading[1]) if heading else None
            parameters = heading and heading[2]
        elif level:
            name = line.strip()
            passes.add((level, without_parameters(name) if parameters else name))
    return passes


def without_parameters(text: str) -> str:
    """Takes off the last pair of brackets, which may hold another: ``alloc-token<mode=<mode>>``."""
    return re.sub(r"<([^<>]|<[^<>]*>)*>$", "", text)


def rows(page: str, heading: str) -> list[list[str]]:
    """The rows of the table under a heading, code marks taken off."""
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip(" `") for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def pass_name(action: str) -> str:
    """The name of the pass that an action runs, without adaptors and parameters."""
    return action.rpartition("(")[2].rstrip(")").partition("<")[0]


def test_lists_every_pass_exactly_once(page):
    listed = listed_by_opt()
    assert len(listed) > 300
    excluded = [(level, name) for name, level, _ in rows(page, "Excluded passes")]
    remaining = {name for _, name in listed - set(excluded)}
    actions = [pass_name(action) for _, action, _, _ in rows(page, "Actions")]
    assert len(excluded) == len(set(excluded))
    assert set(excluded) < listed
    assert sorted(actions) == sorted(remaining)
    assert len(excluded) + len(actions) == len(listed)


def test_counts_are_those_of_the_tables(page):
    text = " ".join(page.split())
    counts = re.search(r"lists (\d+) passes .*: (\d+) are actions and (\d+) are excluded", text)
    assert [int(count) for count in counts.groups()] == [
        len(listed_by_opt()),
        len(rows(page, "Actions")),
        len(rows(page, "Excluded passes")),
    ]
    assert f"There are {len(rows(page, 'Variants'))} variants." in text


def test_actions_are_numbered(page):
    headings = ("Actions", "Own passes", "Variants", "Own variants")
    numbers = [row[0] for heading in headings for row in rows(page, heading)]
    assert numbers == [str(number) for number in range(len(numbers))]
    assert [row[0] for row in rows(page, "Legacy actions")] == list(map(str, range(124)))
    assert len(rows(page, "Pipelines")) == 32


def test_levels_of_actions(page):
    listed = listed_by_opt()
    for _, action, level, _ in rows(page, "Actions") + rows(page, "Variants"):
        kind = level.partition(",")[0]
        kinds = {kind, "loop nest"} if kind == "loop" else {kind}
        assert {(each, pass_name(action)) for each in kinds} & listed, (action, level)


def test_variants_have_parameters(page):
    actions = {pass_name(action) for _, action, _, _ in rows(page, "Actions")}
    for _, action, _, _ in rows(page, "Variants"):
        assert "<" in action
        assert pass_name(action) in actions


def test_every_exclusion_has_a_reason(page):
    for name, _, reason in rows(page, "Excluded passes"):
        assert len(reason) > 10, name


def test_every_action_has_a_description(page):
    for heading in ("Actions", "Own passes", "Variants", "Own variants", "Pipelines"):
        for _, action, _, description in rows(page, heading):
            assert description.count(" ") > 3, action
    for _, name, today, description in rows(page, "Legacy actions"):
        assert description.startswith("Does nothing: ") == (today == ""), name
