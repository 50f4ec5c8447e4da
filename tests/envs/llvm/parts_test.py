import subprocess

import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.envs.llvm import (
    make_benchmark_from_source,
    merge_benchmarks,
    split_benchmark_by_function,
)
from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.util import llvm_tools
from tests.envs.llvm.tool_output import ir_of

SOURCE = """
#include <stdio.h>
static const char *const words[] = {"two", "one"};
static int calls;
static int twice(int x) { calls++; return 2 * x; }
int square(int x) { return x * x; }
int main(int argc, char **argv) {
  printf("%s %d %d\\n", words[argc & 1], square(twice(argc)), calls);
  return 0;
}
"""


@pytest.fixture(scope="module")
def program():
    return make_benchmark_from_source(SOURCE, lang="c")


def assembled(ir: str) -> Benchmark:
    bitcode = run_tool([llvm_tools.llvm_as_path(), "-", "-o", "-"], timeout=60, stdin=ir.encode())
    return Benchmark.from_file_contents("benchmark://user-v0/assembled", bitcode)


def defined_functions(benchmark):
    lines = ir_of(benchmark).splitlines()
    return [line.split("@")[1].split("(")[0] for line in lines if line.startswith("define ")]


def test_split(program):
    parts = split_benchmark_by_function(program)
    assert [defined_functions(part) for part in parts] == [["square"], ["main"], ["twice"], []]
    assert [str(part.uri) for part in parts] == [f"{program.uri}?function={i}" for i in range(4)]
    assert "one" in ir_of(parts[-1])
    assert all("one" not in ir_of(part) for part in parts[:-1])
    assert parts[0].sources == program.sources


def test_split_keeps_other_parameters(program):
    uri = "benchmark://mine-v0/program?dataset=1"
    named = Benchmark.from_file_contents(uri, program.proto.program.contents)
    assert split_benchmark_by_function(named)[0].uri.params == {"dataset": ["1"], "function": ["0"]}


def test_some_functions(program):
    parts = split_benchmark_by_function(program, maximum_function_count=2)
    everything = split_benchmark_by_function(program)
    assert [defined_functions(part) for part in parts] == [
        *(defined_functions(part) for part in everything[:2]),
        [],
    ]
    with pytest.raises(ValueError, match="got -1"):
        split_benchmark_by_function(program, -1)


@pytest.mark.parametrize(
    ("variable", "is_part"),
    [
        ("@x = external global i32\n@y = extern_weak global i32", False),
        ("declare void @g()", False),
        ("@x = global i32 1", True),
        ('@x = private unnamed_addr constant [2 x i8] c"a\\00", align 1', True),
        ('@"a name" = internal global i32 0', True),
        ("@x = dso_local local_unnamed_addr global ptr @f", True),
        ("@0 = private constant i32 7", True),
    ],
)
def test_variables_are_a_part_and_declarations_are_not(variable, is_part):
    program = assembled(f"{variable}\ndefine ptr @f() {{\n  ret ptr null\n}}\n")
    parts = split_benchmark_by_function(program)
    assert [defined_functions(part) for part in parts] == [["f"], []][: 1 + is_part]
    assert defined_functions(merge_benchmarks(parts)) == ["f"]


def test_quoted_and_empty_names():
    ir = (
        'define i32 @"a \\22quoted\\22 name"() {\n  %x = call i32 @0()\n  ret i32 %x\n}\n'
        "define internal i32 @0() {\n  ret i32 1\n}\n"
    )
    parts = split_benchmark_by_function(assembled(ir))
    assert len(parts) == 2
    merged = ir_of(merge_benchmarks(parts))
    assert 'define i32 @"a \\22quoted\\22 name"()' in merged
    assert merged.count("define ") == 2


