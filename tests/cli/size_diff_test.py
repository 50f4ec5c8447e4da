"""``compiler-gym size-diff`` with files that compilers, linkers and archivers make."""

import json
import os
import re
import shlex
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from compiler_gym.cli.size_inputs import read_builds
from compiler_gym.cli.size_limit import parse_limit
from compiler_gym.tuning.size.elf_sizes import UnreadableError, read_units
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.size_diff import SizeDiff
from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import runfiles_path
from tests.cli.conftest import command

_COMMON = """
int table[TABLE];
int start[4] = {1, 2, 3, 4};
const char text[] = "a text that nothing but this file has";
static __attribute__((noinline)) int helper(int x) { return x * 3 + start[x & 3]; }
"""
OLD = (
    _COMMON.replace("TABLE", "100")
    + """
__attribute__((noinline)) int renamed(int a, int b) { return a * b + (a ^ b) * 17 - (a | b) / 3; }
int gone(int x) { return helper(x) * 11 % 7; }
int grown(int x) { return table[x] + helper(x); }
int _start(int x) { return grown(x) + renamed(x, 5) + text[x]; }
"""
)
NEW = (
    _COMMON.replace("TABLE", "200")
    + """
__attribute__((noinline)) int other_name(int a, int b) {
  return a * b + (a ^ b) * 17 - (a | b) / 3;
}
int fresh(int x) { return helper(x) / 9 ^ x; }
int grown(int x) {
  for (int i = 0; i < x; i++) table[i] += helper(i * x) % 19;
  return table[x] + helper(x);
}
int _start(int x) { return grown(x) + other_name(x, 5) + text[x]; }
"""
)
LINK = ("-nostdlib", "-static", "-fuse-ld=lld")


