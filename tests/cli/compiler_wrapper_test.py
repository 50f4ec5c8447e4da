"""``compiler-gym-cc`` in builds: what it makes, what it keeps, and what it leaves alone."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from compiler_gym.cli import kept_objects
from compiler_gym.tuning.size.compilation import (
    Compilation,
    change_from_json,
    joined_decisions,
    single_decisions,
)
from compiler_gym.tuning.size.image import read_image
from compiler_gym.tuning.size.object_file import read_object, read_with_instructions
from compiler_gym.tuning.size.one_run import description, one_run_options
from compiler_gym.tuning.size.trial_linking import trial_linker
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import served_slots
from compiler_gym.util.runfiles_path import runfiles_path
from tests.cli.conftest import UNIT, compile_smaller, own_clang
from tests.effort import effort
from tests.processes import command_lines, descendants, is_running, wait_until

KERNEL = runfiles_path("compiler_gym/data/kernels-v0/json/program.c")

_SOURCE = '#include "limit.h"\n' + UNIT.replace("100", "LIMIT").replace("NUMBER", "0")


@pytest.fixture(name="folder")
def fixture_folder(environment, monkeypatch):
    (environment / "unit.c").write_text(_SOURCE)
    (environment / "limit.h").write_text("#define LIMIT 100\n")
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "4")
    monkeypatch.setenv("COMPILER_GYM_LOG", str(environment / "log"))
    return environment


def command(*words):
    script = "from compiler_gym.cli.compiler_wrapper import cc; cc()"
    return [sys.executable, "-c", script, *map(str, words)]


def clang(*words):
    subprocess.run([llvm_tools.clang_path(), *words], check=True)


def all_lines():
    if not os.path.exists("log"):
        return []
    text = Path("log").read_text(encoding="utf-8", errors="surrogateescape")
    return [line.split("\t") for line in text.split("\n")[:-1]]


def log():
    """The searches of the log: before, after, evaluations, seconds, object file, note."""
    return [words for kind, *words in all_lines() if kind == "search"]


def test_units_become_smaller_once(folder):
    clang("-Oz", "-c", "unit.c", "-o", "clang.o")
    compile_smaller("-Oz", "-c", "unit.c", "-o", "unit.o")
    sizes = (trial_linker(()).size(folder / name) for name in ("clang.o", "unit.o"))
    before, after = (each.loaded for each in sizes)
    assert after < before
    ((said_before, said_after, used, _, *rest),) = log()
    assert [int(said_before), int(said_after), used, *rest] == [before, after, "4", "unit.o", ""]
    # The second time, what was found is taken.
    contents = (folder / "unit.o").read_bytes()
    (folder / "unit.o").unlink()
    compile_smaller("-c", "unit.c", "-Oz")  # Without its name, as clang calls it.
    assert (folder / "unit.o").read_bytes() == contents and len(log()) == 1
    assert all_lines()[1] == ["kept", str(before), str(after), "", "", "unit.o", ""]
    # A header is part of what is compiled; the name of the output is not.
    (folder / "limit.h").write_text("#define LIMIT 99\n")
    compile_smaller("-Oz", "-c", "unit.c", "-o", "unit.o")
    assert len(log()) == 2 and (folder / "unit.o").read_bytes() != contents


def test_one_run_has_the_plugin(folder, monkeypatch):
    flags = compile_smaller("--print-one-run-flags").stdout.split()
    assert flags == one_run_options()
    clang("-Oz", *flags, "-c", "unit.c", "-o", "clang.o")
    compile_smaller("--one-run", "-Oz", "-c", "unit.c", "-o", "unit.o")
    assert (folder / "unit.o").read_bytes() == (folder / "clang.o").read_bytes()
    ((kind, *_, note),) = all_lines()
    assert kind == "one run" and note.startswith(f"{description()}: -Oz -c unit.c")
    done = compile_smaller("--one-run=verfy", "-Oz", "-c", "unit.c", check=False)
    assert done.returncode == 1 and "got --one-run=verfy" in done.stderr
    # No search: its settings would have no effect.
    monkeypatch.setenv("COMPILER_GYM_WITHOUT", "calls")
    done = compile_smaller("--one-run", "-Oz", "-c", "unit.c", check=False)
    assert done.returncode == 1
    assert "expected COMPILER_GYM_ONE_RUN or COMPILER_GYM_WITHOUT, got both" in done.stderr


@pytest.mark.parametrize("words", [["--print-one-run-flags"], ["--cache-key", "-c", "unit.c"]])
def test_text_that_cannot_be_written_is_an_error(folder, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(command(*words), stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "compiler-gym: No space left on device\n")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command(*words), stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")


def test_help_has_own_options_after_those_of_clang(folder):
    text = compile_smaller("--help").stdout
    assert text.startswith("OVERVIEW: clang")
    assert "\n  --one-run=verify " in text.rpartition("\nOPTIONS OF compiler-gym-cc")[2]


@pytest.mark.parametrize("objective", ["all", "text"])
def test_smaller_one_of_two_runs_is_kept(folder, monkeypatch, objective):
    monkeypatch.setenv("COMPILER_GYM_OBJECTIVE", objective)
    clang("-Oz", "-c", "unit.c", "-o", "clang.o")
    compile_smaller("--one-run=verify", "-Oz", "-c", "unit.c", "-o", "unit.o")
    ((kind, before, after, *_, name, note),) = all_lines()
    assert (kind, name) == ("one run", "unit.o") and note.startswith("model for x86_64: ")
    sizes = [_size(name, objective) for name in ("clang.o", "unit.o")]
    assert sizes == [int(before), min(int(before), int(after))]
    options = ["-Oz", "--target=riscv64-unknown-elf", "-ffreestanding"]
    compile_smaller("--one-run=verify", *options, "-c", "unit.c", "-o", "other.o")
    clang(*options, "-c", "unit.c", "-o", "clang.o")
    assert (folder / "other.o").read_bytes() == (folder / "clang.o").read_bytes()
    assert all_lines()[1][-1] == "no model for riscv64, so the code is that of clang"
    options = ["-Oz", "--target=thumbv7em-none-eabi", "-ffreestanding"]
    compile_smaller("--one-run=verify", *options, "-c", "unit.c", "-o", "other.o")
    assert all_lines()[2][-1].startswith("model for thumb: ")


def _size(name, objective):
    found = read_object(Path(name))
    return found.text if objective == "text" else found.all


def test_edited_unit_starts_from_its_former_version(folder, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "2")
    compile_smaller("-Oz", "-c", "unit.c")
    (folder / "unit.c").write_text(_SOURCE.replace("x * 5", "x * 6"))
    compile_smaller("-Oz", "-c", "unit.c", "-o", "unit.o")
    notes = [words[-1] for words in log()]
    assert notes == [
        "",
        "began with the decisions for a former version of the source: 3 of 4 functions unchanged",
    ]
    (kept,) = {each for each in facts_of_kept() if each is not None}
    assert kept == 3
    # Without a memory, the result is that of an empty cache.
    monkeypatch.setenv("COMPILER_GYM_MEMORY", "0")
    (folder / "unit.c").write_text(_SOURCE.replace("x * 5", "x * 7"))
    made = []
    for cache in ("cache", "empty"):
        monkeypatch.setenv("COMPILER_GYM_CACHE", str(folder.parent / cache))
        compile_smaller("-Oz", "-c", "unit.c", "-o", "unit.o")
        made.append((folder / "unit.o").read_bytes())
    assert made[0] == made[1] and [words[-1] for words in log()][2:] == ["", ""]


def facts_of_kept():
    folder = Path(os.environ["COMPILER_GYM_CACHE"], "size-objects")
    return [json.loads(each.read_text())["same_functions"] for each in folder.glob("*.json")]


def test_probes_cost_no_time(folder, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "500")
    (folder / "probe123.c").write_text(
        "int f(int x) { return x * 3; }\nint main() { return f(2); }\n"
    )
    shutil.copy("unit.c", "ztest4711.c")  # This is what the configure script of zlib compiles.
    os.rename("unit.c", "conftest.c")
    for name in ("probe123", "conftest", "ztest4711"):
        compile_smaller("-Oz", "-c", f"{name}.c")
    assert log() == []
    assert [words[6].partition(":")[0] for words in all_lines()] == [
        "less than 100 bytes of code",
        "probe of a build system",
        "probe of a build system",
    ]
    for name in ("probe123", "conftest", "ztest4711"):
        clang("-Oz", "-c", f"{name}.c", "-o", "clang.o")
        assert (folder / f"{name}.o").read_bytes() == (folder / "clang.o").read_bytes()


def test_the_log_has_the_reason_for_an_object_file_of_clang(folder):
    (folder / "split").write_text("-gsplit-dwarf -g")
    for words, reason in (
        (["-O2", "-c", "unit.c", "-o", "unit.o"], "neither -Os nor -Oz"),
        (["-Oz", "-S", "unit.c"], "no -c"),
        (["-Oz", "-flto", "-c", "unit.c"], "no object file of one source"),
        (["-Oz", "-fsanitize=undefined", "-c", "unit.c"], "-fsanitize=alignment"),
        (["-Oz", "-c", "unit.c", "-o", "/dev/null"], "the output is not a file"),
        (["-Oz", "-c", "-x", "c", "-"], "- may be read once"),
        (["-Oz", "-c", "unit.c", "@split"], "-split-dwarf-output describes the code of clang"),
        (["-Oz", "-c", "unit.c", "-fstack-usage"], "-stack-usage-file describes the code of"),
    ):
        compile_smaller(*words)
        note = all_lines()[-1][6]
        assert note.startswith(reason) and note.endswith(f": {shlex.join(words)}")
    assert log() == []


def test_another_level_and_objective_for_all(folder, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_LEVEL", "-Oz")
    monkeypatch.setenv("COMPILER_GYM_OBJECTIVE", "text")
    clang("-Oz", "-c", "unit.c", "-o", "clang.o")
    compile_smaller("-O2", "-g", "-c", "unit.c", "-o", "unit.o")
    ((before, after, *_),) = log()
    assert int(before) == read_object(folder / "clang.o").text > int(after)
    assert read_object(folder / "unit.o").text == int(after)
    # The level counts for object files that are not searched, too.
    clang("-Oz", "-fstack-usage", "-c", "unit.c", "-o", "clang.o")
    compile_smaller("-O2", "-fstack-usage", "-c", "unit.c", "-o", "unit.o")
    assert (folder / "unit.o").read_bytes() == (folder / "clang.o").read_bytes()


def test_fewest_instructions(folder, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_OBJECTIVE", "instructions")
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "12")
    monkeypatch.setenv("COMPILER_GYM_BUDGET", "1m")
    # For size, clang makes a push and a pop of each constant.
    constants = (f"int f{number}(void) {{ return {number + 2}; }}" for number in range(30))
    (folder / "unit.c").write_text("\n".join(constants))
    clang("-Oz", "-c", "unit.c", "-o", "clang.o")
    compile_smaller("-Oz", "-c", "unit.c", "-o", "unit.o")
    ((before, after, *_),) = log()
    counts = [read_with_instructions(folder / name) for name in ("clang.o", "unit.o")]
    assert [int(before), int(after)] == [each.instruction_count for each in counts]
    assert int(after) < int(before)
    # A hundred bytes of code are worth a search, not only a hundred instructions.
    assert counts[0].instruction_count < 100 < counts[0].text


def test_errors_in_the_search_do_not_fail_the_build(folder, monkeypatch):
    clang("-Oz", "-c", "unit.c", "-o", "clang.o")
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(folder / "clang.o"))
    compile_smaller("-Oz", "-c", "unit.c", "-o", "unit.o")
    assert (folder / "unit.o").read_bytes() == (folder / "clang.o").read_bytes()
    assert "COMPILER_GYM_CACHE" in all_lines()[0][6] and log() == []


def test_result_that_cannot_be_kept_is_used(folder):
    clang("-Oz", "-c", "unit.c", "-o", "clang.o")
    cache = folder.parent / "cache"
    cache.mkdir()
    (cache / "size-objects").touch()  # Where the folder of kept results should be.
    made = compiled()
    ((_, before, after, *_),) = all_lines()  # No error.
    assert int(after) < int(before)
    assert made != (folder / "clang.o").read_bytes()


def compiled():
    """The bytes that a compilation makes."""
    compile_smaller("-Oz", "-c", "unit.c", "-o", "unit.o")
    return Path("unit.o").read_bytes()


def test_equal_bytes_with_any_number_of_jobs_in_two_caches(folder, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", effort("4", "30"))
    results = set()
    with served_slots(3, folder) as served:
        for cache, makeflags in (("one", ""), ("two", served.makeflags)):
            monkeypatch.setenv("COMPILER_GYM_CACHE", str(folder / cache))
            monkeypatch.setenv("MAKEFLAGS", makeflags)
            results.add(compiled())
    assert [words[0] for words in all_lines()] == ["search"] * 2
    assert len(results) == 1
    assert log()[0][:3] == log()[1][:3]


def test_results_are_minimised_and_kept(folder, monkeypatch):
    # As many evaluations may leave parts out.
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "24")
    compiled()
    files = (path for path in (folder.parent / "cache").rglob("*") if path.is_file())
    memory, path, made = sorted(files)  # Nothing else is left.
    assert (memory.parent.name, path.suffix, made.suffix) == ("size-memory", ".json", ".o")
    facts = json.loads(path.read_text())
    decisions = single_decisions(facts["decisions"])
    assert decisions and facts["tried"] == facts["evaluations"] == 24
    assert facts["after"] < facts["before"] and facts["objective"] == "all"
    (folder / "unit.o").unlink()
    subprocess.run(facts["command"], check=True)
    assert trial_linker(()).size(folder / "unit.o").loaded == facts["after"]
    # Of the decisions that the search comes to, one costs nothing to leave out.
    compilation = Compilation(
        *(llvm_tools.clang_path(), folder / "unit.c", ("-Oz", "-w"), llvm_tools.own_passes_path())
    )
    for each in decisions:
        rest = joined_decisions([other for other in decisions if other != each])
        subprocess.run(compilation.command(folder / "x.o", change_from_json(rest)), check=True)
        assert trial_linker(()).size(folder / "x.o").loaded > facts["after"], each


def test_better_results_replace_worse_ones(folder, monkeypatch):
    outcomes = []
    for evaluations in (1, 4, 3, 4):
        monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", str(evaluations))
        outcomes.append(compiled())
    assert [words[0] for words in all_lines()] == ["search", "search", "kept", "kept"]
    assert outcomes[0] != outcomes[1] == outcomes[2] == outcomes[3]
    # A search that the clock ended is kept for builds with as little time, and for no others.
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "6")
    for budget, kind in (("0s", "search"), ("0s", "kept"), ("60s", "search"), ("1s", "kept")):
        monkeypatch.setenv("COMPILER_GYM_BUDGET", budget)
        best = compiled()
        assert all_lines()[-1][0] == kind, budget
    assert len(best) and best != outcomes[0]
    assert log()[2][5] == "ended by the time limit after 0 evaluations" and log()[3][5] == ""


_NAMES = ("first", "second")

# Frame pointers and inlining decisions make both functions smaller.
_CALLS = """
int use(int, const char *);
static int both(int a, int b) { return use(a ^ b, 0) + use(a, 0) * use(b, 0); }
int NAME(int n, const char *text) {
  int sum = 0, last = n;
  for (int i = 0; i < n; i++) {
    int a = use(i, text), b = use(a, text + i), c = use(a + b, text);
    sum += both(a * last, sum) + use(b ^ c, text + last);
    last = a + b * c;
  }
  return sum + last;
}
"""


def test_exclusions(folder, monkeypatch):
    (folder / "unit.c").write_text(
        "".join(_CALLS.replace("NAME", each).replace("both", f"{each}_2") for each in _NAMES)
    )
    (folder / "names").write_text("second\n")
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "4")
    clang("-Oz", "-c", "unit.c", "-o", "clang.o")

    def changed(**variables):
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(f"COMPILER_GYM_{name}", value)
            compiled()
        codes = [read_image(name).assembly for name in ("clang.o", "unit.o")]
        return {
            name
            for name in _NAMES
            if [each.text for each in codes[0][name]] != [each.text for each in codes[1][name]]
        }

    assert changed() == {"first", "second"}
    assert changed(EXCLUDE="first") == {"second"}
    assert changed(EXCLUDE_FROM="names:/dev/null", WITHOUT="options,calls") == {"first"}
    assert changed(WITHOUT="functions,calls,options") == set()
    assert changed(MAX_STACK_GROWTH="0") <= {"first", "second"}
    assert changed(EXCLUDE="elsewhere.c,unit.c") == set()
    assert all_lines()[-1][6].startswith("COMPILER_GYM_EXCLUDE has the source")
    # Each set of exclusions has results of its own.
    assert changed() == {"first", "second"}
    assert [words[0] for words in all_lines()] == ["search"] * 5 + ["clang", "kept"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1])
def test_signals_end_it_as_they_end_clang(folder, monkeypatch, scratch, number):
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "100000")
    words = command("-Oz", "-c", KERNEL, "-std=c11", "-w", "-o", "kernel.o")
    process = subprocess.Popen(words, start_new_session=True, stderr=subprocess.PIPE)
    wait_until(lambda: list(scratch.glob("*/[0-9]*.o")))
    started = descendants(process.pid)
    # Ctrl-C reaches the whole group, other signals often one process.
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, stderr = process.communicate(timeout=100)
    assert process.returncode == -number and b"Traceback" not in stderr
    wait_until(lambda: not any(map(is_running, started)))
    assert not (folder / "kernel.o").exists() and os.listdir(scratch) == []


@pytest.mark.parametrize("is_ignored", [False, True])
def test_signals_reach_clang_unless_ignored(folder, is_ignored):
    os.mkfifo(folder / "pipe.h")
    (folder / "waits.c").write_text('#include "pipe.h"\n')
    words = command("-Oz", "-c", "waits.c", "-o", "x.o")
    process = subprocess.Popen(["nohup", *words] if is_ignored else words)
    wait_until(lambda: any("waits.c" in line for line in command_lines(descendants(process.pid))))
    process.send_signal(signal.SIGHUP)
    if is_ignored:
        (folder / "pipe.h").write_text("int x;\n")
    assert process.wait(100) == (0 if is_ignored else -signal.SIGHUP)
    assert (folder / "x.o").exists() == is_ignored


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_clang_that_is_killed(folder, monkeypatch, number):
    # Such as by the kernel, if memory runs out.
    real = llvm_tools.clang_path()
    own_clang(
        folder,
        f'case "$1" in -Oz) ulimit -c 0; kill -{number:d} $$;; esac; {real} "$@"',
        monkeypatch,
    )
    words = command("-Oz", "-c", "unit.c", "-o", "unit.o")
    done = subprocess.run(words, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (-number, b"")


def test_units_whose_assembly_reads_files_are_not_kept(folder, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "1")
    blob = '__asm__(".globl blob\\nblob:\\n.%s \\"blob.txt\\"\\n");\n'
    for directive, text in (("incbin", "{}"), ("include", '.ascii "{}"\n')):
        (folder / "unit.c").write_text(_SOURCE + blob % directive)
        for version in ("version 1", "version 2"):
            (folder / "blob.txt").write_text(text.format(version))
            assert version.encode() in compiled()
    assert [words[0] for words in all_lines()] == ["search"] * 4
    assert not [*(folder.parent / "cache/size-objects").glob("*.o")]


def test_a_source_that_changes_is_left_as_clang_made_it(folder, monkeypatch):
    # This makes another object file each time, as a source that is edited meanwhile.
    (folder / "unit.c").write_text(_SOURCE + "const char *now(void) { return __TIMESTAMP__; }\n")
    real = llvm_tools.clang_path()
    edit = 'case "$1" in -Oz) cp unit.o plain.o; touch -d "1 day ago" unit.c;; esac'
    own_clang(folder, f'{real} "$@"; code=$?\n{edit}\nexit $code', monkeypatch)
    compile_smaller("-Oz", "-c", "unit.c", "-o", "unit.o")
    assert (folder / "unit.o").read_bytes() == (folder / "plain.o").read_bytes()
    assert all_lines()[-1][6] == "the bitcode of the source makes another object file than clang"


def test_log_that_cannot_be_written(folder, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_LOG", "none/log")
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "1")
    for level in ("-O2", "-Oz"):
        done = compile_smaller(level, "-c", "unit.c", "-o", f"unit{level}.o")
        (line,) = done.stderr.splitlines()
        assert line.startswith("compiler-gym: warning: cannot write none/log: No such file or")
        assert (folder / f"unit{level}.o").exists()


def test_names_that_are_not_utf8(folder, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "1")
    name = os.fsdecode(b"caf\xe9")
    shutil.copy("unit.c", f"{name}.c")
    words = ("--lock", "size.lock", "-Oz", "-c", f"{name}.c", "-o", f"{name}.o")
    compile_smaller(*words)
    made = Path(f"{name}.o").read_bytes()
    compile_smaller(*words, "--frozen")
    assert [words[5] for words in all_lines()] == [f"{name}.o"] * 2
    assert [words[0] for words in all_lines()] == ["search", "lock"]
    assert Path(f"{name}.o").read_bytes() == made
    (unit,) = json.loads((folder / "size.lock").read_text(encoding="utf-8"))["units"]
    assert unit["source"] == f"{name}.c"
    monkeypatch.setenv("COMPILER_GYM_RECORD", str(folder))
    compile_smaller("--lock", "size.lock", "-O2", "-c", f"{name}.c")
    compile_smaller("--lock", "size.lock", *words[2:])


def test_programs_of_several_languages(folder, monkeypatch):
    (folder / "thrower.cc").write_text(
        "#include <stdexcept>\n#include <string>\n"
        "static std::string text(int x) { return std::to_string(x * 3); }\n"
        "int thrower(int x) {\n"
        "  if (x > 3) throw std::runtime_error(text(x) + text(x + 1));\n"
        "  return x + (int)text(x).size();\n"
        "}\n"
    )
    (folder / "main.cc").write_text(
        '#include <cstdio>\n#include <exception>\nextern "C" unsigned unit_0(unsigned);\n'
        "int thrower(int);\n"
        "int main() {\n"
        '  try { std::printf("%u %d ", unit_0(3), thrower(1)); thrower(5); }\n'
        "  catch (const std::exception& error) { std::puts(error.what()); }\n"
        "}\n"
    )
    outputs = []
    for compiler in ("plain", "smaller"):
        if compiler == "plain":
            monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "0")
        else:
            monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", effort("2", "60"))
        for name in ("unit.c", "thrower.cc", "main.cc"):
            compile_smaller("-Os", "-c", name, function="cc" if name == "unit.c" else "cxx")
        compile_smaller("unit.o", "thrower.o", "main.o", "-o", compiler, function="cxx")
        outputs.append(subprocess.run([folder / compiler], capture_output=True, text=True).stdout)
    assert outputs[0] == outputs[1]
    assert outputs[0].endswith("1518\n")
    sizes = [[int(size) for size in line[:2]] for line in log()]
    assert all(after <= before for before, after in sizes)
    assert sum(after for _, after in sizes[3:]) < sum(before for before, _ in sizes[3:])


def test_least_recently_used_is_evicted(environment, monkeypatch):
    monkeypatch.setattr(kept_objects, "_MAX_BYTES", 250)
    found = kept_objects.Found([], {}, True, "text", 2, 1, 3, 3, None)
    (environment / "made.o").write_bytes(b"x" * 100)
    kept = kept_objects.KeptObjects(environment / "kept")
    for age, name in enumerate(("old", "older", "oldest")):
        kept.put(name, environment / "made.o", found)
        os.utime(environment / "kept" / f"{name}.o", (1e9 - age, 1e9 - age))
    kept.put("new", environment / "made.o", found)
    assert sorted(os.listdir("kept")) == ["new.json", "new.o", "old.json", "old.o"]
    assert kept.get("new") == (environment / "kept" / "new.o", found)
    (environment / "kept" / "new.o").write_bytes(b"y")
    assert kept.get("new") is None
