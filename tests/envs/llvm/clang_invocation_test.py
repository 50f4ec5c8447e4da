from pathlib import Path

import pytest

from compiler_gym.envs.llvm.benchmarks.bitcode import ClangInvocation, compile_source, make_bitcode
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.util import llvm_tools
from tests.envs.llvm.tool_output import ir_of


def test_command():
    command = ClangInvocation.from_c_file(Path("a.c"), copt=["-DX"]).command(Path("b.bc"))
    assert command == [
        *(str(llvm_tools.clang_path()), "-O2", "-Xclang", "-disable-llvm-passes", "-DX", "a.c"),
        *("-c", "-emit-llvm", "-o", "b.bc"),
    ]
    options = ClangInvocation.DEFAULT_COPT
    assert ClangInvocation([*options, "-DX", "a.c"]).command(Path("b.bc")) == command
    assert ClangInvocation(["a.c"], driver="mine").command(Path("b.bc"))[:2] == ["mine", "a.c"]


def test_without_system_includes(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("#include <stdio.h>\n")
    compile_source(ClangInvocation.from_c_file(source), tmp_path / "a.bc")
    invocation = ClangInvocation.from_c_file(source, system_includes=False)
    with pytest.raises(BenchmarkInitError, match=r"stdio\.h"):
        compile_source(invocation, tmp_path / "b.bc")


def test_make_bitcode_links_all_kinds_of_inputs(tmp_path):
    (tmp_path / "a.c").write_text("int b(void); int c(void); int main(void) { return b() + c(); }")
    (tmp_path / "b.ll").write_text("define i32 @b() {\n  ret i32 1\n}\n")
    (tmp_path / "c.c").write_text("int c(void) { return -1; }")
    compile_source(ClangInvocation.from_c_file(tmp_path / "c.c"), tmp_path / "c.bc")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    inputs = [ClangInvocation.from_c_file(tmp_path / "a.c"), tmp_path / "b.ll", tmp_path / "c.bc"]
    ir = ir_of(make_bitcode(inputs, scratch, timeout=60))
    for function in ("@main", "@b", "@c"):
        assert f"define {'dso_local ' if function != '@b' else ''}i32 {function}(" in ir
