"""Tests of the checks: savings that come from undefined behaviour, and wrong results."""

import platform

import pytest

from compiler_gym.mine.checks import check, compare_results, reference_results, why_undefined
from compiler_gym.mine.decisions import Decision, Kind, Tools, compile_with
from compiler_gym.mine.harness import INPUTS, NoHarnessError, read_results, write_harness
from compiler_gym.mine.objective import Trial
from compiler_gym.mine.size import SIZE
from compiler_gym.util import llvm_tools as tools

_HEAD = 'target triple = "x86_64-pc-linux-gnu"\n'
_CALLER = """
@table = external global [4 x i32]
declare i32 @unknown(i32, ptr)
define i32 @caller(i32 %x, ptr %place) {
  %first = load i32, ptr %place
  %sum = add i32 %first, STEP
  store i32 %sum, ptr @table
  %result = call i32 @unknown(i32 %sum, ptr %place)
  %product = mul i32 %result, %x
  ret i32 %product
}
"""


@pytest.fixture(name="compiled")
def fixture_compiled(tmp_path):
    """Compiles textual IR with ``clang -Oz``; returns the IR and the object file."""

    def compiled(name, text):
        source, output = tmp_path / f"{name}.ll", tmp_path / f"{name}.o"
        source.write_text(_HEAD + text)
        llvm = Tools.of(tools.clang_path(), tools.opt_path())
        assert compile_with(None, source, output, llvm)
        return source, output

    return compiled


@pytest.mark.parametrize(("step", "verdict"), [("7", "equal"), ("8", "differs")])
def test_results_of_calls_and_memory(tmp_path, compiled, step, verdict):
    source, before = compiled("before", _CALLER.replace("STEP", "7"))
    _, after = compiled("after", _CALLER.replace("STEP", step))
    assert compare_results(source, "caller", before, after, tmp_path).startswith(verdict)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("  %a = add i32 %b, undef", "undefined behaviour"),
        ("  store i32 poison, ptr %p", "undefined behaviour"),
        ("  %a = load i32, ptr null", "undefined behaviour"),
        ("  %a = fadd fast double %b, %c", "fast-math"),
        ("  %a = fmul nnan float %b, %c", "fast-math"),
    ],
)
def test_ir_without_a_meaning_does_not_count(line, why):
    assert why_undefined(line).startswith(why)


@pytest.mark.parametrize(
    "line", ["define i32 @undef(i32 noundef %poison) {", "  %a = fadd double %b, %c", "; undef"]
)
def test_other_ir_counts(line):
    assert why_undefined(line) == ""


def test_a_saving_by_undefined_behaviour_is_bogus(tmp_path):
    module = tmp_path / "module.ll"
    module.write_text(
        _HEAD + "define i32 @f(i32 %x) minsize optsize {\n  %y = sdiv i32 %x, 0\n  ret i32 %y\n}\n"
    )
    llvm = Tools.of(tools.clang_path(), tools.opt_path())
    decision = Decision(Kind.WITHOUT, "instcombine")
    verdict = check(SIZE, Trial(module, "f", decision, 4, llvm, tmp_path))
    assert "undefined behaviour" in verdict.bogus


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("define <4 x i32> @f(<4 x i32> %x) {\n", "the type"),
        ("define void @f(ptr byval(i32) %x) {\n", "special way"),
        ("define void @f() {\n  ret void\n}\ndeclare void @g(...)\n", "parameters are not known"),
        ("define void @f() {\n  ret void\n}\ndeclare i32 @fork()\n", "cannot be replaced"),
        ("define void @g() {\n", "does not define f"),
    ],
)
def test_functions_that_cannot_be_called(text, why):
    with pytest.raises(NoHarnessError, match=why):
        write_harness(text, "f")


_DANGEROUS = """
@path = private constant [PLACES x i8] c"PATH\\00"
@stdout = external global ptr
declare i32 @unlink(ptr)
declare i32 @remove(ptr)
declare i32 @kill(i32, i32)
declare i32 @system(ptr)
declare i32 @printf(ptr, ...)
declare i64 @strlen(ptr)
declare void @exit(i32) noreturn
define i64 @f(i32 %x) {
  %1 = call i32 @unlink(ptr @path)
  %2 = call i32 @remove(ptr @path)
  %3 = call i32 @system(ptr @path)
  %4 = call i32 @kill(i32 -1, i32 9)
  %5 = call i32 (ptr, ...) @printf(ptr @path, i32 %x)
  %6 = call i64 @strlen(ptr @path)
  store i64 %6, ptr @stdout
  %7 = icmp sgt i32 %x, 3
  br i1 %7, label %end, label %rest
end:
  call void @exit(i32 5)
  unreachable
rest:
  ret i64 %6
}
"""


def test_only_pure_functions_of_libc_are_called(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    module = tmp_path / "module.ll"
    text = _DANGEROUS.replace("PLACES", str(len(str(victim)) + 1)).replace("PATH", str(victim))
    module.write_text(_HEAD + text)
    assert 'strlen"' not in write_harness(module.read_text(), "f")
    results, _ = reference_results(module, "f", tmp_path)
    assert victim.read_text() == "precious"
    assert len(results) == INPUTS
    assert all(each.is_defined for each in results.values())
    assert len({each.text for each in results.values()}) > 2


_ESCAPING = """
define i32 @f(i32 %x) {
  %1 = call i64 asm sideeffect "syscall", "={rax},{rax},{rdi},~{rcx},~{r11}"(i64 87, ptr @path)
  %2 = trunc i64 %1 to i32
  ret i32 %2
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="has system calls of x86-64")
def test_harnesses_are_confined(tmp_path):
    """A function that makes system calls itself removes nothing."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    module = tmp_path / "module.ll"
    path = f'@path = private constant [{len(str(victim)) + 1} x i8] c"{victim}\\00"\n'
    module.write_text(_HEAD + path + _ESCAPING)
    results, _ = reference_results(module, "f", tmp_path)
    assert victim.read_text() == "precious"
    assert len(results) == INPUTS


def test_output_of_the_function_is_no_result():
    printed = "0 00000000000000ff 12\n1 ended with 11\nhello world 3\n\xff\n2 takes too long\n"
    results = {
        number: (each.text, each.cost, each.is_defined)
        for number, each in read_results(printed).items()
    }
    assert results == {
        "0": ("00000000000000ff", 12, True),
        "1": ("ended with 11", 0, False),
        "2": ("takes too long", 0, False),
    }
