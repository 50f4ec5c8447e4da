"""``compiler-gym optimize``: short searches through the program that people run."""

import json
import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from compiler_gym.cli.optimize_several import make_each
from compiler_gym.cli.options import parse_duration
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.trial_linking import trial_linker
from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import runfiles_path
from tests.cli.conftest import LOOP
from tests.effort import effort


def test_edited_program_starts_from_its_former_version(run, loop_c):
    words = ("optimize", "loop.c", "--objective", "text", "--evaluations", "1", "--", "-w")
    assert "former version" not in run(*words).stdout
    loop_c.write_text(LOOP.replace("20000", "20001"))
    assert "a former version of the source: 3 of 4 functions unchanged.\n" in run(*words).stdout
    loop_c.write_text(LOOP.replace("20000", "20002"))
    for flag, expected in (("--no-memory", None), ("--memory", {"same": 3, "functions": 4})):
        (result,) = json.loads(run(*words[:-2], flag, "--json", *words[-2:]).stdout)
        assert result["memory"] == expected and result["ended_by_time_limit"] is False


def test_a_program_becomes_smaller_and_still_works(run, environment, loop_c):
    subprocess.run("clang-22 loop.c -o plain && ./plain > expected", shell=True, check=True)
    check = "clang-22 {} -o p && ./p | cmp - expected"
    done = run(
        *("optimize", "loop.c", "-o", "made.o", "--evaluations", "6", "--script", "r"),
        *("--check", check, "--", "-std=c11", "-w"),
    )
    assert "Ended by" not in done.stdout
    before, after = map(
        int,
        re.search(
            r"made\.o: (\d+) bytes loaded.* than the (\d+) of clang -Oz", done.stdout
        ).groups()[::-1],
    )
    assert after < 0.97 * before
    assert trial_linker(()).size(environment / "made.o").loaded == after
    assert f"Code: {read_object(environment / 'made.o').text} bytes" in done.stdout
    assert "Checked: it passes the check." in done.stdout
    assert re.search(r"^\w+ +\d+ +\d+ +-?\d+$", done.stdout, re.M)
    assert re.search(r"^part of the change +bytes more without it$", done.stdout, re.M)
    assert re.search(r"^-disable-[\w-]+ +\d+$", done.stdout, re.M)
    assert "and by r: identical" in done.stdout
    subprocess.run([environment / "r", environment / "again.o"], check=True, cwd="/")
    assert (environment / "again.o").read_bytes() == (environment / "made.o").read_bytes()
    command = done.stdout.partition("Made by\n")[2].splitlines()[0]
    (environment / "made.o").rename("first.o")
    subprocess.run(command, shell=True, check=True)
    assert (environment / "made.o").read_bytes() == (environment / "first.o").read_bytes()


def test_time_limit_is_reported(run, program_c):
    done = run("optimize", "program.c", "--budget", "0s")
    assert "Ended by the time limit after 0 evaluations: other runs may find" in done.stdout
    done = run("optimize", "program.c", "--budget", "0s", "--json")
    assert json.loads(done.stdout)[0]["ended_by_time_limit"] is True


@pytest.mark.parametrize("policy", ["coreset", "network"])
def test_policy_alone(run, environment, loop_c, policy):
    # Each sequence before the passes of clang, and in place of them.
    evaluations = 2 * (effort(1, 12) if policy == "coreset" else 1)
    done = run(
        *("optimize", loop_c, "-o", "b.o", "--policy", policy, "--evaluations", evaluations),
        *("--script", "r", "--json", "--", "-std=c11", "-w"),
    )
    (result,) = json.loads(done.stdout)
    assert [stage["name"] for stage in result["stages"]] == ["policy"]
    assert result["evaluations"] == evaluations and result["failed_evaluations"] == 0
    assert result["after"]["text"] <= result["before"]["text"]
    assert read_object(environment / "b.o").text == result["after"]["text"]
    assert result["command_repeats"] and result["script_repeats"]


def test_built_in_program_as_json_is_checked_by_running_it(run, environment):
    done = run("optimize", "base_codecs", "--evaluations", "1", "--json")
    (result,) = json.loads(done.stdout)
    assert result["checked"] and result["command_repeats"] and result["finished"]
    after, before = result["after"]["loaded"], result["before"]["loaded"]
    assert result["saved"] == pytest.approx(1 - after / before) and after < before
    assert result["experimental"] == [] and result["slowdown"] is None
    stack = result["stack"]["before"]
    assert 0 < stack["largest"] <= stack["total"] and stack["function"]
    assert 100 < min(result["cycles"].values()) < max(result["cycles"].values()) < 10_000
    assert result["before"]["instructions"] is result["after"]["instructions"] is None
    assert result["evaluations"] == 1 and result["curve"][0][0] == 0
    costs = [part["cost"] for part in result["parts"] if part["cost"] is not None]
    assert costs == sorted(costs, reverse=True) and costs[0] > 0
    names = (each["name"].partition(" in ")[0].removeprefix("no ") for each in result["parts"])
    command = " ".join(result["command"])
    assert [name for name in names if name not in command] == []
    assert sorted(os.listdir()) == ["base_codecs.input.bc", "base_codecs.o"]
    # The measure is what clang makes of the source.
    source = runfiles_path("compiler_gym/data/kernels-v0/base_codecs/program.c")
    options = ["-Oz", "-std=c11", "-w"]
    subprocess.run([llvm_tools.clang_path(), *options, "-c", source, "-o", "clang.o"], check=True)
    assert read_object(environment / "clang.o").text == result["before"]["text"]


