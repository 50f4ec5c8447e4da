"""Lock files: builds that search nothing and make the same bytes, and what looks after them."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compiler_gym.tuning.size.image import read_image
from compiler_gym.util import llvm_tools
from tests.cli.conftest import UNIT, compile_smaller

_MAKEFILE = """
CC = wrong
CFLAGS = -Oz
all: one.o src/two.o
%.o: %.c
\t$(CC) $(CFLAGS) -I include -c $(CURDIR)/$< -o $@
"""


def write_project(folder):
    (folder / "src").mkdir(parents=True)
    for number, name in enumerate(("one.c", "src/two.c")):
        (folder / name).write_text(UNIT.replace("NUMBER", str(number)))
    (folder / "Makefile").write_text(_MAKEFILE)


@pytest.fixture(name="place", scope="module")
def fixture_place(tmp_path_factory):
    """One folder for the project of all tests, whose path is in the objects, and one cache."""
    return tmp_path_factory.mktemp("lock")


@pytest.fixture(name="folder")
def fixture_folder(environment, place, monkeypatch):
    folder = place / "work"
    shutil.rmtree(folder, ignore_errors=True)
    write_project(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(place / "cache"))
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "4")
    monkeypatch.setenv("COMPILER_GYM_LOG", str(folder / "log"))
    return folder


def kinds(path="log"):
    return [line.split("\t")[0] for line in open(path)] if os.path.exists(path) else []


BUILD = ("--", "make", "-B", "-j2")


def test_a_build_on_another_machine_searches_nothing(run, folder, monkeypatch):
    done = run("lock", "update", "size.lock", *BUILD)
    assert re.findall(r"^(\S+) +\d+ +new$", done.stdout, re.M) == ["one.c", "src/two.c"]
    assert not [name for name in os.listdir() if name.startswith(".")]
    text = (folder / "size.lock").read_text()
    units = json.loads(text)["units"]
    assert [each["source"] for each in units] == ["one.c", "src/two.c"]
    assert {each["options"] for each in units} == {"-Oz"} and str(folder) not in text
    assert all(each["after"] < each["before"] and each["decisions"] for each in units)
    # Another folder, with an empty cache.
    other = folder.parent / "other"
    write_project(other)
    shutil.copy("size.lock", other)
    monkeypatch.chdir(other)
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(other / "cache"))
    monkeypatch.setenv("COMPILER_GYM_LOG", str(other / "log"))
    done = run("lock", "verify", "size.lock", *BUILD)
    assert "2 object files, 2 with the same bytes as when they were locked." in done.stdout
    for name in ("one.o", "src/two.o"):
        assert (other / name).read_bytes() == (folder / name).read_bytes()
    assert (other / "size.lock").read_text() == text and not (other / "cache/size-objects").exists()
    with_lock = ("--lock", "size.lock", "-Oz", "-c", "one.c", "-o", "one.o")
    (other / "one.o").unlink()
    compile_smaller(*with_lock, "-Wall")
    assert (other / "one.o").read_bytes() == (folder / "one.o").read_bytes()
    assert kinds() == ["lock"]
    # An edit makes one unit stale, of which the other knows nothing.
    (other / "one.c").write_text((other / "one.c").read_text() + "int g(void) { return 3; }\n")
    frozen = compile_smaller("--frozen", *with_lock, check=False)
    assert frozen.returncode == 1
    assert "for one.c with the options '-Oz', got one for another content" in frozen.stderr
    assert "`compiler-gym lock update`" in frozen.stderr
    compile_smaller(*with_lock)
    assert kinds() == ["lock", "search"]
    done = run("lock", "diff", folder / "size.lock", "size.lock")
    assert re.search(r"^one\.c +\d+ +\d+ +for another content of the source$", done.stdout, re.M)
    assert "1 unit as before" in done.stdout


def test_frozen(folder, monkeypatch):
    words = ("--lock", "size.lock", "--frozen", "-c")
    done = compile_smaller(*words, "-Oz", "one.c", check=False)
    assert done.returncode == 1 and "expected an entry for one.c" in done.stderr
    assert not (folder / "one.o").exists() and not (folder / "size.lock").exists()
    # What is not searched has no entry.
    compile_smaller(*words, "-O2", "one.c")
    (folder / "probe.c").write_text("int f(void) { return 3; }\n")
    compile_smaller(*words, "-Oz", "probe.c")
    done = compile_smaller("--frozen", "-c", "-Oz", "one.c", check=False)
    assert "set COMPILER_GYM_LOCK, or say --lock FILE" in done.stderr and done.returncode == 1
    monkeypatch.setenv("COMPILER_GYM_LOCK", "size.lock")
    done = compile_smaller("-c", "-Oz", "one.c", check=False)
    assert "expected an absolute path, got 'size.lock'" in done.stderr and done.returncode == 1


def test_a_locked_unit_needs_no_cache(folder, monkeypatch):
    words = ("--lock=size.lock", "-Oz", "-c", "one.c")
    compile_smaller(*words)
    made = (folder / "one.o").read_bytes()
    lock = json.loads((folder / "size.lock").read_text())
    lock["units"][0]["left_out"] = ["options: -disable-lsr"]  # It would be kept.
    (folder / "size.lock").write_text(json.dumps(lock))
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(folder / "one.c"))
    compile_smaller("--frozen", *words)
    assert (folder / "one.o").read_bytes() == made and kinds()[-1] == "lock"


def test_mismatches_are_searched_again(folder):
    words = ("--lock=size.lock", "-Oz", "-c", "one.c")
    compile_smaller(*words)
    for name, other, said in (
        ("compiler", "clang version 3", "got one of clang version 3, and this is"),
        ("version", "0.1", "got one of compiler-gym 0.1, and this is"),
    ):
        facts = json.loads((folder / "size.lock").read_text())
        facts["units"][0][name] = other
        (folder / "size.lock").write_text(json.dumps(facts))
        assert said in compile_smaller(*words, "--frozen", check=False).stderr
        compile_smaller(*words)
        assert json.loads((folder / "size.lock").read_text())["units"][0][name] != other
    (folder / "size.lock").write_text("<<<<<<< ours\n")
    done = compile_smaller(*words, check=False)
    assert done.returncode == 1 and "is not a lock file of compiler-gym" in done.stderr


# Each function becomes smaller alone.
_CALLS = """
int use(int, int);
int NAME(int n, int m) {
  int sum = 0, last = n;
  for (int i = 0; i < n; i++) {
    int a = use(i, m), b = use(a, m + i);
    sum += use(a * last, sum) + use(b ^ a, m + last);
    last = a + b * m;
  }
  return sum + last;
}
"""


def code_of(path, name):
    return [each.text for each in read_image(path).assembly[name]]


def test_exclusions_are_part_of_an_entry(folder, monkeypatch):
    (folder / "one.c").write_text("".join(_CALLS.replace("NAME", each) for each in ("f0", "f0_2")))
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "4")
    plain = [llvm_tools.clang_path(), "-Oz", "-c", "one.c", "-o", "plain.o"]
    subprocess.run(plain, check=True)
    words = ("--lock", "size.lock", "-Oz", "-c", "one.c")
    monkeypatch.setenv("COMPILER_GYM_EXCLUDE", "f0_2")
    monkeypatch.setenv("COMPILER_GYM_WITHOUT", "frame-pointers")
    compile_smaller(*words)
    made = (folder / "one.o").read_bytes()
    (unit,) = json.loads((folder / "size.lock").read_text())["units"]
    assert (unit["excluded"], unit["without"]) == (["f0_2"], ["frame-pointers"])
    assert unit["decisions"] and "frame-pointer=all" not in str(unit["decisions"])
    # They hold wherever the file is used, without the variables.
    for name in ("EXCLUDE", "WITHOUT"):
        monkeypatch.delenv(f"COMPILER_GYM_{name}")
    compile_smaller(*words, "--frozen")
    assert (folder / "one.o").read_bytes() == made and kinds() == ["search", "lock"]
    assert code_of("one.o", "f0_2") == code_of("plain.o", "f0_2")
    assert code_of("one.o", "f0") != code_of("plain.o", "f0")
    # Decisions that were found with fewer exclusions do not count.
    (folder / "names").write_text("f0\n")
    for name, value in (("EXCLUDE_FROM", "names"), ("WITHOUT", "calls"), ("MAX_STACK_GROWTH", "8")):
        with monkeypatch.context() as patch:
            patch.setenv(f"COMPILER_GYM_{name}", value)
            assert (
                "with fewer exclusions" in compile_smaller(*words, "--frozen", check=False).stderr
            )
    monkeypatch.setenv("COMPILER_GYM_EXCLUDE_FROM", "names")
    compile_smaller(*words)
    assert kinds() == ["search", "lock", "search"]
    assert code_of("one.o", "f0") == code_of("plain.o", "f0")


def test_verify_notices_other_bytes(run, folder):
    run("lock", "update", "size.lock", *BUILD)
    facts = json.loads((folder / "size.lock").read_text())
    facts["units"][0]["object"] = "0" * 32
    (folder / "size.lock").write_text(json.dumps(facts))
    done = run("lock", "verify", "size.lock", *BUILD, code=1)
    assert re.search(r"one\.o: other bytes than when it was locked$", done.stdout, re.M)
    assert "2 object files, 1 with the same bytes" in done.stdout
    done = run("lock", "verify", "size.lock", "--", "make", code=1)
    assert "It has to compile everything again" in done.stderr
    assert "exit code 3" in run("lock", "verify", "size.lock", "--", "exit 3", code=1).stderr


def test_update_drops_missing_sources(run, fails, folder, monkeypatch):
    run("lock", "update", "size.lock", *BUILD)
    done = run("lock", "explain", "size.lock")
    assert re.search(r"^src/two\.c +\d+ +\d+ +[\d.]+% +\d+ +0$", done.stdout, re.M)
    assert re.search(r"^2 units: \d+, where clang makes \d+\.$", done.stdout, re.M)
    done = run("lock", "explain", "size.lock", "one.c")
    assert done.stdout.startswith("one.c -Oz\n  ") and "4 evaluations" in done.stdout
    assert re.search(r"^  (options|passes|calls|functions): ", done.stdout, re.M)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "There is no unit 'on.c'. Did you mean one.c?" in fails(
        "lock", "explain", "size.lock", "on.c"
    )
    (folder / "one.c").unlink()
    done = run("lock", "update", "size.lock", "--", "make", "-B", "src/two.o")
    assert re.search(r"^one\.c +\d+ +gone$", done.stdout, re.M)
    assert "1 unit as before" in done.stdout
    # The sources are beside the lock file, wherever one is.
    monkeypatch.chdir("src")
    done = run("lock", "update", "../size.lock", "--", "make", "-C", "..", "-B", "src/two.o")
    assert done.stdout.startswith("1 unit as before; all together ")


_UNIT = {
    "source": "one.c",
    "options": "-Oz",
    "content": "0" * 32,
    "compiler": "clang version 22.1.8",
    "version": "1.0.0",
    "objective": "bytes",
    "before": 10,
    "after": 5,
    "evaluations": 4,
    "from_bitcode": False,
    "decisions": {"calls": ["3=inline"]},
    "left_out": [],
    "object": "0" * 32,
}


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("before", "10", "expected before of the type int, got '10'"),
        ("decisions", {"calls": [3]}, "expected decisions of the type dict[str, list[str]], got"),
        ("decisions", {"calls": ["x=inline"]}, "invalid literal for int()"),
        ("decisions", {"cells": []}, "expected decisions, got cells"),
        ("left_out", None, "expected left_out of the type list[str], got None"),
        ("without", ["inlining"], "'inlining' is not a valid Kind"),
        ("sauce", "one.c", "sauce"),
    ],
)
def test_explain_of_a_damaged_entry(fails, environment, field, value, said):
    Path("size.lock").write_text(json.dumps({"format": 1, "units": [_UNIT | {field: value}]}))
    line = fails("lock", "explain", "size.lock", "one.c")
    assert "size.lock is not a lock file of compiler-gym (unit 1: " in line and said in line


def test_all_commands_name_a_damaged_file(fails, environment):
    Path("good.lock").write_text(json.dumps({"format": 1, "units": [_UNIT]}))
    for content in (b"[]", b"\xff{}", b'{"format": 1, "units": [null]}', b"[" * 100_000):
        Path("size.lock").write_bytes(content)
        for words in (
            ("explain", "size.lock"),
            ("diff", "good.lock", "size.lock"),
            ("verify", "size.lock", "--", "touch built"),
            ("update", "size.lock", "--", "touch built"),
        ):
            assert "size.lock is not a lock file of compiler-gym (" in fails("lock", *words)
    assert not os.path.exists("built")
    os.mkdir("folder")
    assert "expected a lock file, got the folder folder" in fails("lock", "explain", "folder")
