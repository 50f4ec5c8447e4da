import os
import subprocess
from urllib.parse import quote_plus

import pytest

from compiler_gym.envs.llvm import BenchmarkFromCommandLine, make_benchmark_from_command_line
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.util import llvm_tools
from tests.effort import sample
from tests.envs.llvm.tool_output import ir_of

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


def test_benchmark(project):
    cmd = "gcc -DVALUE=7 main.c lib/value.c -o prog"
    benchmark = make_benchmark_from_command_line(cmd)
    assert str(benchmark.uri) == f"benchmark://clang-v0/{quote_plus(cmd)}"
    ir = ir_of(benchmark)
    assert "define dso_local i32 @main" in ir
    assert "ret i32 7" in ir
    assert not os.path.exists("prog")


@pytest.mark.parametrize("level", ["", "-O0", "-O3", "-Os"])
def test_program_is_neither_optimised_nor_forbidden_to_be(project, level):
    ir = ir_of(make_benchmark_from_command_line(f"gcc {level} -DVALUE=7 -c lib/value.c"))
    assert "optnone" not in ir
    assert "noinline" not in ir
    assert ("optsize" in ir) == (level == "-Os")


def test_cxx(project):
    (project / "a.cc").write_text("#include <string>\nint main() { return std::string().size(); }")
    benchmark = make_benchmark_from_command_line("g++ -std=c++17 a.cc")
    assert " -lstdc++ " in " ".join(benchmark.proto.dynamic_config.build_cmd.argument)


def test_other_driver(project, tmp_path):
    driver = tmp_path / "my-clang"
    driver.write_text(f'#!/bin/sh\nexec {llvm_tools.clang_path()} -DVALUE=9 "$@"\n')
    driver.chmod(0o700)
    cmd = f"{driver} -c lib/value.c"
    assert "ret i32 9" in ir_of(make_benchmark_from_command_line(cmd, replace_driver=False))
    with pytest.raises(BenchmarkInitError, match="VALUE"):
        make_benchmark_from_command_line(cmd)


def test_source_does_not_compile(project):
    with pytest.raises(BenchmarkInitError, match="'VALUE'"):
        make_benchmark_from_command_line("gcc main.c lib/value.c")


@pytest.mark.parametrize(
    ("cmd", "message"),
    [
        ("", "is empty"),
        ("gcc", "has no arguments"),
        ("gcc -O2", "no source file"),
        ("gcc main.o -o prog", "no source file"),
        ("gcc -x c -", "standard input"),
        ("gcc -E main.c", "no code .*-E"),
        ("gcc -c main.c lib/value.c", "compiles 2 sources"),
        ("gcc main.c -o", "argument to '-o' is missing"),
        ("gcc main.c 'b", "No closing quotation"),
    ],
)
def test_command_line_without_a_program(project, cmd, message):
    (project / "main.o").write_bytes(b"")
    with pytest.raises(ValueError, match=message):
        make_benchmark_from_command_line(cmd)


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


class Unchanged:
    """An environment whose program is that of a benchmark."""

    def __init__(self, benchmark):
        self._bitcode = benchmark.proto.program.contents

    def write_bitcode(self, path):
        path.write_bytes(self._bitcode)
        return path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# The outputs are named like sources, so a command that is misread destroys one.
