"""Tests of the classification of opt's messages."""

import pytest

from compiler_gym.envs.llvm.benchmarks.bitcode import assemble
from compiler_gym.hunt.failures import (
    Kind,
    RefusedError,
    compare_results,
    failure_of,
)

_STACK = """\
PLEASE submit a bug report
Stack dump:
0.	Program arguments: opt-22 -passes=module(function(unify-loop-exits)) json.bc
1.	Running pass "function(unify-loop-exits)" on module "json.bc"
2.	Running pass "unify-loop-exits" on function "main"
"""
_SYMBOLS = """\
 #0 0x00007f614ccb8786 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) (/lib/L.so.22.1+0x4e)
 #1 0x00007f614ccb5fd3 llvm::sys::RunSignalHandlers() (/usr/lib/L.so.22.1+0x4eb5fd3)
 #2 0x00007f614ccb94f4 (/usr/lib/llvm-22/bin/../lib/libLLVM.so.22.1+0x4eb94f4)
 #3 0x00007f6147c5a050 (/lib/x86_64-linux-gnu/libc.so.6+0x3c050)
 #4 0x00007f614db5f42d (/usr/lib/llvm-22/bin/../lib/libLLVM.so.22.1+0x5d5f42d)
 #5 0x00007f614db5f092 llvm::UnifyLoopExitsPass::run(llvm::Function&, llvm::A<llvm::F>&) (/L.so+1)
 #6 0x00007f614ce62957 llvm::PassManager<llvm::F, llvm::A<llvm::F> >::run(llvm::F&) (/L.so+0x50)
"""
_NO_SYMBOLS = """\
0  libLLVM.so.22.1 0x00007fa8742b8786 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) + 54
1  libLLVM.so.22.1 0x00007fa8742b5fd3 llvm::sys::RunSignalHandlers() + 131
2  libLLVM.so.22.1 0x00007fa8742b94f4
3  libc.so.6       0x00007fa86f25a050
4  libLLVM.so.22.1 0x00007fa87515f42d
5  libLLVM.so.22.1 0x00007fa87515f092 llvm::UnifyLoopExitsPass::run(llvm::F&, llvm::A<llvm::F>) + 66
6  libLLVM.so.22.1 0x00007fa874462957 llvm::PassManager<llvm::F, llvm::A<llvm::F>>::run() + 327
"""


@pytest.mark.parametrize("frames", [_SYMBOLS, _NO_SYMBOLS])
def test_a_crash_is_known_by_pass_and_function(frames):
    failure = failure_of(-11, _STACK + frames)
    assert failure.kind is Kind.CRASH
    assert (failure.guilty, failure.where) == ("unify-loop-exits", "llvm::UnifyLoopExitsPass::run")


@pytest.mark.parametrize(
    ("code", "messages", "kind", "guilty", "where"),
    [
        (139, _STACK, Kind.CRASH, "unify-loop-exits", ""),
        (1, "LLVM ERROR: Cannot select %llvm.x\n", Kind.CRASH, "", "Cannot select"),
        (
            134,
            "PHI node operands are not the same type as the result!\n  %phi = phi i32\n"
            'LLVM ERROR: Broken function found after pass "GVNPass", compilation aborted!\n'
            '2.\tRunning pass "gvn<no-pre>" on function "main"\n',
            Kind.BROKEN_MODULE,
            "gvn",
            "PHI node operands are not the same type as the result!",
        ),
        (-24, _STACK, Kind.HANG, "unify-loop-exits", ""),
        (134, "LLVM ERROR: out of memory\n", Kind.OUT_OF_MEMORY, "", ""),
    ],
)
def test_a_failure_is_known_by_its_messages(code, messages, kind, guilty, where):
    failure = failure_of(code, messages)
    assert (failure.kind, failure.guilty, failure.where) == (kind, guilty, where)


def test_a_refusal_is_no_failure():
    with pytest.raises(RefusedError, match="unknown pass name 'x'"):
        failure_of(1, "opt: unknown pass name 'x'\n")


_MODULE = """
source_filename = "module"
define i32 @f(i32 %0) {{
  %2 = add i32 %0, 1
  %3 = mul i32 %0, {factor}
  %4 = add i32 %2, %3
  ret i32 %4
  {order}
}}
"""


@pytest.mark.parametrize(
    ("factor", "order", "kind"),
    [
        (2, "", None),
        (2, "uselistorder i32 %0, { 1, 0 }", Kind.UNSTABLE_USES),
        (3, "", Kind.UNSTABLE),
    ],
)
def test_results_are_compared(tmp_path, factor, order, kind):
    paths = []
    for number, text in enumerate(
        [_MODULE.format(factor=2, order=""), _MODULE.format(factor=factor, order=order)]
    ):
        path = tmp_path / f"{number}.ll"
        path.write_text(text)
        assemble(path, path.with_suffix(".bc"), timeout=60)
        paths.append(path.with_suffix(".bc"))
    failure = compare_results(*paths)
    assert (failure and failure.kind) is kind
