"""Bitcode of programs that have builds of their own."""

import re
import subprocess
import sys

import pytest

import compiler_gym
from compiler_gym.envs.llvm.benchmarks import command_line_benchmark
from compiler_gym.envs.llvm.benchmarks.command_line_benchmark import collect_bitcode
from compiler_gym.errors import BenchmarkInitError, EnvironmentNotSupported
from tests.envs.llvm.tool_output import ir_of

MAKEFILE = """
CFLAGS = -O0 -g
double: main.o libtwice.a
\t$(CC) $(CFLAGS) -o $@ $^
libtwice.a: twice.o unused.o
\tar rc $@ $^
"""


@pytest.fixture(name="project")
def fixture_project(tmp_path):
    """A program of two sources, one of them in a library."""
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "main.c").write_text(
        "#include <stdio.h>\nint twice(int);\nint main(void) {\n  int x;\n"
        '  while (scanf("%d", &x) == 1) printf("%d\\n", twice(x));\n  return 0;\n}\n'
    )
    (folder / "twice.c").write_text("int twice(int x) { return 2 * x; }\n")
    (folder / "unused.c").write_text("int unused(void) { return 0; }\n")
    (folder / "Makefile").write_text(MAKEFILE)
    return folder


def test_make(project, tmp_path, monkeypatch):
    bitcode = collect_bitcode("make -j2", "double", tmp_path / "double.bc", project)
    ir = ir_of(bitcode)
    assert re.findall(r"define .*@(\w+)\(", ir) == ["main", "twice"]
    assert "alloca" in ir and "optnone" not in ir and "noinline" not in ir

    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("1 20 300")
    (tmp_path / "out.txt").write_text("2\n40\n600\n")
    program = compiler_gym.benchmark(bitcode, run="./a.out < in.txt", expect="out.txt")
    with compiler_gym.make("llvm-v0", benchmark=program) as env:
        env.reset()
        env.multistep(["mem2reg", "inline", "globaldce"])
        result = env.validate()
        assert result.okay() and result.benchmark_semantics_validated
        # A build that has nothing to do leaves what there is.
        assert collect_bitcode("make", "double", bitcode, project) == bitcode


def test_cxx_and_a_program_in_a_folder(tmp_path):
    (tmp_path / "main.cc").write_text("#include <iostream>\nint main() { std::cout << 1; }\n")
    command = (
        'mkdir -p build && "$CXX" -Os -c main.cc -o build/main.o && $CXX -o build/p build/main.o'
    )
    bitcode = collect_bitcode(command, "build/p", tmp_path / "p.bc", tmp_path)
    assert compiler_gym.benchmark(bitcode).uri.path.startswith("/p-")


@pytest.mark.parametrize(
    ("command", "program", "message"),
    [
        ("echo gave up >&2; exit 3", "double", "failed with exit code 3(?s:.*)gave up"),
        ("make", "duoble", "'make' made no file '.*duoble'"),
        ("make CC=gcc", "double", r'did not compile it with \$CC (?s:.*)make CC="\$CC"'),
        ("make unused.o", "unused.o", ""),
        ("echo x > script", "script", "There is no bitcode of '.*script'"),
    ],
)
def test_errors_of_a_build(project, tmp_path, command, program, message):
    output = tmp_path / "double.bc"
    if not message:
        assert collect_bitcode(command, program, output, project) == output
        return
    with pytest.raises(BenchmarkInitError, match=message):
        collect_bitcode(command, program, output, project)
    assert not output.exists()


def test_no_folder(tmp_path):
    with pytest.raises(NotADirectoryError, match="nowhere"):
        collect_bitcode("make", "x", "x.bc", tmp_path / "nowhere")


def test_endless_build(project, tmp_path):
    with pytest.raises(subprocess.TimeoutExpired):
        collect_bitcode("sleep 1000", "double", tmp_path / "double.bc", project, timeout=0.1)


def test_without_wllvm(project, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(EnvironmentNotSupported, match=r"pip install 'compiler_gym\[build\]'"):
        collect_bitcode("make", "double", tmp_path / "double.bc", project)


def test_without_the_programs_that_wllvm_needs(project, tmp_path, monkeypatch):
    monkeypatch.setattr(command_line_benchmark, "_TOOLS_OF_WLLVM", ("file", "no-such-program"))
    with pytest.raises(EnvironmentNotSupported, match="no-such-program"):
        collect_bitcode("make", "double", tmp_path / "double.bc", project)
