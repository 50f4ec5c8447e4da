"""Reading compile_commands.json."""

import json
import subprocess
from pathlib import Path

import pytest

from compiler_gym.tuning.size.compilation import Compilation
from compiler_gym.tuning.size.compile_commands import (
    LeftSource,
    ProjectSource,
    read_compile_commands,
)
from compiler_gym.util import llvm_tools


@pytest.fixture(name="read")
def fixture_read(tmp_path):
    """Writes compile_commands.json, and reads it."""

    def read(content):
        path = tmp_path / "build" / "compile_commands.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return read_compile_commands(path)

    return read


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_command_and_arguments(read, tmp_path):
    build = str(tmp_path / "build")
    (tmp_path / "build" / "sub").mkdir(parents=True)
    for name in ("a.c", "build/b.cc", "build/sub/c.c"):
        (tmp_path / name).write_text("int x;\n")
    words = ["cc", "-O3", "-DX=1", "-I", "inc", "-MD", "-MF", "a.d", "-c", "../a.c", "-o", "x/a.o"]
    project = read(
        [
            {"directory": build, "file": "../a.c", "arguments": words},
            {"directory": build, "file": "b.cc", "command": "c++ -O2 '-DY=\"a b\"' -c b.cc -o b.o"},
            {"directory": f"{build}/sub", "file": "c.c", "command": "cc -c c.c", "output": "c.o"},
        ]
    )
    assert project.sources == (
        ProjectSource(Path(build), "../a.c", ("-DX=1", "-I", "inc"), Path("x/a.o")),
        ProjectSource(Path(build), "b.cc", ('-DY="a b"',), Path("b.o"), is_cxx=True),
        ProjectSource(Path(build, "sub"), "c.c", (), Path("sub/c.o")),
    )
    assert project.left == ()


def test_objects_outside_of_the_build_stay_in_the_folder_of_object_files(read, tmp_path):
    entry = {"directory": str(tmp_path), "file": "a.c", "command": "cc -c a.c -o a.o"}
    (tmp_path / "a.c").write_text("int x;\n")
    (source,) = read([entry, entry]).sources
    assert source.output == Path("a.o")


@pytest.mark.parametrize("command", ["cc -x c++ -c a.c", "g++ -c a.c", "cc -xc++ -c a.c"])
def test_language_of_the_command(read, tmp_path, command):
    (tmp_path / "a.c").write_text("class X;\n")
    entry = {"directory": str(tmp_path), "file": "a.c", "command": command}
    (source,) = read([entry]).sources
    assert source.is_cxx
    assert source.options == ("-x", "c++")


def test_other_languages_are_left_and_mistakes_are_failures(read, tmp_path):
    others = ("f.S", "g.s", "h.m", "i.cu", "j.f90", "k.rc", "l.ll")
    for name in ("a.c", "b.c", *others):
        (tmp_path / name).write_text("")
    commands = {name: f"cc -c {name}" for name in ("a.c", "missing.c", *others)}
    commands["b.c"] = "gcc -fconserve-stack -c b.c"
    directory = str(tmp_path)
    project = read(
        [{"directory": directory, "file": name, "command": it} for name, it in commands.items()]
    )
    assert [each.source for each in project.sources] == ["a.c"]
    left = {Path(each.source).name: each for each in project.left}
    for name in others:
        path = str(tmp_path / name)
        assert left.pop(name) == LeftSource(path, "neither C nor C++", is_failure=False)
    assert {name: each.is_failure for name, each in left.items()} == {
        "missing.c": True,
        "b.c": True,
    }
    assert "no such file or directory: 'missing.c'" in left["missing.c"].why
    assert "fconserve-stack" in left["b.c"].why


# The outputs are named like sources, so a command that is misread destroys one.
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("cc -c unit.c -MJ other.c -o x.o", ""),
        ("cc -MJother.c -MD -MF x.c -MT x.c -c unit.c", ""),
        ("cc --serialize-diagnostics other.c -c unit.c -DX=1", "-DX=1"),
        ("cc -Wp,-MMD,other.c -Wall -c unit.c", "-Wall"),
        ("cc -save-temps=obj -fstack-usage -ftime-trace=x.c -flto -c unit.c", ""),
        ("cc -fsave-optimization-record -foptimization-record-file=x.c -c unit.c", ""),
        ("cc -D other.c -U x.c -I x.c -c unit.c", "-D other.c -U x.c -I x.c"),
        ("cc -include unit.c -c unit.c", "-include unit.c"),
        ("cc -c unit.c -include unit.c", "-include unit.c"),
        ("cc -O3 -g -std=c11 -fno-integrated-as -c -- unit.c", "-g -std=c11"),
        ("cc -c -- -w.c", ""),
        ("cc -c 'b c.c' -o 'b c.o'", ""),
        ("cc @flags -c unit.c", "-DX=a b"),
        ("cc --output=other.c -c unit.c", ""),
        ("cc -mllvm -inline-threshold=3 -march=native -c unit.c", None),
    ],
)
def test_compilations_write_nothing_in_the_project(read, tmp_path, command, options):
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("unit.c", "other.c", "x.c", "-w.c", "-w", "b c.c"):
        (folder / name).write_text("static int f(int x) { return x * 3; }\nint (*g)(int) = f;\n")
    (folder / "unit.c").write_text("#ifndef F\n#define F\nint f(int x) { return x * 3; }\n#endif\n")
    (folder / "flags").write_text("-MJ other.c -DX='a b'")
    before = contents(folder)
    (source,) = read([{"directory": str(folder), "command": command}]).sources
    assert options is None or " ".join(source.options) == options
    compilation = Compilation(llvm_tools.clang_path(), Path(source.source), (*source.options, "-w"))
    made = tmp_path / "made.o"
    subprocess.run(compilation.command(made), cwd=folder, check=True)
    assert made.stat().st_size > 0
    assert contents(folder) == before


@pytest.mark.parametrize(
    "options",
    [
        *("--coverage", "-g -gsplit-dwarf", "-Xclang -o -Xclang other.c", "-fmodules", "-E"),
        *("-Xclang -dependency-file -Xclang other.c", "-mllvm -stats", "--config flags"),
        *("-fplugin=./x.so", "-dumpbase other.c", "-aux-info other.c", "--analyze"),
        "-D -MJ",
    ],
)
def test_commands_that_write_more_are_refused(read, tmp_path, options):
    for name in ("unit.c", "other.c", "more.c", "flags"):
        (tmp_path / name).write_text("")
    before = contents(tmp_path)
    commands = [f"cc {options} -c unit.c", "cc -c more.c"]
    project = read([{"directory": str(tmp_path), "command": it} for it in commands])
    assert [each.source for each in project.sources] == ["more.c"]
    assert [each.is_failure for each in project.left] == [True]
    (tmp_path / "build" / "compile_commands.json").unlink()
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "JSON in .*compile_commands.json"),
        ({"directory": "x"}, "list"),
        ([], "found none"),
        ([{"file": "a.c", "command": "cc -c a.c"}], "entry 0 .*'directory', got None"),
        ([{"directory": "x"}], "entry 0 .*'command'"),
        ([{"directory": 5, "command": "cc -c a.c"}], "'directory', got 5"),
        ([{"directory": ".", "command": 5}], "'command', got 5"),
        ([{"directory": ".", "command": "cc -c a.c", "file": None}], "'file', got None"),
        ([{"directory": ".", "command": "cc -c a.c", "output": 5}], "'output', got 5"),
        ([{"directory": ".", "command": "cc -c"}], "no source file"),
    ],
)
def test_other_formats(read, content, message):
    with pytest.raises(ValueError, match=message):
        read(content)
