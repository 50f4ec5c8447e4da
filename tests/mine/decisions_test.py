"""Tests of single decisions and the commands that make them."""

from compiler_gym.datasets import Datasets
from compiler_gym.mine.decisions import (
    Decision,
    Kind,
    Tools,
    baseline_command,
    known_decisions,
    known_speed_decisions,
    measure,
    scan,
)
from compiler_gym.util import llvm_tools as tools

_LOOP = """
define i32 @sum(ptr %values, i32 %count) #0 {
entry:
  br label %loop
loop:
  %index = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %place = getelementptr i32, ptr %values, i32 %index
  %value = load i32, ptr %place
  %more = add i32 %sum, %value
  %next = add i32 %index, 1
  %done = icmp eq i32 %next, %count
  br i1 %done, label %exit, label %loop
exit:
  ret i32 %more
}
attributes #0 = { minsize optsize }
"""


def test_every_kind_has_the_commands_of_a_stock_llvm():
    llvm = Tools("clang", "opt")
    assert baseline_command("a.ll", "a.o", llvm) == "clang -Oz -c a.ll -o a.o"
    commands = {kind: Decision(kind, "x").command("a.ll", "a.o", llvm) for kind in Kind}
    assert commands == {
        Kind.OPTION: "clang -Oz -mllvm x -c a.ll -o a.o",
        Kind.WITHOUT: "clang -Oz -mllvm -opt-disable=x -c a.ll -o a.o",
        Kind.BEFORE: "opt -passes='function(x)' a.ll | clang -Oz -x ir -c - -o a.o",
        Kind.AFTER: "clang -Oz -emit-llvm -c a.ll -o - | opt -passes='function(x)' | "
        "clang -Oz -Xclang -disable-llvm-passes -x ir -c - -o a.o",
    }


def test_llvm_takes_one_of_each_kind(tmp_path):
    source = tmp_path / "loop.ll"
    source.write_text(_LOOP)
    llvm = Tools.of(tools.clang_path(), tools.opt_path())
    first = {each.kind: each for each in reversed(known_decisions())}
    assert {*first} == {*Kind}
    for each in first.values():
        assert measure(each, source, tmp_path, llvm), each
        assert "-Oz" not in each.command("a.ll", "a.o", Tools(level="-O3"))


def test_scans_measure_what_the_commands_make(tmp_path, program):
    source = program.write(Datasets(), tmp_path)
    llvm = Tools.of(tools.clang_path(), tools.opt_path())
    before, effects = scan(source, known_decisions(), tmp_path, llvm)
    assert effects
    found = {each.decision: each for each in effects}
    for decision in known_decisions():
        after = measure(decision, source, tmp_path, llvm)
        assert after, decision
        saved = before.text - after.text
        assert (found[decision].net == saved) if decision in found else saved <= 0, decision


def test_titles_are_unique():
    for decisions in (known_decisions(), known_speed_decisions()):
        titles = [each.title for each in decisions]
        assert len({*titles}) == len(titles)
