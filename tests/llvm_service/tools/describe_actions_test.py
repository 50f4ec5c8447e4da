"""The page about the actions of LLVM, and the program that writes it."""

import re
import subprocess

import pytest

from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import find_service_binary


def output(*command) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=250).stdout


@pytest.fixture(scope="module")
def page():
    return output(find_service_binary("describe_actions", package="llvm_service/tools"))


def rows(page: str, heading: str) -> list[list[str]]:
    """The rows of the table under a heading, code marks taken off."""
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip(" `") for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def pass_name(action: str) -> str:
    """The name of the pass that an action runs, without adaptors and parameters."""
    return action.rpartition("(")[2].rstrip(")").partition("<")[0]


def test_counts_are_those_of_the_tables(page):
    text = " ".join(page.split())
    counts = re.search(r"lists (\d+) passes .*: (\d+) are actions and (\d+) are excluded", text)
    actions, excluded = len(rows(page, "Actions")), len(rows(page, "Excluded passes"))
    assert [int(count) for count in counts.groups()] == [actions + excluded, actions, excluded]
    assert actions + excluded > 300
    assert f"There are {len(rows(page, 'Variants'))} variants." in text


def test_actions_are_numbered(page):
    headings = ("Actions", "Own passes", "Variants", "Own variants")
    numbers = [row[0] for heading in headings for row in rows(page, heading)]
    assert numbers == [str(number) for number in range(len(numbers))]
    assert [row[0] for row in rows(page, "Legacy actions")] == list(map(str, range(124)))
    assert len(rows(page, "Pipelines")) == 32


def test_levels_of_actions(page):
    """The level of each action is the heading under which opt lists its pass."""
    levels: dict[str, set[str]] = {}
    level = ""
    for line in output(llvm_tools.opt_path(), "-print-passes").splitlines():
        if line.startswith(" "):
            levels.setdefault(level, set()).add(line.strip().partition("<")[0])
        else:
            level = line.partition(" passes")[0]
    names = {"CGSCC": "call graph", "LoopNest": "loop"}
    for _, action, level, _ in rows(page, "Actions") + rows(page, "Variants"):
        kind = level.partition(",")[0]
        possible = {name for name in levels if names.get(name, name.lower()) == kind}
        assert any(pass_name(action) in levels[name] for name in possible), (action, level)


def test_legacy_actions_say_whether_they_do_anything(page):
    for _, name, today, description in rows(page, "Legacy actions"):
        assert description.startswith("Does nothing: ") == (today == ""), name