_HARMLESS = """
-c unit.c
-c unit.c -oout/unit.o
-c unit.c --output=unit.o
-c unit.c --output unit.o
-S unit.c -o other.c
-emit-llvm -c unit.c
-emit-llvm -S unit.c
-MJ other.c -MD -MF x.c -c unit.c -o unit.o
-MJother.c -MMD -MFx.c -MT x.c -MQ y.c -MP -c unit.c
-c unit.c -gen-cdb-fragment-path out
--serialize-diagnostics other.c -MD -c unit.c -o unit.o
-serialize-diagnostics other.c -MMD -c unit.c
-Wp,-MD,other.c -c unit.c
-Wp,-MMD,other.c -Wp,-MT,x.c -c unit.c
-save-temps -c unit.c
-save-temps=obj -c unit.c -o out/unit.o
-save-temps=cwd -c unit.c -o out/unit.o
--save-temps unit.c part.c main.c
-dumpdir out/ -fstack-usage -fproc-stat-report=other.c -c unit.c
--coverage -c unit.c
-ftest-coverage -fprofile-arcs unit.c part.c main.c
-fprofile-instr-generate=other.c -ftime-trace -c unit.c
-ftime-trace=other.c -fsave-optimization-record -c unit.c
-foptimization-record-file=other.c -save-stats -c unit.c
-g -gsplit-dwarf -save-stats=obj -c unit.c -o out/unit.o
-g -gsplit-dwarf unit.c part.c main.c
-Xclang -dependency-file -Xclang other.c -Xclang -MT -Xclang x -c unit.c
-Xclang -header-include-file -Xclang other.c -H -Xclang -stats-file=x.c -c unit.c
-Wl,-Map,other.c -Wl,--dependency-file=x.c unit.c part.c main.c
-Wl,-Map=other.c -Wl,--gc-sections -Wl,-z,now unit.c part.c main.c
-fuse-ld=lld -Xlinker -Map=other.c unit.c part.c main.c
-flto -c unit.c -o unit.o
-flto=thin unit.c part.c main.c -o prog
-fno-integrated-as -w -c unit.c
-O3 -o out/x.o -c -- -w.c
-c 'b c.c' -o 'b c.o'
-include known.h -imacros known.h -include other.c -c unit.c -o unit.o
-D other.c -U x.c -I . -isystem . -iquote . -idirafter . -c unit.c
-x c known.h -x none unit.c -shared -fPIC -o prog
-x c++ -c unit.c
-xc -c text.txt
@flags -c unit.c
@outputs
unit.c part.c main.c -o other.c
unit.c assembly.S plain.s part.c main.c -MD -save-temps
-static unit.c part.c main.c -Wl,--start-group -lm -Wl,--end-group
-shared -fPIC unit.c -o unit.so
-r -nostdlib unit.c -o unit.o
-Wall -Wextra -pedantic -std=c11 -march=x86-64-v3 -mtune=native -fno-plt -c unit.c
-mllvm -inline-threshold=10 -c unit.c
""".strip().splitlines()

# Each with a part of the message.
_REFUSED = """
-Xclang -o -Xclang other.c -c unit.c | several outputs
-Wl,-o,other.c unit.c part.c main.c | several outputs
-Wl,--output=other.c unit.c part.c main.c | --output=other.c
-Wl,-oother.c unit.c part.c main.c | -oother.c
-Wl,@link unit.c part.c main.c | @link
-Wl,--print-gc-sections=other.c unit.c part.c main.c | --print-gc-sections=other.c
-Wl,-plugin,x.so unit.c part.c main.c | -plugin
-mllvm -info-output-file=other.c -c unit.c | -info-output-file=other.c
-Xclang -fixit -c unit.c | several
-fplugin=./x.so -c unit.c | no code|x.so
-fpass-plugin=./x.so -c unit.c | -fpass-plugin
-fmodules -fmodules-cache-path=out -c unit.c | -fmodules
-Xclang -emit-pch -c unit.c | several
-x c-header known.h -o other.c | no code
-emit-ast unit.c | no code
--precompile unit.c | no code
--analyze unit.c -o other.c | no code
-### -c unit.c | -###
-M -MG unit.c -MF other.c | no code
-E unit.c -o other.c | no code
--emit-static-lib unit.c -o other.c | emit-static-lib
-dumpbase other.c -MF other.c -c unit.c | -dumpbase
-fno-such-option -c unit.c | fno-such-option
-fconserve-stack -c unit.c | fconserve-stack
-aux-info other.c -c unit.c | aux-info
-c unit.c -Wa,-o,other.c | unsupported argument
-Xclang other.c -c unit.c | several
-wrapper other.c -c unit.c | wrapper
-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -c unit.c | targets
""".strip().splitlines()


