"""Mines on the workers of a pool, as on the nodes of a cluster."""

import re

from compiler_gym.datasets import Datasets
from compiler_gym.mine.miner import Mine
from compiler_gym.mine.runtime import RUNTIME
from compiler_gym.util import llvm_tools as tools

_VERSION = "LLVM " + re.findall(r"version ([\d.]+)", tools.tool_version(tools.clang_path()))[0]


def test_findings_of_workers_are_in_the_folder_and_not_mined_again(mine, tmp_path, program):
    session, lines = mine(version=_VERSION, on_pool=True)
    (finding,) = session.findings.all()
    assert (session.verdicts, session.failed) == ({"found": 1}, {})
    assert [each.function for each in finding.members] == ["planted"]
    assert {*finding.versions} == {_VERSION}
    assert (tmp_path / "mine" / "findings" / finding.name / "check.sh").is_file()
    assert len(lines) == 2

    again, lines = mine(version=_VERSION, on_pool=True)
    assert (again.verdicts, lines) == ({"found": 1}, [])

    # Without a pool, the same work counts as done.
    here = Mine(session.folder, Datasets(), session.settings, lines.append)
    here.run([program], jobs=1)
    assert (here.verdicts, here.table(), lines) == ({"found": 1}, session.table(), [])


def test_nodes_with_another_llvm_do_not_count(mine):
    session, _ = mine(version="LLVM 3.4.0", on_pool=True)
    assert (session.scanned, session.verdicts) == ([], {})
    (reason,) = session.failed.values()
    assert "expected LLVM 3.4.0 on every node" in reason


def test_workers_count_instructions(mine):
    session, _ = mine(version=_VERSION, on_pool=True, objective=RUNTIME, per_decision=0)
    (scanned,) = session.scanned
    assert (session.failed, scanned.size > 1000) == ({}, True)


def test_nothing_begins_after_the_time(mine):
    session, lines = mine(version=_VERSION, on_pool=True, seconds=0)
    assert (session.skipped, session.scanned, lines) == (1, [], [])
