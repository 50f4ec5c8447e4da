"""Numbers of values in one version of a program, by those in another."""

import re

import pytest

import compiler_gym
from compiler_gym.envs.llvm.display import renumbered

BEFORE = """\
define i32 @f(i32 %0, i32 %1) #1 {
  %3 = zext i1 true to i32
  %4 = add i32 %0, %1
  br label %5

5:                                                ; preds = %2
  %6 = mul i32 %4, %3
  ret i32 %6, !tbaa !2
}
attributes #0 = { nounwind }
attributes #1 = { cold }
!1 = !{!"gone"}
!2 = !{!"kept"}"""

AFTER = """\
define i32 @f(i32 %0, i32 %1) #0 {
  %3 = add i32 %1, %0
  br label %4

4:                                                ; preds = %2
  %5 = mul i32 %3, 1
  ret i32 %5, !tbaa !0
}
attributes #0 = { cold }
!0 = !{!"kept"}"""

EXPECTED = """\
define i32 @f(i32 %0, i32 %1) #0 {
  %old3 = zext i1 true to i32
  %3 = add i32 %0, %1
  br label %4

4:                                                ; preds = %2
  %old6 = mul i32 %3, %old3
  ret i32 %old6, !tbaa !0
}
attributes #0 = { nounwind }
attributes #0 = { cold }
!1 = !{!"gone"}
!0 = !{!"kept"}"""


def test_example():
    assert renumbered(BEFORE, AFTER) == EXPECTED


LOOPS = """\
define void @f(i1 %0) {
  br label %2

2:
  br i1 %0, label %2, label %3, !llvm.loop !1
3:
  ret void
}
define void @g(i1 %0) {
  br label %2

2:
  br i1 %0, label %2, label %3, !llvm.loop !2
3:
  ret void
}
!1 = distinct !{!1, !0}
!2 = distinct !{!2, !0}
!0 = !{!"llvm.loop.mustprogress"}"""


def test_nodes_that_look_alike_are_those_of_the_lines_that_use_them():
    start = LOOPS.index("define void @g")
    only_g = "define void @f(i1 %0) {\n  ret void\n}\n" + LOOPS[start:]
    only_g = only_g.replace("!1 = distinct !{!1, !0}\n", "").replace("!2", "!1")
    assert only_g[only_g.index("define void @g") :].partition("}")[0] in renumbered(LOOPS, only_g)


def test_removed_and_added_functions():
    assert renumbered(BEFORE, BEFORE) == BEFORE
    assert renumbered("", "") == ""
    text = "define void @g() {\n  %1 = load ptr, ptr @x\n  ret void\n}"
    assert renumbered(text, BEFORE).count("%old1") == 1
    assert renumbered(BEFORE, text).count("%old3") == 2


@pytest.mark.parametrize("action", ["reassociate", "simplifycfg", "gvn", "inline", "mergefunc"])
def test_only_names_change(action):
    """Values that were different stay so, and all else is as it was."""
    with compiler_gym.make("llvm-v0", benchmark="benchmark://kernels-v0/lzss") as env:
        env.reset()
        env.step("sroa")
        before = env.ir
        env.step(action)
        result = renumbered(before, env.ir)
    value = re.compile(r"%(?:old)?\d+|^(?:old)?\d+(?=:)|(?<=[!#])\d+", re.M)
    assert value.sub("%", result) == value.sub("%", before).rstrip("\n")
    for old, new in zip(before.split("\n}\n"), result.split("\n}\n"), strict=True):
        names = {}
        pairs = zip(re.findall(r"%\d+", old), re.findall(r"%(?:old)?\d+", new), strict=True)
        for old_name, new_name in pairs:
            assert names.setdefault(old_name, new_name) == new_name
        assert len(set(names.values())) == len(names)
