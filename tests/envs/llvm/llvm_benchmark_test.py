import re
import subprocess

import pytest

from compiler_gym.envs.llvm.benchmarks.own_programs import (
    make_benchmark,
    make_benchmark_from_source,
)
from compiler_gym.envs.llvm.datasets import LlvmDatasets
from compiler_gym.errors import BenchmarkInitError
from tests.envs.llvm.tool_output import ir_of

MAIN = "int f(void);\nint main(void) { return f(); }\n"


@pytest.fixture
def main_c(tmp_path):
    path = tmp_path / "main.c"
    path.write_text(MAIN)
    return path


def test_c_file(main_c):
    benchmark = make_benchmark(main_c)
    assert re.fullmatch("benchmark://user-v0/main-[0-9a-f]{16}", str(benchmark.uri))
    ir = ir_of(benchmark)
    assert "define dso_local i32 @main" in ir and "alloca i32" in ir
    assert "noinline" not in ir and "optnone" not in ir
    assert benchmark.sources == [("main.c", MAIN.encode())]


def test_the_same_program_has_the_same_uri_elsewhere(main_c, tmp_path):
    elsewhere = tmp_path / "elsewhere" / "main.c"
    elsewhere.parent.mkdir()
    elsewhere.write_text(MAIN)
    assert make_benchmark(main_c).uri == make_benchmark(elsewhere).uri
    assert make_benchmark(main_c).uri != make_benchmark(main_c, copt=["-g"]).uri
    elsewhere.write_text(MAIN.replace("f", "g"))
    assert make_benchmark(main_c).uri != make_benchmark(elsewhere).uri
    assert make_benchmark_from_source(MAIN, lang="c").uri.path.startswith("/source-")


def test_bitcode_file_is_taken_as_it_is(tmp_path):
    path = tmp_path / "a file.bc"
    path.write_bytes(b"BC\xc0\xdeanything")
    benchmark = make_benchmark(path)
    assert str(benchmark.uri) == f"benchmark://file-v0{tmp_path}/a%20file.bc"
    assert benchmark.proto.program.contents == path.read_bytes()


def test_programs_that_clang_refuses(tmp_path, main_c):
    (tmp_path / "a.c").write_text("int main(void) { return undeclared; }")
    with pytest.raises(BenchmarkInitError, match="'undeclared'"):
        make_benchmark(tmp_path / "a.c")
    (tmp_path / "other.c").write_text("int main(void) { return 0; }")
    with pytest.raises(BenchmarkInitError, match="multiply defined"):
        make_benchmark([main_c, tmp_path / "other.c"])
    with pytest.raises(BenchmarkInitError, match="<stdin>:1:5: error"):
        make_benchmark_from_source("int;}", lang="c")


# A constant of LLVM 18, and the same in a string and in a comment.
OLD_TEXT = """\
@table = constant { [3 x ptr] } zeroinitializer
; ", inrange i32 0
@text = constant [15 x i8] c", inrange i32 0"
@entry = global ptr getelementptr ({ [3 x ptr] }, ptr @table, i32 0, inrange i32 0, i32 2)
"""


def test_text_of_llvm_18_is_read_without_inrange(tmp_path):
    path = tmp_path / "old.ll"
    path.write_text(OLD_TEXT)
    ir = ir_of(make_benchmark(path))
    assert "getelementptr ({ [3 x ptr] }, ptr @table, i32 0, i32 0, i32 2)" in ir
    assert 'c", inrange i32 0"' in ir
    benchmark = LlvmDatasets().benchmark(path.as_uri())
    assert str(benchmark.uri) == path.as_uri()
    assert b" @table, i32 0,         i32 0," in benchmark.proto.program.contents


def test_no_advice_for_wrong_text(tmp_path):
    path = tmp_path / "wrong.ll"
    path.write_text(
        "define i32 @f() {\n  %a = add i32 %b, 1\n  %b = add i32 1, 1\n  ret i32 %b\n}\n"
    )
    with pytest.raises(BenchmarkInitError, match="does not dominate"):
        make_benchmark(path)


def test_timeout(main_c):
    with pytest.raises(subprocess.TimeoutExpired):
        make_benchmark(main_c, timeout=1e-6)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ([], ValueError, "No inputs"),
        ("missing.c", FileNotFoundError, r"No such file: 'missing\.c'"),
        ("program.txt", ValueError, r"Cannot tell the kind of 'program\.txt'"),
        ([1], TypeError, "must be a path or a ClangInvocation, not int"),
        ([None], TypeError, "not NoneType"),
    ],
)
def test_bad_inputs(inputs, error, message):
    with pytest.raises(error, match=message):
        make_benchmark(inputs)


def test_from_source():
    source = "template<typename T> T f(T x) { return x; }\nint g() { return f(1); }\n"
    benchmark = make_benchmark_from_source(source)
    assert "@_Z1gv" in ir_of(benchmark)
    assert str(benchmark.uri).startswith("benchmark://user-v0/")
    assert benchmark.sources == [("source.cc", source.encode())]
