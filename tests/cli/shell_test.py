"""``compiler-gym shell``: through a pipe, and at a terminal."""

import os
import re

from compiler_gym.cli.shell import split_commands
from tests.processes import descendants, kill_all


def test_the_program_is_written(run, program_c, environment):
    run("shell", program_c, stdin="sroa\nwrite x.ll")
    written = (environment / "x.ll").read_text()
    assert "phi i32" in written
    run("shell", "x.ll", stdin="adce\nwrite ./x.ll", code=1)
    assert (environment / "x.ll").read_text() == written


def test_hunks_say_which_function_they_are_of(run):
    text = run("shell", "sha256", stdin="sroa\nsimplifycfg\ndiff\n").stdout
    hunks = [line for line in text.splitlines() if line.startswith("@@")]
    functions = [hunk.split()[4] for hunk in hunks if len(hunk.split()) > 4]
    assert functions[0] == "main" and "run_command" in functions


def test_better_steps(run, program_c):
    text = run("shell", program_c, stdin="try\ngreedy 20\ntry\nclimb 2").stdout
    assert text.startswith("action ") and "\nsroa  " in text
    assert text.count("No action has a positive reward") == 2


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
    kill_all(descendants(screen.pid))
    screen.type("ir\n")
    screen.wait_for("> ")
    screen.type("ir\n")
    screen.wait_for("attributes #0")
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
