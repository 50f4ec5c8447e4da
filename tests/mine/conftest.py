"""A program in which one pass makes the code larger, and a mine."""

import json

import pytest

from compiler_gym.datasets import Datasets
from compiler_gym.distributed import Limits, open_pool
from compiler_gym.mine.decisions import Decision, Kind, Tools
from compiler_gym.mine.miner import Mine
from compiler_gym.mine.programs import Program, programs_of_project
from compiler_gym.mine.size import SIZE
from compiler_gym.mine.tasks import mine_on_pool
from compiler_gym.mine.work import Settings
from compiler_gym.util import llvm_tools as tools

DECISION = Decision(Kind.WITHOUT, "correlated-propagation")

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


@pytest.fixture(name="mine")
def fixture_mine(tmp_path, program):
    """Mines programs; returns the mine and the lines that it has reported."""

    def mine(decision=DECISION, programs=(program,), version="LLVM", on_pool=False, **settings):
        level = settings.get("objective", SIZE).level
        llvm = Tools.of(tools.clang_path(), tools.opt_path(), level)
        settings = Settings([decision], llvm, {version: llvm}, reduce_seconds=1, **settings)
        lines: list[str] = []
        session = Mine(tmp_path / "mine", Datasets(), settings, lines.append)
        if on_pool:
            with open_pool(limits=Limits(workers=1)) as pool:
                mine_on_pool(session, pool, programs)
        else:
            session.run(programs, jobs=1)
        return session, lines

    return mine