def test_an_alias_is_where_its_function_is():
    program = assembled(
        "@x = global i32 1\n@y = alias i32, ptr @x\n"
        '@"g 1" = alias i32 (), ptr @f\n@g2 = internal alias i32 (), ptr @"g 1"\n'
        "define i32 @f() {\n  ret i32 1\n}\n"
        'define i32 @h() {\n  %a = call i32 @"g 1"()\n  %b = call i32 @g2()\n'
        "  %c = load i32, ptr @y\n  %d = add i32 %a, %b\n  %e = add i32 %c, %d\n  ret i32 %e\n}\n"
    )
    parts = [ir_of(part) for part in split_benchmark_by_function(program)]
    assert len(parts) == 3
    has_alias = [[f"@{name} =" in part for part in parts] for name in ('"g 1"', "g2", "y")]
    assert has_alias[0] == has_alias[1] == [True, False, False]
    assert "@y = alias" in parts[2]
    merged = ir_of(merge_benchmarks(split_benchmark_by_function(program)))
    assert merged.count(" alias ") == 3


def test_cxx_program_with_everything(env):
    source = """
    inline int counter() { static int n; return ++n; }
    struct A { virtual int v() { return counter(); } virtual ~A() {} };
    A global;
    int f(A *a) { return a->v(); }
    int main() { A a; return f(&a) + f(&global) == 3 ? 0 : 1; }
    """
    program = make_benchmark_from_source(source)
    parts = split_benchmark_by_function(program)
    for part in parts:
        env.reset(benchmark=part)  # Which checks that it is valid.
    counts = []
    for benchmark in (program, merge_benchmarks(parts)):
        env.reset(benchmark=benchmark)
        counts.append(env.observation["IrInstructionCount"])
    assert counts[0] == counts[1]


def test_programs_without_parts():
    with pytest.raises(ValueError, match="no function"):
        split_benchmark_by_function(assembled("@x = global i32 1\n"))
    with pytest.raises(BenchmarkInitError):
        split_benchmark_by_function(Benchmark.from_file_contents("benchmark://a-v0/b", b"x"))


@pytest.mark.parametrize("is_encoded", [True, False])
def test_program_in_a_file(program, tmp_path, is_encoded):
    path = tmp_path / "a program #1 of 100%25?.bc"
    path.write_bytes(program.proto.program.contents)
    uri = path.as_uri() if is_encoded else f"file://{path}"
    proto = BenchmarkProto(uri="benchmark://mine-v0/a", program=File(uri=uri))
    assert len(split_benchmark_by_function(Benchmark(proto))) == 4
    path.unlink()
    with pytest.raises(BenchmarkInitError, match="benchmark://mine"):
        split_benchmark_by_function(Benchmark(proto))


def test_merged_parts_are_the_program(program, env, tmp_path):
    merged = merge_benchmarks(split_benchmark_by_function(program))
    assert sorted(defined_functions(merged)) == ["main", "square", "twice"]
    assert str(merged.uri).startswith("benchmark://llvm-link-v0/")
    assert merged == merge_benchmarks(split_benchmark_by_function(program))
    counts = []
    for benchmark in (program, merged):
        env.reset(benchmark=benchmark)
        counts.append(env.observation["IrInstructionCount"])
    assert counts[0] == counts[1]

    bitcode, binary = tmp_path / "merged.bc", tmp_path / "merged"
    env.write_bitcode(bitcode)
    subprocess.run([llvm_tools.clang_path(), bitcode, "-o", binary], check=True, timeout=60)
    done = subprocess.run([binary], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "one 4 1\n"


def test_merging_refuses_two_definitions(program):
    with pytest.raises(BenchmarkInitError, match="multiply defined"):
        merge_benchmarks([program, program])
    with pytest.raises(ValueError, match="No benchmarks"):
        merge_benchmarks([])


def test_the_uri_of_a_merged_program_alone_is_not_enough(program, env):
    merged = merge_benchmarks([program])
    with pytest.raises(LookupError, match="merge_benchmarks"):
        env.reset(benchmark=str(merged.uri))
