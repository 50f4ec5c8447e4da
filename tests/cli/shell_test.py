"""``compiler-gym shell``: through a pipe, and at a terminal."""

import os
import re

import pytest

from compiler_gym.cli.shell import split_commands


def test_steps_and_undo(run, program_c):
    script = "sroa instcombine\nstep simplifycfg;history\nundo 2\ncommandline\nreset; history\n"
    lines = run("shell", program_c, stdin=script).stdout.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [
        ["1", "sroa"],
        ["2", "instcombine"],
        ["3", "simplifycfg"],
    ]
    assert lines[3:6] == lines[:3]
    assert lines[6].startswith("3 steps; reward 0.")
    assert lines[7].startswith("Took back simplifycfg, instcombine; 12 instructions, -Oz ")
    assert lines[8] == (
        "opt -discard-value-names -passes='module(function(sroa))' input.bc -o output.bc"
    )
    assert lines[10] == "No steps yet"
    assert max(map(len, lines[:8])) <= 80


def test_observation_commands(run, program_c, environment):
    script = "sroa\ndiff\nundo; gvn; undo; sroa; diff 5\nobserve IrInstructionCount\n"
    text = run(
        "shell", program_c, stdin=f"{script}reward IrInstructionCount\nir main\nwrite x.ll"
    ).stdout
    _, first, second = text.split("--- before\n")
    assert "\n-  %old3 = alloca i32, align 4\n" in first
    # The same step makes the same difference; gvn in between was taken back whole.
    assert first.partition("\nTook back")[0] == second.partition("\nIrInstructionCount")[0]
    assert "\nIrInstructionCount: 12\n" in second
    assert "\nIrInstructionCount: 21\ndefine dso_local i32 @main" in second
    assert "phi i32" in (environment / "x.ll").read_text()


def test_hunks_say_which_function_they_are_of(run):
    text = run("shell", "sha256", stdin="sroa\nsimplifycfg\ndiff\n").stdout
    hunks = [line for line in text.splitlines() if line.startswith("@@")]
    functions = [hunk.split()[4] for hunk in hunks if len(hunk.split()) > 4]
    assert functions[0] == "main" and "run_command" in functions


def test_better_steps(run, program_c):
    text = run("shell", program_c, stdin="try\ngreedy 20\ntry\nclimb 2").stdout
    assert text.startswith("action ") and "\nsroa  " in text
    assert text.count("No action has a positive reward") == 2
    text = run("shell", program_c, stdin="adce adce sroa adce\nsimplify\nhistory\n").stdout
    assert "\n3 steps left out, 1 left" in text
    assert "\n1 step; reward " in text


def test_lists(run):
    script = "actions unroll\nobservations Autophase\nrewards Bytes\nprograms\ndatasets\nhelp\n"
    text = run("shell", stdin=script).stdout
    for expected in (
        "loop-unroll-and-jam",
        "AutophaseDict",
        "ObjectTextSizeBytes",
        "benchmark://kernels-v0/sha256",
        "benchmark://npb-v0",
        "undo [N]               Undo the last step",
    ):
        assert expected in text
    assert max(map(len, text.splitlines())) <= 80


def test_settings(run):
    script = (
        "set-reward IrInstructionCount\nsroa\nreward\nset-observation IrInstructionCount\n"
        "observe\nprogram json\nobserve\nprogram"
    )
    lines = run("shell", "sha256", stdin=script).stdout.splitlines()
    assert lines[1].startswith("IrInstructionCount: ")
    assert lines[2] != lines[4]
    assert lines[5].startswith("benchmark://kernels-v0/json; ")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("history\nsro", "line 2: There is no command and no pass 'sro'. Did you mean sroa?"),
        ("histry", "Did you mean history"),
        ("undo", "There is no step to take back"),
        ("undo 0", "Expected a positive integer, got '0'"),
        ("diff", "There is no step yet"),
        ("program x y", "Expected the name of one program, got 'x y'"),
        ("program jsn", "Did you mean benchmark://kernels-v0/json?"),
        ("observe Autofase", "Did you mean Autophase"),
        ("reward Irr", "There is no reward space 'Irr'"),
        ("ir nosuch", "There is no function 'nosuch'"),
        ("write x.o", "has to end in .ll or .bc, not 'x.o'"),
        ("write /nonexistent/x.ll", "/nonexistent/x.ll: No such file"),
        ("help histry", "Did you mean history"),
        ('reset "', "No closing quotation"),
    ],
)
def test_wrong_arguments(fails, script, message):
    line = fails("shell", "sha256", stdin=script + "\nhistory\n")
    assert line.startswith("compiler-gym: ") and message in line


def test_opens_by_itself(run):
    assert run(stdin="program; quit; nonsense").stdout.startswith("benchmark://kernels-v0/sha256;")


def test_split_commands():
    assert split_commands("sroa gvn; step 'a b' # remark; undo") == [
        ["sroa", "gvn"],
        ["step", "a b"],
    ]
    assert split_commands(" ;; ") == []
    assert split_commands("step loop(licm,lcssa) early-cse<memssa>") == [
        ["step", "loop(licm,lcssa)", "early-cse<memssa>"]
    ]


def test_terminal(terminal, program_c, environment):
    screen = terminal("shell", program_c.name)
    screen.wait_for("program.c 0> ")
    screen.type("sro\t\n")
    assert "sroa" in screen.wait_for("program.c 1> ")
    screen.type("observe IrInstructionCountO\t\t")
    assert "IrInstructionCountOz" in screen.wait_for("program.c 1> observe IrInstructionCountO")
    screen.give_up_line("program.c 1> ")
    screen.type("nonsense\n")
    screen.wait_for("no pass 'nonsense'")
    screen.wait_for("program.c 1> ")
    screen.type(f"{'greedy 1000;' * 20}\n")  # Still at work when Ctrl-C comes.
    screen.wait_for("trying all actions")
    screen.type("\x03")
    screen.wait_for("Interrupted; back to after the last step")
    screen.wait_for("> ")
    screen.type("undo 9\n")
    screen.wait_for("program.c 0> ")
    screen.type("\x04")
    screen.end()
    again = terminal("shell", program_c.name)
    again.wait_for("program.c 0> ")
    again.type("\x1b[A")  # The last line of the last time.
    again.wait_for("undo 9")
    again.give_up_line("program.c 0> ")
    again.type("\x04")
    again.end()
    assert os.listdir(environment) == ["program.c"]


def test_natural_end_of_an_episode(run, environment):
    (environment / "two.c").write_text(
        "static int g(int x) { return x * 3; }\nint f(int x) { return g(x) + g(x + 1); }\n"
    )
    script = "keep;" * 20 + "undo;keep"
    done = run("shell", "two.c", "--env", "llvm-inline-v0", stdin=script.replace(";", "\n"), code=1)
    assert re.search(r"^ +2 +keep", done.stdout, re.M)
    assert "failed" not in done.stdout + done.stderr
    assert "The episode has ended. Undo steps, or reset" in done.stderr
