"""``compiler-gym build``: a project whose units become small, and one with a planted miscompile."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from compiler_gym.cli.project_build import compilers, read_log
from compiler_gym.tuning.size.compilation import (
    decision_names,
    joined_decisions,
    single_decisions,
)
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools
from tests.cli.conftest import UNIT, command, own_clang
from tests.processes import command_lines, descendants, is_running, wait_until

UNITS = 2

_MAKEFILE = """
OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))
CFLAGS = -Oz
program: $(OBJECTS)
\t$(CC) $^ -o $@
%.o: %.c
\t$(CC) $(CFLAGS) -c $< -o $@
"""


@pytest.fixture(name="folder")
def fixture_folder(environment):
    """A program of several units, and its output in a file."""
    calls = [f"unit_{number % UNITS}({number})" for number in range(9)]
    for number in range(UNITS):
        (environment / f"unit{number}.c").write_text(UNIT.replace("NUMBER", str(number)))
    declarations = "".join(f"unsigned unit_{number}(unsigned);\n" for number in range(UNITS))
    prints = "".join(f'  printf("%u\\n", {call});\n' for call in calls)
    (environment / "main.c").write_text(
        f"#include <stdio.h>\n{declarations}int main(void) {{\n{prints}}}\n"
    )
    (environment / "Makefile").write_text(_MAKEFILE)
    clang = [llvm_tools.clang_path(), *environment.glob("*.c"), "-o", "plain"]
    subprocess.run(clang, check=True)
    (environment / "expected").write_text(printed("./plain"))
    return environment


def printed(program="./program"):
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout


CHECK = ("--check", "./program | cmp - expected")
FEW = ("--evaluations", "6", "--jobs", "2")
MAKE = ("--", "make", "-j2")


def test_all_units_become_smaller(run, folder, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_OBJECTIVE", "text")
    done = run("build", *FEW, "--lock", "size.lock", *CHECK, *MAKE)
    assert done.stdout.endswith("Check: passed.\n")
    total = re.search(rf"^{UNITS + 1} units +(\d+) +(\d+) +(\d+) +(\d+)$", done.stdout, re.M)
    before, after, loaded_before, _ = map(int, total.groups())
    assert after < before < loaded_before
    assert f"searching {UNITS + 1} units with {before} bytes of code" in done.stderr
    units = json.loads((folder / "size.lock").read_text())["units"]
    assert len(units) == UNITS + 1 and all(each["left_out"] == [] for each in units)
    assert not [name for name in os.listdir() if name.startswith(".")]
    objects = {path.name: path.read_bytes() for path in folder.glob("*.o")}
    # Another machine needs no search, and no build but the usual one.
    run("lock", "verify", "size.lock", "--", "make", "-B")
    assert objects == {path.name: path.read_bytes() for path in folder.glob("*.o")}
    # Evaluations go where the bytes are.
    counts = {each["source"]: each["evaluations"] for each in units}
    assert counts["main.c"] == max(counts.values()) > min(counts.values())


def test_no_linked_file_becomes_larger(run, folder):
    """An inline function that all units call, and a function of an archive in one of them."""
    shared = "".join(
        f"  case {number}: x = (x << {number % 13 + 3}) ^ x * {2 * number + 7}u; break;\n"
        for number in range(30)
    )
    (folder / "shared.h").write_text(
        "inline unsigned shared(unsigned x, unsigned n) {\n"
        f"  while (n--) switch (x % 31) {{\n{shared}  default: x += n * 3; }}\n  return x;\n}}\n"
    )
    for path in folder.glob("unit*.c"):
        number = path.stem.removeprefix("unit")
        path.with_suffix(".cc").write_text(
            f'#include "shared.h"\nunsigned unit_{number}(unsigned x) '
            f"{{ return shared(x + {number}, 9) + {number}; }}\n"
        )
        path.unlink()
    (folder / "main.c").rename(folder / "main.cc")
    # CMake links such a program to learn about the compiler.
    probe = "CMakeFiles/3.25.1/CMakeDetermineCompilerABI_C.bin"
    (folder / "Makefile").write_text(
        "program: $(patsubst %.cc,%.o,$(wildcard *.cc))\n\t$(CXX) $^ -o $@\n"
        f"\tmkdir -p {os.path.dirname(probe)} && cp program {probe}\n"
        "%.o: %.cc\n\t$(CXX) -Oz -c $< -o $@\n"
    )
    words = ("--evaluations", "2", "--jobs", "2", "--drop-weak-symbols", "--json")
    done = run("build", *words, "--", "make", "-B")
    result = json.loads(done.stdout)
    (linked,) = result["linked"]
    assert linked["linked"] == "program" and result["taken_back"] == []
    assert linked["loaded"] <= linked["loaded_before"]
    assert linked["stripped"] <= linked["stripped_before"]
    stripped = [llvm_tools.tool_path("llvm-strip"), "program", "-o", "stripped"]
    subprocess.run(stripped, check=True)
    assert (folder / "stripped").stat().st_size == linked["stripped"]
    assert read_object(folder / "stripped").all == linked["loaded"]


def test_moved_object_files_become_smaller(run, environment, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_OBJECTIVE", "text")
    for number, name in enumerate(("here", "moved", "also", "gone")):
        (environment / f"{name}.c").write_text(UNIT.replace("NUMBER", str(number)))
    (environment / "Makefile").write_text(
        "lib.a: here.o moved.lo also.lo gone\n\tar rcs $@ here.o moved.lo also.lo\n"
        "CFLAGS = -Oz\n"
        "%.lo: %.c\n\tmkdir -p new && $(CC) $(CFLAGS) -MD -c $< -o new/x.o && mv new/x.o $@\n"
        "gone: gone.c\n\t$(CC) $(CFLAGS) -c $< && rm gone.o && touch gone\n"
    )
    done = run("build", "--evaluations", "8", "--json", "--", "make")
    assert "removes their object files: gone.c" in done.stderr
    units = {each["unit"]: each for each in json.loads(done.stdout)["units"]}
    assert sorted(units) == ["also.c", "here.c", "moved.c"]
    # All are in the library that the second build has linked.
    for name in units:
        assert units[name]["code"] < units[name]["code_before"]
        made = read_object(environment / name.replace(".c", ".o" if name == "here.c" else ".lo"))
        assert made.text == units[name]["code"]
    assert not (environment / "new" / "x.o").exists()
    linked = (environment / "lib.a").stat().st_mtime_ns
    assert all(linked >= path.stat().st_mtime_ns for path in environment.glob("*.lo"))


def test_variables_that_a_makefile_exports(run, folder):
    (folder / "include").mkdir()
    (folder / "include" / "limit.h").write_text("#define LIMIT 9\n")
    source = "#include <limit.h>\n" + (folder / "unit1.c").read_text()
    (folder / "unit1.c").write_text(source.replace("100", "LIMIT"))
    own = folder / "own.lock"
    (folder / "Makefile").write_text(
        "export CFLAGS = -Oz\nexport CPATH = include\nexport COMPILER_GYM_OBJECTIVE = text\n"
        f"export COMPILER_GYM_EVALUATIONS = 1\nexport COMPILER_GYM_LOCK = {own}\n"
        "unit1.o: unit1.c\n\t$(CC) $$CFLAGS -c $<\n"
    )
    run("build", "--evaluations", "8", "--lock", "size.lock", "--", "make", "-B", "unit1.o")
    (unit,) = json.loads((folder / "size.lock").read_text())["units"]
    # The build's own settings hold, and its lock file, also in the second build.
    assert unit["evaluations"] == 8 and not own.exists()
    assert unit["objective"] == "text" and unit["after"] < unit["before"]
    assert read_object(folder / "unit1.o").text == unit["after"]
    # A mistyped one is an error there, too.
    (folder / "Makefile").write_text("export COMPILER_GYM_EVALUATION = 1\nx:\n\t$(CC) -c unit0.c\n")
    said = run("build", "--", "make", code=1).stderr
    assert "Did you mean COMPILER_GYM_EVALUATIONS" in said


@pytest.fixture(name="planted")
def fixture_planted(folder, monkeypatch):
    """A clang that makes small object files of one unit with one option.

    Their code is wrong, or that of another source if the test writes one.
    """
    (folder / "wrong.txt").write_text(
        "unsigned unit_1(unsigned x) { return x; }\nunsigned more_1(unsigned x) { return x; }\n"
    )
    wrong = f"{llvm_tools.clang_path()} -Oz -x c -c {folder}/wrong.txt -o"
    # The check of stack sizes has a further option at the end of its commands.
    script = (
        'case "$*" in *-disable-lsr*.bc*-o*)\n  for word; do\n'
        '    [ "$last" = -o ] && output=$word; last=$word\n'
        '    case "$word" in *.bc) grep -q more_1 "$word" && is_wrong=1;; esac\n  done\n'
        f'  [ "$is_wrong" ] && exec {wrong} "$output" -fstack-size-section;;\n'
        f'esac\nexec {llvm_tools.clang_path()} "$@"'
    )
    with (folder / "Makefile").open("a") as file:
        file.write("main.o: CFLAGS = -O1\n")  # It is not searched.
    own_clang(folder, script, monkeypatch)
    return folder


@pytest.mark.parametrize("link", ["$(CC)", str(llvm_tools.clang_path())])
def test_a_unit_that_makes_the_program_larger_is_taken_back(run, planted, link):
    # The object file is smaller, but the linker keeps what it calls, which is unused otherwise.
    unit, padding = (planted / "unit1.c").read_text(), "*p += 12345; " * 800
    (planted / "big.txt").write_text(
        f"void padding(volatile int *p) {{ {padding}}}\n{unit.replace('_1', '_big')}"
    )
    (planted / "unit1.c").write_text(
        "unsigned unit_big(unsigned), more_big(unsigned);\n"
        f"{unit}\nunsigned unused(unsigned x) {{ return unit_big(x) + more_big(x); }}\n"
    )
    big = [llvm_tools.clang_path(), "-Oz", "-x", "c", "-c", "big.txt", "-o", "big.obj"]
    subprocess.run(big, check=True)
    subprocess.run([llvm_tools.tool_path("llvm-ar"), "rcs", "libbig.a", "big.obj"], check=True)
    (planted / "wrong.txt").write_text(
        "".join(
            f"unsigned {name}_big(unsigned);\n"
            f"unsigned {name}_1(unsigned x) {{ return {name}_big(x); }}\n"
            for name in ("unit", "more")
        )
    )
    (planted / "Makefile").write_text(
        "program: main.o libunits.a\n\techo >> builds\n"
        f"\t{link} -Wl,--gc-sections main.o -L. -lunits libbig.a -o $@\n"
        "libunits.a: unit0.o unit1.o\n\tar rcs $@ $^\n"
        "%.o: %.c\n\t$(CC) -Oz -ffunction-sections -c $< -o $@\n"
    )
    done = run("build", "--evaluations", "3", *CHECK, *MAKE)
    # Where the command is known that links the program, only that is repeated to find the unit:
    # the builds are those with clang, with all decisions, and without those of the unit.
    builds = (planted / "builds").read_text().count("\n")
    assert builds == 3 if link == "$(CC)" else builds > 3
    assert "program would be larger, or lose exported symbols: looking" in done.stderr
    assert "taking clang's object files of unit1.c\n" in done.stderr
    said = "As clang makes it, since a linked file is larger otherwise: unit1.c"
    assert said in done.stdout.splitlines() and done.stdout.endswith("Check: passed.\n")
    first, heads, row, *_ = done.stdout.splitlines()
    assert first.startswith("Bytes of linked files") and heads.startswith("linked ")
    name, before, after, *_ = row.split()
    assert name == "program" and int(after) <= int(before) < 5000
    assert "unit_big" not in printed([llvm_tools.tool_path("llvm-nm"), "program"])


_LIBRARY = """
#include "library.h"
int library(int x) { return small(x) + small(x + 1) + Base(x).at(2); }
"""
_LIBRARY_HEADER = """
inline int small(int x) { for (int i = 0; i < 9; i++) x = x * 31 ^ x >> 7; return x; }
struct Base {
  int value;
  Base(int x) : value(x * small(x)) {}
  virtual int at(int i) { return value * i + small(i); }
};
"""


@pytest.mark.parametrize("options", [(), ("--drop-weak-symbols",)])
def test_exported_weak_symbols(run, environment, options):
    (environment / "library.h").write_text(_LIBRARY_HEADER)
    (environment / "library.cc").write_text(_LIBRARY)
    (environment / "Makefile").write_text(
        "library.so: library.o\n\t$(CXX) -shared $< -o $@\n"
        "library.o: library.cc\n\t$(CXX) -Oz -fPIC -fno-exceptions -c $<\n"
    )
    done = run("build", "--evaluations", "6", "--json", *options, "--", "make", "-B")
    (linked,) = json.loads(done.stdout)["linked"]
    assert linked["loaded"] < linked["loaded_before"]
    if options:
        assert linked["exports"] < linked["exports_before"]
    else:
        assert linked["exports"] == linked["exports_before"] > 3


def test_a_planted_miscompile_is_found(run, planted, monkeypatch):
    done = run("build", "--evaluations", "3", "--lock", "size.lock", *CHECK, *MAKE)
    assert "it fails with unit1.c: looking for decisions" in done.stderr
    said = "Left out of unit1.c, as the check fails with it: options: -disable-lsr"
    assert said in done.stdout.splitlines() and done.stdout.count("Left out") == 1
    assert done.stdout.endswith("Check: passed.\n")
    units = json.loads((planted / "size.lock").read_text())["units"]
    left_out = {each["source"]: each["left_out"] for each in units if each["left_out"]}
    assert left_out == {"unit1.c": ["options: -disable-lsr"]}
    assert printed() == (planted / "expected").read_text()
    # Builds without the lock file neither use the wrong result again nor find another like it.
    cc = (compilers()["CC"], "-Oz", "-c", "unit1.c", "-o")
    monkeypatch.setenv("COMPILER_GYM_LOG", "log")
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "4")
    for kind in ("search", "kept"):
        subprocess.run([*cc, "again.o"], check=True)
        assert read_log(planted / "log")[-1].kind == kind
        objects = {*planted.glob("[mu]*.o")} - {planted / "unit1.o"} | {planted / "again.o"}
        subprocess.run([llvm_tools.clang_path(), *sorted(objects), "-o", "again"], check=True)
        assert printed("./again") == (planted / "expected").read_text()
    # The lock file alone makes the same, which is right.
    (planted / "program").unlink()
    run("lock", "verify", "size.lock", "--", "make", "-B")
    assert printed() == (planted / "expected").read_text()


@pytest.fixture(name="grown")
def fixture_grown(environment):
    """A program as it was built, in its folder and in ``old``. Then its source grew."""
    source = (UNIT + "int main(int n, char **p) { return more_NUMBER(n); }\n").replace(
        "NUMBER", "0"
    )
    folder = environment / "new"
    folder.mkdir()
    (folder / "app.c").write_text(source)
    (folder / "Makefile").write_text(
        "app.elf: app.o\n\t$(CC) $< -o $@\napp.o: app.c\n\t$(CC) -Oz -c $<\n"
    )
    subprocess.run(["make", "-C", folder, f"CC={llvm_tools.clang_path()}"], check=True)
    shutil.copytree(folder, environment / "old")
    (folder / "app.c").write_text("int table[100] = {1};\n" + source)
    return folder


def test_growth_since_an_earlier_build(run, grown, monkeypatch):
    words = ("build", "--budget", "0s")
    make = ("--", "make", "-B", "-C", grown)
    # The folder with the paths that the build makes is found, and what it has had before is OLD.
    done = run(*words, "--against", "new", "--fail-above", "399", "--json", *make, code=1)
    found = json.loads(done.stdout)
    assert found["check"] == "not checked" and found["left_out"] == {}
    assert len(found["units"]) == len(found["ended_by_time_limit"]) == 1
    growth = found["growth"]
    sizes = [read_object(folder / "app.elf").all for folder in (grown.parent / "old", grown)]
    assert growth["verdict"] == "above" and [growth["old"], growth["new"]] == sizes
    assert [each["name"] for each in growth["symbols"] if each["state"] == "new"] == ["table"]
    # The report is that of size-diff.
    options = ("--fail-above", "400", "--judge", "data")
    monkeypatch.chdir(grown)
    done = run(*words, "--against", "../old/app.elf", *options, "--", "make", "-B")
    tables, _, text = done.stdout.partition("\nOLD: ../old/app.elf\nNEW: app.elf\n")
    assert tables.endswith("Check: not checked.\n")
    assert text == run("size-diff", "../old/app.elf", "app.elf", *options).stdout
    assert text.startswith("+400 bytes of data") and "Within the limit of 400." in text


def test_builds_that_are_not_compared(run, grown):
    make = ("--", "make", "-B", "-C", grown)
    program, other = grown.parent / "old" / "app.elf", grown.parent / "old" / "b.elf"
    shutil.copy(program, other)
    (grown / "Makefile").write_text((grown / "Makefile").read_text().replace("app.elf", "program"))
    done = run("build", "--against", other, "--markdown", *make, code=2)
    assert done.stdout.startswith(
        "### Size: not checked\n\nexpected a build that makes a file b.elf"
    )
    # A build makes many object files, so these come last.
    assert done.stderr.endswith("it has made new/program, new/app.o\n")
    assert "searching" not in done.stderr
    done = run("build", "--against", program, "--markdown", "--", "false", code=2)
    assert done.stdout == "### Size: not checked\n\nThe build ended with exit code 1\n"
    program.unlink()
    (grown.parent / "old" / "app.o").unlink()
    done = run("build", "--against", "old", "--json", *make, code=2)
    (reason,) = json.loads(done.stdout)["reasons"]
    assert reason.startswith("expected a build that makes a file of old again, such as b.elf; it ")


def test_failing_builds(run, folder):
    done = run("build", "--check", "echo no; exit 3", "--", "make", "unit1.o", code=1)
    assert "The check also fails with clang's object files: exit code 3: no" in done.stderr
    assert "exit code 2" in run("build", "--", "make", "none", code=1).stderr


def test_ctrl_c_cleans_up(interrupt, folder, scratch):
    words = ("build", "--evaluations", "10000", "--lock", "size.lock", *CHECK, *MAKE)
    interrupt(*words, when=lambda _: [*scratch.glob("*/[0-9]*.o")])
    assert os.listdir(scratch) == []
    assert not [name for name in os.listdir() if "lock" in name]


def test_programs_of_a_check_are_not_searched(run, folder, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_LOG", str(folder / "log"))
    (folder / "test.txt").write_text((folder / "unit0.c").read_text())
    check = f"{compilers()['CC']} -Oz -x c -c test.txt -o test.o"
    words = ("--lock", "size.lock", "--check", check, "--", "make", "unit1.o")
    run("build", "--evaluations", "1", *words)
    assert [line.kind for line in read_log(folder / "log") if line.output == "test.o"] == ["clang"]
    units = json.loads((folder / "size.lock").read_text())["units"]
    assert [each["source"] for each in units] == ["unit1.c"]


def test_sigterm_ends_the_check_as_ctrl_c_does(folder):
    check = "sleep 1000 & sleep 1000"
    words = command("build", "--evaluations", "1", "--check", check, "--", "make", "unit1.o")
    process = subprocess.Popen(words, start_new_session=True, stderr=subprocess.PIPE)
    # A shell that is about to start the second one may miss the signal.
    wait_until(lambda: command_lines(descendants(process.pid)).count("sleep 1000 ") == 2)
    started = descendants(process.pid)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=100)
    assert process.returncode == 130 and b"Traceback" not in stderr
    assert len(started) > 2
    wait_until(lambda: not any(map(is_running, started)))


def test_single_decisions():
    decisions = {"options": ["-a", "-b=1"], "functions": ["0=x+y", "3=z"], "calls": ["1=inline"]}
    atoms = single_decisions(decisions)
    assert ("functions", "0=y") in atoms and len(atoms) == 6
    assert joined_decisions(atoms) == decisions
    assert joined_decisions(atoms[1:3]) == {"options": ["-b=1"], "functions": ["0=x"]}
    assert joined_decisions([]) == {}
    assert {"options: -a", "functions: 0=y", "functions: 3=z"} <= decision_names(decisions)
