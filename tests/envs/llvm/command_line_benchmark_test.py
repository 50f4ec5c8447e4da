import os
import shlex
import subprocess
from urllib.parse import quote_plus

import pytest

from compiler_gym.envs.llvm import (
    BenchmarkFromCommandLine,
    make_benchmark_from_command_line,
)
from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.util import llvm_tools

MAIN = '#include <stdio.h>\nint value(void);\nint main(void) { printf("%d", value()); return 0; }\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A program of two sources in the current folder, whose name has a blank."""
    folder = tmp_path / "a project"
    (folder / "lib").mkdir(parents=True)
    (folder / "main.c").write_text(MAIN)
    (folder / "lib" / "value.c").write_text("int value(void) { return VALUE; }\n")
    monkeypatch.chdir(folder)
    return folder


def ir_of(benchmark):
    bitcode = benchmark.proto.program.contents
    return run_tool(
        [llvm_tools.llvm_dis_path(), "-", "-o", "-"], timeout=60, stdin=bitcode
    ).decode()


def test_benchmark(project):
    cmd = "gcc -DVALUE=7 main.c lib/value.c -o prog"
    benchmark = make_benchmark_from_command_line(cmd)
    assert str(benchmark.uri) == f"benchmark://clang-v0/{quote_plus(cmd)}"
    ir = ir_of(benchmark)
    assert "define dso_local i32 @main" in ir
    assert "ret i32 7" in ir
    assert not os.path.exists("prog")


def test_list_of_words(project):
    cmd = ["clang", "-DVALUE=7", "main.c", "lib/value.c"]
    benchmark = make_benchmark_from_command_line(cmd)
    assert str(benchmark.uri).endswith(quote_plus(shlex.join(cmd)))


@pytest.mark.parametrize("level", ["", "-O0", "-O3", "-Os"])
def test_program_is_neither_optimised_nor_forbidden_to_be(project, level):
    ir = ir_of(make_benchmark_from_command_line(f"gcc {level} -DVALUE=7 -c lib/value.c"))
    assert "optnone" not in ir
    assert "noinline" not in ir
    assert ("optsize" in ir) == (level == "-Os")


def test_cxx(project):
    (project / "a.cc").write_text("#include <string>\nint main() { return std::string().size(); }")
    benchmark = make_benchmark_from_command_line("g++ -std=c++17 a.cc")
    assert "$CC --driver-mode=g++" in " ".join(benchmark.proto.dynamic_config.build_cmd.argument)


def test_other_driver(project, tmp_path):
    driver = tmp_path / "my-clang"
    driver.write_text(f'#!/bin/sh\nexec {llvm_tools.clang_path()} -DVALUE=9 "$@"\n')
    driver.chmod(0o700)
    cmd = f"{driver} -c lib/value.c"
    assert "ret i32 9" in ir_of(make_benchmark_from_command_line(cmd, replace_driver=False))
    with pytest.raises(BenchmarkInitError, match="VALUE"):
        make_benchmark_from_command_line(cmd)


def test_source_does_not_compile(project):
    with pytest.raises(BenchmarkInitError, match="undeclared identifier 'VALUE'"):
        make_benchmark_from_command_line("gcc main.c lib/value.c")


@pytest.mark.parametrize("cmd", ["", "gcc", "gcc -x c -", "gcc main.o"])
def test_command_line_without_a_program(cmd):
    with pytest.raises(ValueError):
        make_benchmark_from_command_line(cmd)


def test_missing_source(project):
    with pytest.raises(BenchmarkInitError, match=r"missing\.c"):
        make_benchmark_from_command_line("gcc missing.c")


def test_compile_finishes_the_build(env, project, tmp_path, monkeypatch):
    cmd = "gcc -DVALUE=7 main.c lib/value.c -o 'the prog'"
    benchmark = make_benchmark_from_command_line(cmd)
    assert isinstance(benchmark, BenchmarkFromCommandLine)
    env.reset(benchmark=benchmark)
    env.multistep([env.action_space[name] for name in ("inline", "sroa", "globaldce")])
    monkeypatch.chdir(tmp_path)  # Names in the command refer to the folder it was made in.
    benchmark.compile(env)
    prog = project / "the prog"
    assert subprocess.check_output([prog]) == b"7"


def test_compile_an_object_file(env, project):
    benchmark = make_benchmark_from_command_line("gcc -DVALUE=3 -c lib/value.c -o value.o -MMD")
    env.reset(benchmark=benchmark)
    benchmark.compile(env)
    subprocess.run([llvm_tools.clang_path(), "main.c", "value.o", "-o", "prog"], check=True)
    assert subprocess.check_output(["./prog"]) == b"3"
    assert not list(project.glob("**/*.d"))


def test_compile_uses_the_program_of_the_environment(env, project):
    """The passes of the environment count, not those that clang would run."""
    (project / "loop.c").write_text("int f(int n) { int s = 0; while (n--) s += 2; return s; }")
    sizes = []
    for actions in ([], ["sroa", "instcombine", "simplifycfg", "indvars", "loop-deletion"]):
        benchmark = make_benchmark_from_command_line("gcc -O3 -S loop.c")
        env.reset(benchmark=benchmark)
        env.multistep([env.action_space[name] for name in actions])
        benchmark.compile(env)
        sizes.append(len((project / "loop.s").read_text().splitlines()))
    assert sizes[1] < sizes[0]


def test_failing_compilation(env, project):
    benchmark = make_benchmark_from_command_line("gcc main.c -o prog")
    env.reset(benchmark=benchmark)
    with pytest.raises(BenchmarkInitError, match="value"):
        benchmark.compile(env)


def test_service_builds_it(env, project):
    (project / "extra.c").write_text("int extra(void) { return 1; }")
    subprocess.run([llvm_tools.clang_path(), "-c", "extra.c"], check=True)
    benchmark = make_benchmark_from_command_line(
        "gcc -DVALUE=7 main.c lib/value.c extra.o -o prog -Llib -lm"
    )
    env.reset(benchmark=benchmark)
    assert env.observation["IsBuildable"] is True
    assert env.observation["IsRunnable"] is False
    assert env.observation["Buildtime"][0] > 0
    assert env.observation["TextSizeBytes"] > env.observation["ObjectTextSizeBytes"] > 0
    assert not (project / "prog").exists()
    assert not (project / "a.out").exists()
