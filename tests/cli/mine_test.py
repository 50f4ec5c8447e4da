"""``compiler-gym mine`` through the program that people run."""

import json
import os

import pytest

from tests.processes import command_lines, descendants

_SOURCE = """
void sort(int *a, unsigned long n, unsigned long *moves) {
  for (unsigned long i = 1; i < n; i++) {
    const int value = a[i];
    unsigned long j = i;
    while (j > 0 && value < a[j - 1]) {
      a[j] = a[j - 1];
      j--;
    }
    a[j] = value;
    *moves += i - j + 1;
  }
}
"""
_ONLY = ("--only", "without correlated-propagation")


@pytest.fixture(name="sort_c")
def fixture_sort_c(environment):
    path = environment / "sort.c"
    path.write_text(_SOURCE)
    return path


def test_decisions_are_measured_over_a_corpus(run, sort_c):
    done = run("mine", sort_c.name, *_ONLY, "--per-decision", "0", "--json")
    result = json.loads(done.stdout)
    assert (result["programs"], result["failed"], result["findings"]) == (1, {}, [])
    (row,) = result["decisions"]
    assert (row["decision"], row["files"], row["functions"]) == (_ONLY[1], 1, 1)
    assert row["saved"] >= 4
    assert row["share"] == pytest.approx(row["saved"] / result["bytes"])


def test_executed_instructions_are_measured(run, sort_c):
    words = ("--objective", "runtime", "--only", "without loop-unroll", "--per-decision", "0")
    result = json.loads(run("mine", sort_c.name, *words, "--json").stdout)
    assert (result["programs"], result["failed"], result["findings"]) == (1, {}, [])
    assert result["instructions"] > 1000


def test_ctrl_c_leaves_nothing(interrupt, sort_c, scratch):
    stdout = interrupt(
        *("mine", sort_c.name, *_ONLY),
        when=lambda pid: any("llvm-reduce" in line for line in command_lines(descendants(pid))),
    )
    assert stdout.splitlines()[-1].startswith("1 program, ")
    assert os.listdir(scratch) == []


def test_a_misspelt_program(run, environment):
    done = run("mine", "sha265", *_ONLY, code=1)
    assert "no program or dataset 'sha265'. Did you mean sha256?" in done.stderr
    assert not (environment / "mine").exists()
