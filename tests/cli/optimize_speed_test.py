"""``compiler-gym optimize --objective runtime``: short searches for faster programs."""

import json
import os
import re
import subprocess

from compiler_gym.util import llvm_tools

SLOW = r"""
#include <stdio.h>
int main(void) {
  unsigned sum = 0, i;
  for (i = 0; i < 10000000; i++) sum = sum * 31 + (sum >> 7 ^ i);
  printf("%u\n", sum);
  return 0;
}
"""


def test_a_program_becomes_faster_or_stays_as_it_is(run, environment):
    (environment / "slow.c").write_text(SLOW)
    program = ("optimize", "slow.c", "--objective", "runtime", "--run", "{}", "--evaluations", "4")
    (result,) = json.loads(run(*program, "--budget", "10m", "--json", "--script", "r").stdout)
    assert result["level"] == "-O3" and 0 < result["evaluations"] <= 4 and result["finished"]
    assert result["command_repeats"] and result["script_repeats"]
    clang = [llvm_tools.clang_path(), "-O3", "-c", "slow.c", "-o", "clang.o"]
    subprocess.run(clang, check=True)
    is_clangs = (environment / "clang.o").read_bytes() == (environment / "slow.o").read_bytes()
    assert result["faster"] != is_clangs
    if result["faster"]:
        assert result["comparison"]["low"] > 1 and result["change"]
    change = json.dumps(result["change"])
    for name in ("slow.o.profdata", "slow.o.counts"):
        assert (environment / name).exists() == (name in change)
    subprocess.run([llvm_tools.clang_path(), "slow.o", "-o", "p"], check=True)
    subprocess.run([llvm_tools.clang_path(), "clang.o", "-o", "q"], check=True)
    assert subprocess.check_output("./p") == subprocess.check_output("./q")


def test_without_speedup_the_result_is_clangs(run, environment):
    # It waits, whatever clang does.
    (environment / "w.c").write_text("int main(void) { return 0; }\n")
    command = "{} && awk 'BEGIN { while (i++ < 300000); }'"
    program = ("optimize", "w.c", "--objective", "runtime", "--run", command)
    done = run(*program, "--evaluations", "4", "--", "-O1")
    assert done.stdout.startswith(
        "w.o: nothing found that is significantly faster than what clang -O1 makes, which it is\n"
    )
    assert re.search(r"^Made by\n  \S*clang -O1 -c w.c -o w.o$", done.stdout, re.M)


def test_several_built_in_programs_become_faster(run, environment):
    done = run(
        *("optimize", "bitops", "fft", "--objective", "runtime", "-o", "."),
        *("--evaluations", "1", "--budget", "5s"),
    )
    assert re.search(r"^bitops\.o +[\d.]+ ", done.stdout, re.M)
    assert re.search(
        r"^\d of 2 are significantly faster than those of clang -O3", done.stdout, re.M
    )
    # A result that needs a profile has it beside it.
    files = [name for name in sorted(os.listdir()) if not name.endswith((".profdata", ".counts"))]
    assert files == ["bitops.input.bc", "bitops.o", "fft.input.bc", "fft.o"]


def test_ctrl_c_while_runs_are_measured(interrupt, scratch):
    stdout = interrupt(
        *("optimize", "sha256", "--objective", "runtime", "--budget", "10m"),
        when=lambda _: [*scratch.glob("*/[0-9]*.o")],
    )
    assert "Ctrl-C ended the search." in stdout
    assert sorted(os.listdir()) == ["sha256.input.bc", "sha256.o"]


def test_without_scipy(fails, environment, program_c, tmp_path, monkeypatch):
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "scipy.py").write_text("raise ImportError('not installed')\n")
    path = os.environ["PYTHONPATH"]
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'without'}{os.pathsep}{path}")
    line = fails("optimize", "program.c", "--objective", "runtime", "--run", "{}")
    assert "pip install 'compiler_gym[statistics]'" in line


def test_a_program_that_does_not_link(run, program_c):
    fast = ("optimize", "program.c", "--objective", "runtime")
    unlinked = run(*fast, "--run", "{}", "--", "-Dmain=f", code=1).stderr
    assert "Name a command that links it, as --link 'clang {} other.o -o $PROGRAM'" in unlinked
