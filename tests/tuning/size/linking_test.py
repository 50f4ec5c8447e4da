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


def compiled(source, output, *options):
    command = [llvm_tools.clang_path(), "-Oz", *options, "-c", source, "-o", output]
    subprocess.run(command, check=True)
    return output


def test_size_is_that_of_the_tools(source, tmp_path):
    object_file = compiled(source, tmp_path / "p.o", "-g")
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


def test_parts_are_linked_in_their_order(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
        compiled(tmp_path / f"{name}.c", tmp_path / f"{name}.o")
    a, b, c = (tmp_path / f"{name}.o" for name in "abc")
    linker = Linker("echo {} > $PROGRAM", before=(a,), after=(c,))
    linker.link(b, tmp_path / "list")
    assert (tmp_path / "list").read_text() == f"{a} {b} {c}\n"
    with pytest.raises(LinkError, match=r"Linking failed with exit code 1: (.|\n)*main"):
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
            search = Optimizer(evaluator, Objective.LINKED)
            search.start()
            search.run()
        return search

    return linked


def test_the_program_becomes_smaller(linked, compilation):
    search = linked(compilation, 30)
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
    with pytest.raises(ValueError, match="needs a linker"):
        Optimizer(start(compilation), Objective.LINKED).start()
