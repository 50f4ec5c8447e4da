"""Tests of the object file reader against LLVM's own tools."""

import re
import subprocess
from dataclasses import replace

import pytest

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.size import object_file
from compiler_gym.tuning.size.compilation import Change, Compilation
from compiler_gym.tuning.size.inlining import list_call_sites
from compiler_gym.tuning.size.object_file import (
    compare_functions,
    content_digest,
    read_object,
    readable_names,
)
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.util import llvm_tools

_SOURCE = """
int data[3] = {1, 2, 3};
const char *text(void) { return "some text"; }
int zeros[100];
__attribute__((noinline)) static int f(int x) { return x / 3; }
__attribute__((section("other"))) int g(int x) { return f(x) + f(x + data[0]); }
int alias(int) __attribute__((alias("g")));
"""

_SHARED = """
template <int n> struct Table {
  virtual int at(int i) { return values[i & 7]; }
  static const int values[8];
};
template <int n> const int Table<n>::values[8] = {n, 1, 2, 3, 4, 5, 6, 7};
struct __attribute__((visibility("hidden"))) Hidden {
  static int work(int x) { return x * 31 ^ x / 7; }
};
inline int both(int x) { return Hidden::work(x) + Hidden::work(x + 1); }
static Table<3> table;
int one(int x) { return both(x) + Hidden::work(x) + ((Table<3>*)&table)->at(x); }
int two(int x) { return both(x + 1) - both(x); }
int (*work())(int) { return Hidden::work; }
__attribute__((weak)) int weak(int x) { return x; }
"""


def output_of(tool, *arguments):
    command = [llvm_tools.tool_path(tool), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-ffunction-sections", "-g"),
        ("-m32",),
        ("--target=aarch64-linux-gnu",),
        ("--target=s390x-linux-gnu",),
        ("--target=mips-linux-gnu", "-fno-pic"),
    ],
)
def test_sizes_are_those_that_llvm_says(compiled, options):
    path = compiled(_SOURCE, *options)
    found = read_object(path)
    # Name, type, address, offset, size, entry size, flags.
    sections = re.findall(
        r"^ *\[ *\d+\] (\S*) +(\S+) +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +([A-Z]*) ",
        output_of("llvm-readelf", "-W", "-S", path),
        re.M,
    )
    sizes = [(int(size, 16), flags) for _, kind, size, flags in sections if kind != "NOBITS"]
    assert found.text == sum(size for size, flags in sizes if "X" in flags) > 0
    assert found.all == sum(size for size, flags in sizes if "A" in flags) > found.text
    names = re.findall(
        r"^[0-9a-f]+ ([0-9a-f]+) [tT] (\w+)$", output_of("llvm-nm", "--print-size", path), re.M
    )
    said = {name: int(size, 16) for size, name in names}
    assert set(said) == {"f", "g", "alias", "text"}
    # What has two names counts once.
    (second,) = {"g", "alias"} - set(found.functions)
    del said[second]
    assert found.functions == said


@pytest.mark.parametrize(
    "options", [(), ("-ffunction-sections",), ("-m32",), ("--target=aarch64-linux-gnu",)]
)
def test_unwinding_belongs_to_functions(compiled, options):
    path = compiled(_SOURCE, "-fasynchronous-unwind-tables", *options)
    found = read_object(path)
    text = output_of("llvm-dwarfdump", "--eh-frame", path)
    entries = re.findall(r"^[0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ FDE", text, re.M)
    assert sorted(found.unwinding.values()) == sorted(int(each, 16) + 4 for each in entries)
    assert found.unwinding.keys() == found.functions.keys()
    sizes = Objective.ALL.with_unwinding(found)
    assert sizes["f"] == found.functions["f"] + found.unwinding["f"]
    assert Objective.TEXT.with_unwinding(found) == found.functions


def test_code_alone_is_compared(compiled):
    one = read_object(compiled(_SOURCE))
    other = read_object(compiled(_SOURCE, "-g"))
    third = read_object(compiled(_SOURCE, "-Ddata=numbers"))
    fourth = read_object(compiled(_SOURCE, "-O1"))
    assert one.code == other.code == third.code != fourth.code
    assert len({each.digest for each in (one, other, third, fourth)}) == 4


@pytest.mark.parametrize("contents", [b"", b"BC\xc0\xde" * 100, b"\x7fELF", None])
def test_broken_and_other_files(compiled, contents):
    path = compiled(_SOURCE, name="other.c")
    path.write_bytes(path.read_bytes()[:200] if contents is None else contents)
    with pytest.raises(ValueError, match=r"other\.o"):
        read_object(path)


