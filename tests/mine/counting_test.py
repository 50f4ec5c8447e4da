"""Tests of exact counts of executed instructions, and of comparisons of times."""

import pytest

from compiler_gym.mine.counting import Counter, Counts, Pair, time_verdict
from compiler_gym.mine.decisions import Decision, Kind, Tools
from compiler_gym.util import llvm_tools as tools
from compiler_gym.util.statistics import compare_paired_runtimes

_NO_CHANGE = Decision(Kind.WITHOUT, "memcpyopt")
_STRAIGHT = """
define i32 @f(i32 %x, ptr %place) {
  %value = load i32, ptr %place
  %sum = add i32 %value, %x
  store i32 %sum, ptr %place
  %result = mul i32 %sum, 77
  ret i32 %result
}
"""
_LOOP = """
declare void @unknown(i32)
define void @f() {
entry:
  br label %loop
loop:
  %index = phi i32 [ 0, %entry ], [ %next, %loop ]
  call void @unknown(i32 %index)
  %next = add i32 %index, 1
  %done = icmp eq i32 %next, 1000
  br i1 %done, label %exit, label %loop
exit:
  ret void
}
"""
_PRINTING = """
declare i32 @putchar(i32)
define void @f() {
  %result = call i32 @putchar(i32 49)
  ret void
}
"""
_ENDLESS = "define void @f() {\n  br label %loop\nloop:\n  br label %loop\n}\n"


@pytest.fixture(name="counter")
def fixture_counter(tmp_path):
    def counter(text):
        module = tmp_path / "module.ll"
        module.write_text('target triple = "x86_64-pc-linux-gnu"\n' + text)
        llvm = Tools.of(tools.clang_path(), tools.opt_path(), "-O3")
        return Counter.of(module, "f", tmp_path, llvm)

    return counter


def _instructions(assembly):
    """Returns the mnemonics of assembly."""
    words = (line.split("\t")[1:2] for line in assembly.splitlines() if line.startswith("\t"))
    return [word for (word,) in words if word.isalnum()]


def test_every_instruction_counts_in_each_call(counter):
    found = counter(_STRAIGHT)
    expected = len(_instructions(found.assembly))
    assert expected >= 4
    assert [*found.baseline.steps.values()] == [expected] * 60
    assert counter(_STRAIGHT).baseline == found.baseline


def test_iterations_count_and_called_functions_do_not(counter):
    found = counter(_LOOP)
    before, _, rest = found.assembly.partition("\n.LBB0_1:")
    body = _instructions(rest.partition("jne")[0])
    total = len(_instructions(before)) + 1000 * (len(body) + 1)
    total += len(_instructions(rest.partition("jne")[2]))
    assert {*found.baseline.steps.values()} == {total}


def test_the_output_of_a_function_is_no_result(counter):
    found = counter(_PRINTING)
    assert {*found.baseline.steps} == {str(number) for number in range(60)}


def test_functions_that_do_not_end(counter):
    assert counter(_ENDLESS) is None


def test_an_equal_function_saves_nothing(counter):
    found = counter(_STRAIGHT)
    pair = found.compare(_NO_CHANGE)
    assert (pair.saved, pair.is_equal, len(pair.inputs)) == (0, True, 60)
    assert not pair.is_enough(1)
    assert not found.compare_times(_NO_CHANGE, pair.inputs, pairs=2).startswith("not measured")


def test_savings_that_count():
    numbers = [str(number) for number in range(20)]

    def counts(steps, digest="a"):
        return Counts(dict.fromkeys(numbers, digest), dict.fromkeys(numbers, steps))

    assert Pair.of(counts(100), counts(90)).is_enough(10)
    assert not Pair.of(counts(100), counts(90)).is_enough(11)
    assert not Pair.of(counts(100), counts(90, "b")).is_enough(10)
    few = counts(90).of_inputs(numbers[:9])
    assert not Pair.of(counts(100), few).is_enough(10)


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, "no difference measured"), (1.5, "measured: 1.50 times"), (0.5, "slower: 0.50 times")],
)
def test_times_in_words(factor, verdict):
    after = [1 + number / 1000 for number in range(12)]
    before = [factor * each for each in after]
    assert time_verdict(compare_paired_runtimes(before, after)).startswith(verdict)