def instructions_of(path):
    """All that llvm-objdump lists: with one section for each function there is no padding."""
    command = [llvm_tools.tool_path("llvm-objdump"), "-d", "--no-show-raw-insn", path]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return len(re.findall(r"^ +[0-9a-f]+: *\t", listed, re.M))


def test_fewest_instructions(run, environment, loop_c):
    options = ("-std=c11", "-w", "-ffunction-sections")
    asked = ("optimize", loop_c, "--objective", "instructions", "--evaluations", "2")
    done = run(*asked, "-o", "made.o", "--", *options)
    summary = r"^made\.o: (\d+) instructions, [\d.]+% fewer than the (\d+) of clang -Oz$"
    after, before = map(int, re.search(summary, done.stdout, re.M).groups())
    assert re.search(rf"^clang +0 +{before}$", done.stdout, re.M)
    assert re.search(r"^stage +evaluations +seconds +instructions +saved$", done.stdout, re.M)
    assert "bytes of code" not in done.stdout and "bytes loaded" not in done.stdout
    subprocess.run(
        [llvm_tools.clang_path(), "-Oz", *options, "-c", loop_c, "-o", "clang.o"], check=True
    )
    assert instructions_of("clang.o") == before
    assert instructions_of("made.o") == after < 0.98 * before
    (result,) = json.loads(run(*asked, "-o", "made.o", "--json", "--", *options).stdout)
    assert result["objective"] == "instructions" and result["command_repeats"]
    assert (result["before"]["instructions"], result["after"]["instructions"]) == (before, after)
    assert result["saved"] == pytest.approx(1 - after / before)
    assert result["stages"][-1]["size"] == result["curve"][-1][2] == after
    changes = result["functions"]
    assert sum(each["before"] - each["after"] for each in changes) == before - after > 0


def test_several_programs(run, environment, loop_c):
    (environment / "other.cc").write_text(
        "template <class T> T f(T x) { return x * 3; }\nint g() { return f(2); }\n"
    )
    done = run(
        *("optimize", "loop.c", "other.cc", "-o", "made/here", "--evaluations", "3"),
        *("--script", "again", "--", "-g"),
    )
    assert re.search(
        r"^other\.o +\d+ +\d+ +[\d.]+% +-?[\d.]+% +[+-][\d.]+% +3 +\d+ +not checked$",
        done.stdout,
        re.M,
    )
    assert re.search(r"^1 of 2 are smaller than those of clang -Oz, by \d", done.stdout, re.M)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert sorted(os.listdir("made/here")) == ["loop.o", "other.o"]
    # The bitcode has another name for debuggers than the source, which the report says.
    assert re.search(r"^again makes \d of 2 again, identical\.$", done.stdout, re.M)
    os.mkdir("copies")
    subprocess.run([environment / "again", environment / "copies"], check=True, cwd="/")
    assert sorted(os.listdir("copies")) == ["loop.o", "other.o"]


def test_one_of_several_takes_too_long(capsys):
    def make(index, program, target):
        if index == 1:
            raise subprocess.TimeoutExpired("clang", 60)
        return SimpleNamespace(is_finished=True)

    inputs = [(Input(name, Path(f"{name}.c")), Path(f"{name}.o")) for name in "abc"]
    made, (failed,) = make_each(inputs, make)
    assert len(made) == 2
    assert failed.as_json()["source"] == "b.c"
    assert "b.c: Command 'clang' timed out after 60 seconds" in capsys.readouterr().err


def test_one_of_several_does_not_compile(run, environment, program_c):
    (environment / "wrong.c").write_text("int f(void) { return g; }\n")
    several = ("optimize", "wrong.c", "program.c", "--evaluations", "1")
    done = run(*several, code=1)
    assert re.search(r"^program\.o +\d+ ", done.stdout, re.M)
    assert "wrong.c failed: no object file" in done.stdout
    assert re.search(r"^1 of 1 are smaller than those of clang -Oz, by \d", done.stdout, re.M)
    assert "use of undeclared identifier 'g'" in done.stderr
    assert sorted(os.listdir()) == ["program.c", "program.o", "wrong.c"]
    found = json.loads(run(*several, "--json", "--script", "s", code=1).stdout)
    by_source = {each["source"].rpartition("/")[2]: each for each in found}
    assert by_source["program.c"]["script_repeats"]
    assert "undeclared identifier" in by_source["wrong.c"]["error"]
    assert by_source["wrong.c"]["object"] is None