@pytest.mark.parametrize("options", [(), ("-m32",), ("--target=aarch64-linux-gnu",)])
def test_shared_groups_and_exported_symbols(compiled, options):
    path = compiled(_SHARED, "-fno-inline", *options, name="shared.cc")
    found = read_object(path)
    text = output_of("llvm-readelf", "-W", "--section-groups", path)
    groups = re.findall(r"^COMDAT group section \[ *\d+\] `\.group' \[(\w+)\]", text, re.M)
    assert {*found.shared} == {*groups} and len(groups) > 5
    work, values = "_ZN6Hidden4workEi", "_ZN5TableILi3EE6valuesE"
    assert found.shared[work].functions == (work,) and found.shared[values].functions == ()
    assert found.shared[work].text == found.functions[work]
    assert found.shared[work].all == found.functions[work] + found.unwinding[work]
    assert (found.shared[values].text, found.shared[values].all) == (0, 32)
    symbols = output_of("llvm-readelf", "-W", "--symbols", path)
    weak = re.findall(r" WEAK +DEFAULT +\d+ (\w+)$", symbols, re.M)
    assert found.exported == {*weak} and {"_Z4weaki", values} <= {*weak} and work not in weak


@pytest.mark.parametrize("objective", [Objective.ALL, Objective.TEXT, Objective.INSTRUCTIONS])
def test_shared_functions_count_as_kept_by_others(tmp_path, begin, objective):
    source = tmp_path / "shared.cc"
    source.write_text(_SHARED.replace("int (*work())(int) { return Hidden::work; }", ""))
    clang = llvm_tools.tool_path("clang++")
    compilation = Compilation(clang, source, plugin=llvm_tools.own_passes_path())
    evaluator, _ = begin(compilation, objective=objective)
    calls = [site.index for site in list_call_sites(evaluator)]
    changes = [Change(calls=tuple((index, way) for index in calls)) for way in (False, True)]
    before, inlined = evaluator.evaluate(changes)
    gone = "_ZN6Hidden4workEi"
    assert gone in before.object.functions and gone not in inlined.object.functions
    kept = objective.cost(inlined, before)[0] - objective.cost(inlined)[0]
    assert kept >= objective.of_functions(before.object)[gone] > 0
    # What clang's object file does not have counts in full.
    assert objective.cost(before, inlined)[0] >= objective.cost(before)[0]
    assert objective.cost(before, before) == objective.cost(before)
    # So does one that no other object file has.
    sole = objective.read(before.path, {*before.object.shared})
    assert objective.cost(inlined, replace(before, object=sole)) == objective.cost(inlined)
    sizes = objective.with_unwinding(inlined.object, before.object)
    assert sizes[gone] == objective.with_unwinding(before.object)[gone]


@pytest.mark.parametrize("options", [(), ("-m32",), ("--target=aarch64-linux-gnu",)])
def test_content_digest(tmp_path, options):
    # clang numbers private strings of puts() otherwise in bitcode.
    text = 'int printf(const char *, ...);\nint f(int x) { printf("a%%d", 1); %s return x * %d; }\n'
    source, unit = tmp_path / "source.c", tmp_path / "unit.bc"
    clang = [llvm_tools.clang_path(), "-O2", *options, "-g", "-c"]
    stop = ["-emit-llvm", "-Xclang", "-disable-llvm-passes"]

    def digest(content, *more):
        source.write_text(content)
        subprocess.run([*clang, *more, source, "-o", tmp_path / "made.o"], check=True)
        return content_digest(tmp_path / "made.o")

    content = text % ('printf("b\\n"); printf("d\\n");', 3)
    before = digest(content)
    subprocess.run([*clang, *stop, source, "-o", unit], check=True)
    subprocess.run([*clang, unit, "-o", tmp_path / "repeated.o"], check=True)
    assert content_digest(tmp_path / "repeated.o") == before
    if not options:
        assert (tmp_path / "repeated.o").read_bytes() != (tmp_path / "made.o").read_bytes()
    others = [
        digest(text % ('printf("c\\n"); printf("d\\n");', 3)),
        digest(text % ('printf("b\\n"); printf("d\\n");', 4)),
        digest(content.replace("int f", "int g")),
        digest(content.replace("int f", "static int f") + "int (*g)(int) = f;\n"),
        digest(content.replace("int f", '__attribute__((visibility("hidden"))) int f')),
        digest(content, "-ffunction-sections"),
    ]
    assert len({before, *others}) == 1 + len(others)
    with pytest.raises(ValueError, match=r"source\.c"):
        content_digest(source)


def test_functions_are_sorted_by_change_of_size():
    before = {"same": 5, "less": 30, "gone": 20, "more": 7}
    after = {"same": 5, "less": 10, "more": 9, "OUTLINED_FUNCTION_0": 3, "OUTLINED_FUNCTION_12": 4}
    changes = [(each.name, each.before, each.after) for each in compare_functions(before, after)]
    assert changes == [
        ("gone", 20, 0),
        ("less", 30, 10),
        ("OUTLINED_FUNCTION_…", 0, 7),
        ("more", 7, 9),
    ]
    assert [each.saved for each in compare_functions(before, after)] == [20, 20, -7, -2]
    assert compare_functions(before, before) == []


def test_names(monkeypatch):
    symbols = ["main", "_Z5wordsRi", "OUTLINED_FUNCTION_…", "_ZN1a1bEv"]
    assert readable_names(symbols) == ["main", "words(int&)", "OUTLINED_FUNCTION_…", "a::b()"]
    assert readable_names([]) == []

    def missing(name):
        raise EnvironmentNotSupported(name)

    monkeypatch.setattr(object_file.llvm_tools, "tool_path", missing)
    assert readable_names(symbols) == symbols
