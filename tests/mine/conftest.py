"""A program in which one pass makes the code larger."""

import json

import pytest

from compiler_gym.mine.programs import Program, programs_of_project

# The pass rewrites the inner loop so that strength reduction makes it a third larger.
_SOURCE = """
int unused(int value) { return value + 1; }
void planted(int *a, unsigned long n, unsigned long *moves) {
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


@pytest.fixture(name="program")
def fixture_program(tmp_path) -> Program:
    (tmp_path / "planted.c").write_text(_SOURCE)
    entry = {"directory": str(tmp_path), "file": "planted.c", "command": "cc -c planted.c"}
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps([entry]))
    return programs_of_project(path)[0]
