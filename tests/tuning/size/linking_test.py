"""Programs that are linked, and how large they are."""

import subprocess

import pytest

from compiler_gym.envs.llvm.benchmarks.validation import LIBRARIES
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.linking import Linker
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.tuning.size.optimizer import Optimizer
from compiler_gym.tuning.size.trial_linking import LinkedSize, LinkError
from compiler_gym.util import llvm_tools
from tests.tuning.size.conftest import PROGRAM, searched


def test_size_is_that_of_the_tools(compiled, tmp_path):
    object_file = compiled(PROGRAM, "-g")
    found = Linker().size(object_file)
    program = tmp_path / "p"
    subprocess.run([llvm_tools.clang_path(), object_file, "-o", program, *LIBRARIES], check=True)
    linked = program.stat().st_size
    subprocess.run([llvm_tools.tool_path("llvm-strip"), program], check=True)
    size = subprocess.run(
        [llvm_tools.tool_path("llvm-size"), program], capture_output=True, text=True
    )
    text, data = map(int, size.stdout.splitlines()[1].split()[:2])
    assert found.loaded == text + data
    assert found.file == program.stat().st_size < linked


def test_parts_are_linked_in_their_order(compiled, tmp_path):
    a, b, c = (compiled(f"int {name}(void) {{ return 1; }}\n", name=f"{name}.c") for name in "abc")
    linker = Linker("echo {} > $PROGRAM", before=(a,), after=(c,))
    linker.link(b, tmp_path / "list")
    assert (tmp_path / "list").read_text() == f"{a} {b} {c}\n"
    with pytest.raises(LinkError, match="main"):
        Linker().size(b)
    with pytest.raises(LinkError, match="cannot be stripped"):
        linker.size(b)


@pytest.fixture(name="linked")
def fixture_linked(tmp_path):
    """Searches for a smaller program."""

    def linked(compilation, evaluations, linker=None):
        folder = tmp_path / "linked"
        folder.mkdir()
        budget = Budget(600, evaluations)
        with Evaluator(compilation, folder, budget, 2, linker or Linker()) as evaluator:
            return searched(evaluator, Objective.LINKED)

    return linked


def test_the_program_becomes_smaller(linked, compilation):
    search = linked(compilation, 6)
    before, after = search.baseline, search.best
    assert after.linked.loaded < before.linked.loaded
    assert after.linked.file <= before.linked.file
    assert search.size(after) == after.linked.loaded == Linker().size(after.path).loaded


class Contrary(Linker):
    """The less there is in a program, the larger is its file."""

    def size(self, object_file):
        text = read_object(object_file).text
        return LinkedSize(loaded=text, file=100_000 - text)


def test_a_larger_file_is_no_gain(linked, compilation):
    search = linked(compilation, 10, Contrary())
    assert search.best is search.baseline and search.evaluator.budget.used == 10


def test_it_needs_a_linker(start, compilation):
    with pytest.raises(ValueError, match="linker"):
        Optimizer(start(compilation), Objective.LINKED).start()