@pytest.fixture
def sources(tmp_path, monkeypatch):
    folder = tmp_path / "sources"
    (folder / "out").mkdir(parents=True)
    unit = "int unit(int x) { return x * 3; }\n"
    for name in ("unit.c", "-w.c", "-w", "b c.c", "text.txt"):
        (folder / name).write_text(unit)
    (folder / "part.c").write_text("int part(int x) { return x * 5; }\n")
    (folder / "main.c").write_text(
        "int unit(int); int part(int); int main(void) { return unit(2) + part(1); }\n"
    )
    for name in ("other.c", "x.c", "y.c", "db.json"):
        (folder / name).write_text(f"/* {name} */\n")
    (folder / "known.h").write_text("#define KNOWN 1\n")
    (folder / "assembly.S").write_text(".globl f\nf: ret\n")
    (folder / "plain.s").write_text(".globl g\ng: ret\n")
    (folder / "flags").write_text("-MJ other.c -DX='a b' -MD")
    (folder / "outputs").write_text("-save-temps -MMD -MF x.c -c unit.c -o 'b c.c'")
    (folder / "link").write_text("-o other.c")
    monkeypatch.chdir(folder)
    # By these, too, clang would write.
    monkeypatch.setenv("DEPENDENCIES_OUTPUT", "other.c x.c")
    monkeypatch.setenv("CC_PRINT_OPTIONS", "1")
    monkeypatch.setenv("CC_PRINT_OPTIONS_FILE", "x.c")
    return folder


def test_making_a_benchmark_writes_nothing(sources):
    before = contents(sources)
    for arguments in sample(_HARMLESS, 18):
        ir = ir_of(make_benchmark_from_command_line(f"cc {arguments}"))
        assert contents(sources) == before, arguments
        assert "mul nsw i32" in ir and "optnone" not in ir, arguments


def test_commands_that_are_not_understood_are_refused_before_anything_runs(sources):
    before = contents(sources)
    for line in sample(_REFUSED, 15):
        arguments, message = line.split(" | ", 1)
        with pytest.raises(ValueError, match=message):
            make_benchmark_from_command_line(f"cc {arguments}")
        assert contents(sources) == before, line


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ("-MD -Wl,-Map=x.c unit.c part.c main.c", "a.out"),
        ("-MJ db.json -c unit.c -o 'b c.o'", "b c.o"),
        ("-S -fstack-usage unit.c -o out/unit.s", "out/unit.s"),
        ("-emit-llvm -c unit.c", "unit.bc"),
        ("-save-temps -g -gsplit-dwarf unit.c part.c main.c assembly.S plain.s -lm", "a.out"),
        ("-include known.h -shared -fPIC --coverage unit.c part.c -o new.so", "new.so"),
    ],
)
def test_the_rest_of_the_build_writes_its_output_alone(sources, tmp_path, arguments, output):
    benchmark = make_benchmark_from_command_line(f"cc {arguments}")
    before = contents(sources)
    build = " ".join(benchmark.proto.dynamic_config.build_cmd.argument)
    program, scratch = tmp_path / "in.bc", tmp_path / "scratch"
    program.write_bytes(benchmark.proto.program.contents)
    scratch.mkdir()
    subprocess.run(build, shell=True, check=True, cwd=scratch, env={**os.environ, "IN": program})
    assert contents(sources) == before
    benchmark.compile(Unchanged(benchmark))
    after = contents(sources)
    assert {*after} - {*before} == {sources / output}
    assert {path: after[path] for path in before} == before
    assert (scratch / "a.out").stat().st_size > 0
    if output == "a.out":
        assert subprocess.run([sources / output]).returncode == 11