def make(path, source, *options, tool="clang"):
    """Compiles a text; without -c, it is linked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    code = path.with_name(f"{path.name}.source.c")
    code.write_text(source)
    words = [llvm_tools.tool_path(tool), "-Os", "-ffreestanding", *options, code, "-o", path]
    subprocess.run(list(map(str, words)), check=True)
    code.unlink()
    return path


def tool(name, *words):
    subprocess.run([str(llvm_tools.tool_path(name)), *map(str, words)], check=True)


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
    """Two builds: a program, its object file and a text in each."""
    folder = tmp_path_factory.mktemp("builds")
    for name, source in (("old", OLD), ("new", NEW)):
        make(folder / name / "sub" / "one.o", source, "-c")
        make(folder / name / "program", source, *LINK)
        (folder / name / "notes.txt").write_text("a text")
        (folder / name / "CMakeFiles" / "CompilerIdC").mkdir(parents=True)
        shutil.copy(folder / name / "program", folder / name / "CMakeFiles/CompilerIdC/a.out")
    return folder


@pytest.fixture(name="compare")
def fixture_compare(run):
    """Compares two files or folders, and returns the JSON."""

    def compare(old, new, *options, code=0):
        return json.loads(run("size-diff", old, new, "--json", *options, code=code).stdout)

    return compare


def changes(found):
    return {each["name"]: (each["state"], each["old"], each["new"]) for each in found["symbols"]}


@pytest.mark.parametrize("name", ["program", "sub/one.o"])
def test_sizes_and_states_of_symbols(compare, folder, name):
    """The sizes are those of the reader of object files."""
    old, new = (folder / build / name for build in ("old", "new"))
    found = compare(old, new)
    assert (found["old"], found["new"]) == (read_object(old).all, read_object(new).all)
    memory = found["memory"]
    assert memory["text"]["new"] == read_object(new).text
    assert memory["bss"]["change"] == 400 and memory["ram"]["change"] == 400
    assert memory["flash"] == {key: found[key] for key in ("old", "new", "change")}
    by_symbol = sum(each["change"] for each in found["symbols"] + found["no_symbol"])
    assert by_symbol == found["change"] + 400
    assert sum(each["change"] for each in found["sections"]) == found["change"] + 400
    symbols = changes(found)
    states = {symbol: state for symbol, (state, _, _) in symbols.items()}
    assert states.pop("_start", "changed") == "changed"  # It may jump to what follows.
    assert states == {
        "fresh": "new",
        "gone": "gone",
        "grown": "changed",
        "other_name": "renamed",
        "table": "changed",
    }
    assert symbols["table"] == ("changed", 400, 800)


def test_text_answers_first_and_fits(run, folder):
    done = run("size-diff", folder / "old", folder / "new", "--fail-above", "1%", code=1)
    lines = done.stdout.splitlines()
    assert re.match(r"\+[\d,]+ loaded bytes \(\+[\d.]+%\): [\d,]+, before [\d,]+\. Above", lines[0])
    assert max(map(len, lines)) <= 80
    rows = [int(found[1]) for line in lines if (found := re.search(r" ([+-]\d+)$", line))]
    assert rows[0] == 400 and sorted(each for each in rows if each > 0)[::-1] == [
        each for each in rows if each > 0
    ]
    assert "Ignored: 1 file without machine code, 1 object file or archive, 1 temporary" in (
        done.stdout.replace("\n", " ")
    )
    few = run("size-diff", folder / "old", folder / "new", "--limit", "2").stdout
    assert re.search(r"^\d+ others +\d+ +\d+ +[+-]\d+$", few, re.M)


@pytest.mark.parametrize(
    "limit, old, new, is_above",
    [
        ("0%", 100, 101, True),
        ("1%", 100, 101, False),
        ("1%", 100, 102, True),
        ("1.5 %", 1000, 1015, False),
        ("0.1%", 1000, 999, False),
        ("99%", 0, 1, True),
        ("0%", 0, 0, False),
        ("0", 100, 101, True),
        ("300", 100, 400, False),
        ("300B", 100, 401, True),
        ("0B", 100, 50, False),
    ],
)
def test_limits(limit, old, new, is_above):
    assert parse_limit(limit).is_exceeded(old, new) == is_above


@pytest.mark.parametrize("limit", ["", "1KB", "-1", "%", "1%%", "1.5", "1,5%", "nan%"])
def test_wrong_limits(limit):
    with pytest.raises(ValueError, match="limit"):
        parse_limit(limit)


def test_limit_of_other_memory(run, folder):
    words = ("size-diff", folder / "old/program", folder / "new/program")
    first = run(*words, "--judge", "ram", "--fail-above", "400").stdout
    assert first.startswith("+400 bytes of RAM") and "Within the limit of 400." in first
    run(*words, "--judge", "bss", "--fail-above", "399", code=1)
    assert "+0" not in run(*words, "--judge", "data", "--fail-above", "0").stdout.partition("\n")[0]


def test_same_files(run, folder):
    done = run("size-diff", folder / "old", folder / "old", "--fail-above", "0")
    assert done.stdout.startswith("Same: both files have the same bytes in the two builds")
    words = ("size-diff", folder / "old", folder / "old", "--json")
    assert json.loads(run(*words).stdout)["verdict"] == "same"


def test_assembly_of_a_function_in_two_programs(run, folder, tmp_path):
    for build in ("old", "new"):
        for name in ("one", "a_name_that_is_too_long_for_a_row"):
            (tmp_path / build).mkdir(exist_ok=True)
            shutil.copy(folder / build / "program", tmp_path / build / name)
    done = run("size-diff", tmp_path / "old", tmp_path / "new", "--assembly", "9")
    shown = re.findall(r"^(\w+) \([\w.]+\): \+\d+ bytes$", done.stdout, re.M)
    assert sorted(shown) == ["fresh", "grown"]
    grown = done.stdout.partition("\ngrown (")[2]
    assert re.search(r"^  [+].*\bhelper$", grown, re.M) and re.search(r"^  -", grown, re.M)
    # The end of a name that is cut is that of the whole name.
    assert re.search(r"^grown \(a_name_\w+…\) +text ", done.stdout, re.M)


def test_markdown(run, folder):
    words = ("--markdown", "--fail-above", "1%", "--assembly", "2")
    text = run("size-diff", folder / "old", folder / "new", *words, code=1).stdout
    assert re.match(r"### Size: \+\d+ bytes, above the limit\n", text)
    assert "| bss | 400 | 800 | +400 |" in text and "| `table` | bss | 400 | 800 | +400 |" in text
    assert text.count("<details>") == text.count("</details>") == 4
    assert text.count("````") == 4


def test_copies_and_pieces_are_one_symbol(compare, tmp_path):
    names = ("work", "work.cold", "work.part.0", "other.constprop.0", "third.llvm.123")
    later = ("work", "work.part.1", "other.isra.0.constprop.7", "third.llvm.99", "work.cold.3")
    text = "\n".join(
        f'.globl "{name}"\n.type "{name}",@function\n"{name}": .fill SIZE,1,0x90\n'
        f'.size "{name}",SIZE\n'
        for name in names
    )
    for build, symbols, size in (("old", names, "20"), ("new", later, "24")):
        path = tmp_path / f"{build}.s"
        lines = text.replace("SIZE", size)
        for index, (before, _) in enumerate(zip(names, symbols, strict=True)):
            lines = lines.replace(f'"{before}"', f'"@{index}"')
        for index, symbol in enumerate(symbols):
            lines = lines.replace(f'"@{index}"', f'"{symbol}"')
        path.write_text(lines)
        tool("clang", "-c", path, "-o", tmp_path / f"{build}.o")
    assert changes(compare(tmp_path / "old.o", tmp_path / "new.o")) == {
        "work": ("changed", 60, 72),
        "other": ("changed", 20, 24),
        "third": ("changed", 20, 24),
    }


def test_static_functions_of_one_name_are_apart(run, compare, tmp_path):
    body = "static __attribute__((noinline)) int same(int x) { return x * %d%s; }\n"
    source = body + "int %s(int x) { return same(x) + 1; }\n"
    for build, more in (("old", ""), ("new", " + x / 7 + x % 5")):
        make(tmp_path / build / "a.o", source % (3, "", "_start"), "-c")
        (tmp_path / build / "b.c").write_text(source % (5, more, "second"))
        (tmp_path / build / "a.c").write_text(source % (3, "", "_start"))
        sources = [tmp_path / build / "a.c", tmp_path / build / "b.c"]
        tool("clang", "-Os", *LINK, *sources, "-o", tmp_path / build / "program")
    found = compare(tmp_path / "old/program", tmp_path / "new/program")
    (changed,) = [each for each in found["symbols"] if each["name"] == "same"]
    assert changed["source"] == "b.c" and changed["state"] == "changed"
    assert (
        "same (b.c)" in run("size-diff", tmp_path / "old/program", tmp_path / "new/program").stdout
    )


def test_symbols_at_one_address_count_once(compare, tmp_path):
    one = "int first(int x) { return x * 13 / 7; }\nint second(int x) { return x * 13 / 7; }\n"
    start = "int _start(int x) { return first(x) + second(x + 1); }"
    options = (*LINK, "-ffunction-sections", "-fno-inline")
    old = make(tmp_path / "old", one + start, *options)
    new = make(tmp_path / "new", one + start, *options, "-Wl,--icf=all")
    found = compare(old, new)
    assert found["memory"]["text"]["change"] < 0
    gone = changes(found)["second"]
    assert gone[0] == "gone" and found["memory"]["text"]["change"] <= -gone[1]
    assert "first" not in changes(found)
    assert all(each["new"] >= 0 for each in found["no_symbol"])


def test_names_of_cxx(compare, tmp_path):
    source = "namespace n { template <class T> T f(T x) { return x SIZE; } template int f(int); }"
    for build, more in (("old", "* 3"), ("new", "/ 3 + 100 % x")):
        (tmp_path / f"{build}.cc").write_text(source.replace("SIZE", more))
        tool("clang++", "-Os", "-c", tmp_path / f"{build}.cc", "-o", tmp_path / f"{build}.o")
    assert changes(compare(tmp_path / "old.o", tmp_path / "new.o"))["int n::f<int>(int)"][0] == (
        "changed"
    )


def test_archives(compare, folder, tmp_path):
    for build in ("old", "new"):
        one = folder / build / "sub" / "one.o"
        two = tmp_path / build / "a-name-of-more-than-sixteen-characters.o"
        make(two, "int two(int x) { return x / 5; }", "-c")
        (tmp_path / build / "twice").mkdir()
        again = shutil.copy(two, tmp_path / build / "twice" / "one.o")
        tool("llvm-ar", "qc", tmp_path / build / "lib.a", one, two, again)
        tool("llvm-ar", "qcT", tmp_path / build / "thin.a", one)
    found = compare(tmp_path / "old/lib.a", tmp_path / "new/lib.a")
    assert [each["file"] for each in found["files"]] == [
        "lib.a(one.o)",
        "lib.a(a-name-of-more-than-sixteen-characters.o)",
        "lib.a(one.o#2)",
    ]
    single = compare(folder / "old/sub/one.o", folder / "new/sub/one.o")
    assert found["change"] == single["change"]
    # The object files of a folder that are in an archive are not counted twice.
    found = compare(tmp_path / "old", tmp_path / "new")
    assert found["change"] == single["change"]
    assert found["ignored"] == {
        "object files that are in an archive, too": 2,
        "thin archives": 1,
    }


@pytest.mark.parametrize(
    "target",
    ["armv7m-none-eabi", "riscv32-unknown-elf", "mips-linux-gnu"],  # The last is big-endian.
)
def test_other_architectures(compare, tmp_path, target):
    old, new = (
        make(tmp_path / build / "unit.o", source, "-c", f"--target={target}")
        for build, source in (("old", OLD), ("new", NEW))
    )
    found = compare(old, new)
    states = {name: state for name, (state, _, _) in changes(found).items()}
    assert states["other_name"] == "renamed" and states["grown"] == "changed"
    assert sum(each["change"] for each in found["symbols"] + found["no_symbol"]) == (
        found["change"] + 400
    )


def test_stripped_files_have_sections_alone(run, folder, tmp_path):
    stripped = tmp_path / "program"
    tool("llvm-strip", folder / "new/program", "-o", stripped)
    done = run("size-diff", folder / "old/program", stripped, "--fail-above", "1%", code=1)
    assert "Symbols not checked, since the file has none: program of NEW." in done.stdout
    assert re.search(r"^\.text +text ", done.stdout, re.M)


def test_old_file_without_bytes(run, tmp_path):
    old = make(tmp_path / "old/a.o", "", "-c", "-fno-asynchronous-unwind-tables", "-fno-ident")
    new = make(tmp_path / "new/a.o", "int x = 3;", "-c", "-fno-asynchronous-unwind-tables")
    done = run("size-diff", old, new, "--fail-above", "99%", code=1)
    assert done.stdout.startswith("+4 loaded bytes: 4, before 0. Above the limit of 99%.")


def test_files_in_one_build_alone(run, compare, folder, tmp_path):
    for build in ("old", "new"):
        shutil.copytree(folder / build, tmp_path / build)
    shutil.copy(folder / "old/program", tmp_path / "new/added")
    shutil.copy(folder / "new/program", tmp_path / "old/lost")
    found = compare(tmp_path / "old", tmp_path / "new")
    files = {each["file"]: each for each in found["files"]}
    assert files["added"]["old"] is None and files["lost"]["new"] is None
    # What is gone hides no growth.
    assert found["change"] == files["program"]["change"] + files["added"]["new"]
    text = run("size-diff", tmp_path / "old", tmp_path / "new", "--by", "file").stdout
    assert "Only in NEW: added (" in text and "a program that is gone saves nothing." in text


def test_inputs_that_cannot_be_compared(fails, folder, tmp_path):
    program = folder / "new/program"
    data = program.read_bytes()
    files = {
        "empty": (b"", "got an empty file"),
        "text": (b"only a text, and a long one", "got another file"),
        "cut": (data[: len(data) // 2], "is a broken ELF file"),
        "head": (data[:40], "its header is wrong or cut off"),
        "class": (data[:4] + b"\x07" + data[5:], "its header is wrong or cut off"),
        "windows": (b"MZ" + bytes(100), "got a PE file of Windows"),
        "no_sections": (data[:40] + bytes(8) + data[48:60] + bytes(4) + data[64:], "no table of"),
        "archive": (b"!<arch>\nwrong", "is a broken archive"),
    }
    for name, (content, reason) in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(UnreadableError, match=reason):
            read_units(path, name)
    line = fails("size-diff", program, tmp_path / "cut", "--fail-above", "1%", code=2)
    assert line.startswith("compiler-gym size-diff: not checked: ")


def why_not(old, new):
    """The reason for which two files or folders are not compared."""
    with pytest.raises((ValueError, OSError)) as caught:
        before, after = read_builds(old, new, wants_objects=False)
        SizeDiff(before.units, after.units)
    return str(caught.value)


def test_builds_that_cannot_be_compared(folder, tmp_path):
    program, one = folder / "new/program", folder / "new/sub/one.o"
    bitcode = make(tmp_path / "lto.o", NEW, "-c", "-flto")
    assert "has no machine code" in why_not(bitcode, bitcode)
    thin = tmp_path / "thin.a"
    tool("llvm-ar", "qcT", thin, one)
    assert "is a thin archive" in why_not(thin, thin)
    other = make(tmp_path / "arm/one.o", NEW, "-c", "--target=armv7m-none-eabi")
    expected = "one architecture, got 64-bit x86-64 in OLD and 32-bit Arm in NEW"
    assert expected in why_not(one, other)
    assert "one kind, got object file in OLD and program in NEW" in why_not(one, program)
    (tmp_path / "nothing").mkdir()
    expected = "no programs and shared libraries to compare"
    assert expected in why_not(folder / "old", tmp_path / "nothing")
    shutil.copytree(folder / "new", tmp_path / "moved/below")
    assert "same relative path" in why_not(folder / "new", tmp_path / "moved")
    assert "Did you mean program?" in why_not(program, folder / "new/programm")
    assert "expected a file or a folder" in why_not(program, Path("/dev/null"))


def test_unreadable_file_in_a_folder(run, folder, tmp_path):
    shutil.copytree(folder / "new", tmp_path / "new")
    data = (folder / "new/sub/one.o").read_bytes()
    (tmp_path / "new/sub/one.o").write_bytes(data[:300])
    words = ("size-diff", folder / "old", tmp_path / "new", "--fail-above", "1000%")
    run(*words)  # The program is whole.
    done = run(*words, "--objects", code=2)
    assert "one.o is a broken ELF file" in done.stderr
    (tmp_path / "new/sub/two.o").write_bytes(data)
    shutil.copytree(folder / "old", tmp_path / "old")
    (tmp_path / "old/sub/two.o").write_bytes(data)
    done = run("size-diff", tmp_path / "old", tmp_path / "new", "--objects", "--markdown", code=2)
    assert done.stdout.startswith("### Size: not checked")


def test_workflow_of_the_guide(folder, tmp_path, monkeypatch):
    guide = runfiles_path("docs/guides/code-size.md").read_text(encoding="utf-8")
    (workflow,) = re.findall(r"^```yaml\n(name: size\n.*?)^```", guide, re.M | re.S)
    (script,) = re.findall(r"^ +run: \|\n((?: {10}.*\n)+)", workflow, re.M)
    program = tmp_path / "bin" / "compiler-gym"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command())} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.setenv(name, str(tmp_path / name))
    # GitHub runs scripts with these options.
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", textwrap.dedent(script)]
    subprocess.run(words, cwd=folder, check=True)
    report = (folder / "report.md").read_text()
    assert report.startswith("### Size: +") and "above the limit" in report
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == report
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "code=1\n"
    assert len(re.findall(r"^ +(?:- )?run: ", workflow, re.M)) == 5
