"""Mines a program in which one pass makes the code larger."""

import subprocess
from dataclasses import replace

from compiler_gym.mine import miner
from compiler_gym.mine.decisions import Decision, Kind
from compiler_gym.mine.findings import shape_of
from tests.mine.conftest import DECISION


def test_a_planted_saving_is_found_and_not_mined_again(tmp_path, mine):
    session, lines = mine()
    assert session.verdicts == {"found": 1}
    (finding,) = session.findings.all()
    assert finding.before - finding.after >= 4
    assert [each.function for each in finding.members] == ["planted"]
    (row,) = session.table()
    assert (row.decision, row.files, row.functions, row.findings) == (DECISION.title, 1, 1, 1)
    assert len(lines) == 2

    folder = tmp_path / "mine" / "findings" / finding.name
    assert (
        "clang -Oz -mllvm -opt-disable=correlated-propagation" in (folder / "README.md").read_text()
    )
    shown = subprocess.run([folder / "check.sh"], capture_output=True, text=True, check=True)
    assert f"clang -Oz: {finding.before} bytes" in shown.stdout

    again, lines = mine()
    assert (again.verdicts, lines) == ({"found": 1}, [])
    assert again.findings.all() == [finding]


def test_a_decision_without_effect_finds_nothing(mine):
    session, _ = mine(Decision(Kind.WITHOUT, "memcpyopt"))
    assert (session.table(), session.findings.all()) == ([], [])
    assert [each.program.endswith("planted.c") for each in session.scanned] == [True]


def test_a_program_that_takes_too_long_does_not_end_the_mine(mine, program, monkeypatch):
    scan = miner.scan_unit

    def scan_quickly(name, *arguments):
        if name != program.name:
            raise subprocess.TimeoutExpired("clang", 60)
        return scan(name, *arguments)

    monkeypatch.setattr(miner, "scan_unit", scan_quickly)
    programs = [replace(program, name="slow"), replace(program, name="gone.c", source=None)]
    session, _ = mine(programs=[*programs, program], per_decision=0)
    assert [each.program for each in session.scanned] == [program.name]
    assert "TimeoutExpired: Command 'clang' timed out" in session.failed["slow"]
    assert "gone.c" in session.failed["gone.c"]


def test_nothing_begins_after_the_time(mine):
    session, _ = mine(seconds=0)
    assert (session.skipped, session.scanned) == (1, [])
    mine(per_decision=0)
    session, _ = mine(seconds=0)
    assert session.table()
    assert not session.verdicts


def test_shapes_ignore_names_types_and_order():
    first = (
        "define i32 @f(i32 %x) {\n  %a = add i32 %x, 1\n  %b = icmp eq i32 %a, 0\n  ret i32 %a\n}"
    )
    second = (
        "define i64 @g(i64 %y) {\n  %1 = icmp eq i64 %y, 0\n  %2 = add i64 %y, 9\n  ret i64 %2\n}"
    )
    assert shape_of(first) == shape_of(second) == "add, icmp eq, ret"
    assert shape_of(first.replace("icmp eq", "icmp ne")) != shape_of(first)
