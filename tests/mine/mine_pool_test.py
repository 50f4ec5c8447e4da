"""Mines on the workers of a pool, as on the nodes of a cluster."""

import re

import pytest

from compiler_gym.datasets import Datasets
from compiler_gym.distributed import Limits, open_pool
from compiler_gym.mine.decisions import Decision, Kind, Tools
from compiler_gym.mine.miner import Mine
from compiler_gym.mine.runtime import RUNTIME
from compiler_gym.mine.size import SIZE
from compiler_gym.mine.tasks import mine_on_pool
from compiler_gym.mine.work import Settings
from compiler_gym.util import llvm_tools as tools

_DECISION = Decision(Kind.WITHOUT, "correlated-propagation")
_VERSION = "LLVM " + re.findall(r"version ([\d.]+)", tools.tool_version(tools.clang_path()))[0]


@pytest.fixture(name="mine")
def fixture_mine(tmp_path, program):
    """Mines the program on a pool of one process; returns the mine and what it has reported."""

    def mine(version=_VERSION, folder="mine", **settings):
        level = settings.get("objective", SIZE).level
        llvm = Tools.of(tools.clang_path(), tools.opt_path(), level)
        lines: list[str] = []
        session = Mine(
            tmp_path / folder,
            Datasets(),
            Settings([_DECISION], llvm, {version: llvm}, reduce_seconds=1, **settings),
            lines.append,
        )
        with open_pool(limits=Limits(workers=1)) as pool:
            mine_on_pool(session, pool, [program])
        return session, lines

    return mine


def test_findings_of_workers_are_in_the_folder_and_not_mined_again(mine, tmp_path, program):
    session, lines = mine()
    (finding,) = session.findings.all()
    assert (session.verdicts, session.failed) == ({"found": 1}, {})
    assert [each.function for each in finding.members] == ["planted"]
    assert finding.versions == {
        _VERSION: f"{finding.before} bytes, {finding.after} with the decision"
    }
    assert (tmp_path / "mine" / "findings" / finding.name / "check.sh").is_file()
    assert len(lines) == 2

    again, lines = mine()
    assert (again.verdicts, lines) == ({"found": 1}, [])

    # Without a pool, the same work counts as done.
    here = Mine(session.folder, Datasets(), session.settings, lines.append)
    here.run([program], jobs=1)
    assert (here.verdicts, here.table(), lines) == ({"found": 1}, session.table(), [])


def test_nodes_with_another_llvm_do_not_count(mine):
    session, _ = mine(version="LLVM 3.4.0")
    assert (session.scanned, session.verdicts) == ([], {})
    (reason,) = session.failed.values()
    assert "expected LLVM 3.4.0 on every node" in reason


def test_workers_count_instructions(mine):
    session, _ = mine(objective=RUNTIME, per_decision=0)
    (scanned,) = session.scanned
    assert (session.failed, scanned.size > 1000) == ({}, True)


def test_nothing_begins_after_the_time(mine):
    session, lines = mine(seconds=0)
    assert (session.skipped, session.scanned, lines) == (1, [], [])
