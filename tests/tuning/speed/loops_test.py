"""The passes of the plugin that direct loops, run by opt."""

import json
import re
import subprocess

import pytest

from compiler_gym.util import llvm_tools

MODULE = """
declare void @use(i32)
define void @unoptimised(i32 %n) optnone noinline {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
define void @nested(i32 %n) !prof !0 {
entry:
  br label %outer
outer:
  %i = phi i32 [0, %entry], [%i.next, %latch]
  br label %inner
inner:
  %j = phi i32 [0, %outer], [%j.next, %inner]
  %j.next = add i32 %j, 1
  call void @use(i32 %j)
  %more = icmp slt i32 %j.next, %n
  br i1 %more, label %inner, label %latch, !prof !1
latch:
  %i.next = add i32 %i, 1
  %again = icmp slt i32 %i.next, %n
  br i1 %again, label %outer, label %exit, !prof !1, !llvm.loop !2
exit:
  ret void
}
!0 = !{!"function_entry_count", i64 10}
!1 = !{!"branch_weights", i32 9, i32 1}
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.mustprogress"}
"""


def opt(passes, text=MODULE, check=True):
    plugin = f"-load-pass-plugin={llvm_tools.own_passes_path()}"
    command = [llvm_tools.opt_path(), plugin, f"-passes={passes}", "-S"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=check)


def listed(text):
    lines = opt("list-loops", text).stdout.partition("; ModuleID")[0].splitlines()
    return [*map(json.loads, lines)]


def hints(text):
    """Returns the hints of the branches with metadata, in order."""
    nodes = dict(re.findall(r"^(!\d+) = (?:distinct )?!{(.*)}$", text, re.M))
    found = re.findall(r"br .*!llvm\.loop (!\d+)", text)
    return [[nodes[each] for each in nodes[node].split(", ")[1:]] for node in found]


def test_loops_are_listed_with_their_work():
    outer, inner = listed(MODULE)
    assert outer == {
        **{"index": 0, "function": "nested", "depth": 1, "innermost": False},
        # Two instructions of the header, and three of the latch, for each of 10 * 10 iterations.
        **{"count": 100, "work": 500},
    }
    assert inner == {
        **{"index": 1, "function": "nested", "depth": 2, "innermost": True},
        **{"count": 1000, "work": 5000},
    }


def test_without_a_profile_there_are_no_counts():
    outer, inner = listed(MODULE.replace("!prof !0", ""))
    assert {*outer} == {*inner} == {"index", "function", "depth", "innermost"}


def test_hints_are_added_to_loops():
    mustprogress = '!"llvm.loop.mustprogress"'
    inner, outer = hints(
        opt("set-loops<0=unroll.disable;1=unroll.count:4+vectorize.disable>").stdout
    )
    assert outer == [mustprogress, '!"llvm.loop.unroll.disable"']
    assert inner == ['!"llvm.loop.unroll.count", i32 4', '!"llvm.loop.vectorize.enable", i1 false']
    (inner,) = hints(opt("set-loops<1=interleave.count:2>").stdout)[:1]
    assert inner == ['!"llvm.loop.interleave.count", i32 2']


def test_hints_are_heeded():
    code = opt("set-loops<1=unroll.count:4>,function(loop-unroll)").stdout
    assert code.count("call void @use") == 4 + 1  # One is in the loop for the rest.
    assert opt("function(loop-unroll)").stdout.count("call void @use") == 1


@pytest.mark.parametrize(
    "hint",
    # Vectors of a certain width would permit to reorder floating-point arithmetic.
    ["vectorize.width:4", "vectorize.enable", "unroll.count:0", "unroll.count", "other", ""],
)
def test_unknown_hints_are_errors(hint):
    assert opt(f"set-loops<0={hint}>", check=False).returncode


def test_unknown_loops_are_errors():
    done = opt("set-loops<2=unroll.disable>", check=False)
    assert done.returncode and "There is no loop 2 in" in done.stderr