def test_nothing_to_gain(run, environment):
    (environment / "data.c").write_text("int data = 1;\n")
    done = run("optimize", "data.c", "--evaluations", "1", "--objective", "text")
    assert done.stdout.startswith("data.o: 0 bytes of code, as many as clang -Oz makes\n")
    (environment / "empty.c").write_text("/* Nothing at all. */\n")
    done = run("optimize", "empty.c", "--evaluations", "1")
    assert done.stdout.startswith("empty.o: 0 bytes loaded, as many as clang -Oz makes\n")


def test_messages_have_no_temporary_names(run, environment):
    (environment / "wrong.c").write_text("int f(void) { return g; }\n")
    failed = run("optimize", "wrong.c", code=1).stderr
    assert failed.startswith("compiler-gym: wrong.c does not compile. ")
    assert "use of undeclared identifier 'g'" in failed
    (environment / "part.c").write_text("int f(void) { return 1; }\n")
    failed += run("optimize", "part.c", "--objective", "linked", code=1).stderr
    assert "undefined reference to `main'" in failed
    assert "/compiler_gym-" not in failed


def test_a_whole_program(run, environment):
    (environment / "main.c").write_text(
        '#include <stdio.h>\nint twice(int);\nint main(void) { printf("%d\\n", twice(4)); }\n'
    )
    (environment / "twice.c").write_text(
        "int twice(int x) { return x + x; }\nint thrice(int x) { return twice(x) + x; }\n"
    )
    program = ("optimize", "main.c", "twice.c", "--whole-program", "--evaluations", "1")
    done = run(*program, "-o", "p.o", "--check", "clang-22 {} -o p && test $(./p) = 8")
    assert "Of its 2 parts, one by one, clang -Oz makes " in done.stdout
    assert "Checked: it passes the check." in done.stdout
    assert read_object(environment / "p.o").functions.keys() == {"main"}
    (result,) = json.loads(run(*program, "--keep", "main", "--keep", "thrice", "--json").stdout)
    assert result["apart"]["text"] > 0 and result["source"] == "main.whole.bc"
    assert {"main", "thrice"} <= read_object(environment / "main.o").functions.keys()


def test_no_output_takes_the_place_of_a_program_or_another_output(run, environment):
    source = b"int f(int x) { return x; }\n"
    for name in ("a.c", "b.whole.bc"):
        (environment / name).write_bytes(source)
    (environment / "link.c").symlink_to("a.c")
    for words in (
        "a.c -o a.c",
        "link.c -o a.c",
        "a.c --script ./a.c",
        "a.c --html a.c",
        "a.c --html a.o",
        "a.c -o b.o --script b.o",
        "a.c b.whole.bc -o b.o --whole-program",
    ):
        failed = run("optimize", *words.split(), "--evaluations", "1", code=2).stderr
        assert "is an input or another output" in failed, words
    failed = run("optimize", "a.c", "-o", "/dev/null", code=1).stderr
    assert "/dev/null is no ordinary file" in failed
    assert "name one" in run("optimize", "a.c", "-o", "-", code=2).stderr
    assert sorted(os.listdir()) == ["a.c", "b.whole.bc", "link.c"]
    assert {(environment / each).read_bytes() for each in os.listdir()} == {source}


def test_warnings_are_shown_once(run, environment):
    (environment / "w.c").write_text("int f(int x) { if (x = 1) return 2; return 3; }\n")
    done = run("optimize", "w.c", "--evaluations", "2")
    assert done.stderr.count("warning: using the result of an assignment") == 1


def test_ctrl_c_writes_the_best_and_cleans_up(interrupt, loop_c, scratch):
    asked = ("optimize", "loop.c", "-o", "j.o", "--evaluations", "100000")
    stdout = interrupt(*asked, when=lambda _: [*scratch.glob("*/[0-9]*.o")])
    assert "Ctrl-C ended the search" in stdout
    assert sorted(os.listdir()) == ["j.o", "loop.c"]
    assert f"Code: {read_object(loop_c.with_name('j.o')).text} bytes" in stdout
    assert os.listdir(scratch) == []


def test_a_limit_on_time(run, environment, loop_c):
    asked = ("optimize", "loop.c", "--json", "--run", "{}", "--evaluations")
    (result,) = json.loads(run(*asked, "2", "--max-slowdown", "1000").stdout)
    assert result["saved"] > 0 and result["checked"]
    assert 0.1 < result["slowdown"]["low"] <= result["slowdown"]["ratio"] < 1000
    # Nothing is ten times as fast, so that of clang is left.
    (result,) = json.loads(run(*asked, "2", "--max-slowdown", "0.1").stdout)
    assert result["saved"] == 0 and "--max-slowdown allows 0.1" in result["wrong"][0]["why"]


def test_durations():
    durations = {"60s": 60, "2m": 120, "500ms": 0.5, "1.5": 1.5, "1h": 3600, ".5 s": 0.5}
    assert {text: parse_duration(text) for text in durations} == durations
