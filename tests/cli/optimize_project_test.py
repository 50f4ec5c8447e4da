"""``compiler-gym optimize compile_commands.json``."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from compiler_gym.cli import optimize_project
from compiler_gym.tuning.size.compile_commands import read_compile_commands
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.safety import NO_LIMITS

SOURCES = {
    "a.c": '#include "inc.h"\nint f(int n) { int s = 0; while (n--) s += n * TIMES; return s; }\n',
    "b.cc": "template <class T> T g(T a, T b) { return a / b + a % b; }\nint h(int x) "
    "{ return g(x, 3) + g(x, 5); }\n"
    "int sum(int* a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }\n",
    "bad.c": "int f( {\n",
    # The search takes longer than anything that a test waits for.
    "long.c": "".join(
        f"int f{i}(int n) {{ int s = {i}; while (n--) s += n * {i} % 7; return s; }}\n"
        for i in range(500)
    ),
}


@pytest.fixture(name="project")
def fixture_project(environment):
    """Makes a project of the sources with these names; returns its compile_commands.json."""

    def project(*names):
        build = environment / "build"
        (environment / "inc").mkdir()
        (environment / "inc" / "inc.h").write_text("#define TIMES 8\n")
        build.mkdir()
        entries = []
        for name in names:
            (environment / name).write_text(SOURCES[name])
            words = ["cc", "-O2", "-I../inc", "-c", f"../{name}", "-o", f"x/{name}.o"]
            entries.append({"directory": str(build), "file": f"../{name}", "arguments": words})
        (build / "compile_commands.json").write_text(json.dumps(entries))
        return "build/compile_commands.json"

    return project


def test_object_file_of_each_source(run, project, environment):
    words = ("optimize", project("a.c", "b.cc"), "-o", "objects", "--evaluations", "6", "--json")
    made = json.loads(run(*words).stdout)
    assert {each["object"] for each in made} == {
        str(environment / "objects" / "x" / name) for name in ("a.c.o", "b.cc.o")
    }
    for each in made:
        assert 0 < each["after"] <= each["before"]
        assert each["command_repeats"]
        assert each["folder"] == str(environment / "build")
        assert "-Oz" in each["command"]
        assert "-O2" not in each["command"]
        assert each["evaluations"] <= 6
    alone = ("optimize", "b.cc", "--evaluations", "6", "--no-memory", "-o", "alone.o", "--json")
    (result,) = json.loads(run(*alone).stdout)
    assert result["counted"] == {name: made[1][name] for name in ("before", "after")}
    assert result["saved"] == pytest.approx(1 - made[1]["after"] / made[1]["before"])


def test_source_that_does_not_compile(run, project):
    words = ("optimize", project("a.c", "bad.c"), "-o", "objects", "--evaluations", "0")
    done = run(*words, code=1)
    assert "1 of 2 object files made: " in done.stdout
    assert "bad.c failed: no object file is written for it" in done.stdout
    assert "expected parameter declarator" in done.stderr


def test_source_that_takes_too_long(project, environment, monkeypatch):
    monkeypatch.setattr(optimize_project, "_SECONDS", 1e-6)
    settings = Mock(options=(), objective=Objective.ALL, limits=NO_LIMITS)
    search = optimize_project._Search(settings, environment / "objects")
    assert [*search.jobs(read_compile_commands(Path(project("a.c", "b.cc"))))] == []
    assert [each.error for each in search.failed] == ["it takes more than 1e-06 s"] * 2


def test_other_languages_are_left(run, project, environment):
    path = project("a.c")
    entries = json.loads((environment / path).read_text())
    (environment / "build" / "f.S").write_text(".globl f\nf: ret\n")
    entries.append({**entries[0], "file": "f.S", "arguments": ["cc", "-c", "f.S", "-o", "f.o"]})
    (environment / path).write_text(json.dumps(entries))
    words = ("optimize", path, "-o", "objects", "--evaluations", "0")
    done = run(*words)
    assert "1 of 1 object file made: " in done.stdout
    left = environment / "build" / "f.S"
    assert f"Left as they are, neither C nor C++: 1 source: {left}" in done.stdout.replace(
        "\n", " "
    )
    (made, other) = json.loads(run(*words, "--json").stdout)
    assert made["object"] and other == {
        "source": str(left),
        "object": None,
        "left": "neither C nor C++",
    }


def test_ctrl_c_keeps_finished_object_files(interrupt, project, environment):
    path = project("b.cc", "long.c")
    first = environment / "objects" / "x" / "b.cc.o"
    stdout = interrupt(
        *("optimize", path, "-o", "objects", "--jobs", "1", "--evaluations", "9"),
        when=lambda pid: first.exists(),
    )
    assert "1 of 2 object files made: " in stdout
    assert "Ctrl-C ended the search: 1 source left." in stdout
    assert first.stat().st_size > 0
