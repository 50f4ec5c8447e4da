"""Programs that are linked, and how large they are."""

import subprocess

import pytest

from compiler_gym.envs.llvm.benchmarks.validation import LIBRARIES
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.size.evaluator import Budget, Evaluator
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.linking import Linker, merge_program
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


MAIN = "int f(int);\nint main(void) { return f(STEP); }\nint unused(int x) { return f(x) / 3; }\n"
OTHER = """
__attribute__((noinline)) int f(int x) { return x * 7; }
int others(int x) { return f(x) ^ x; }
"""


@pytest.fixture(name="inputs")
def fixture_inputs(tmp_path):
    for name, text in (("main.c", MAIN), ("other.cc", f'extern "C" {{{OTHER}}}')):
        (tmp_path / name).write_text(text)
    return [Input("main", tmp_path / "main.c"), Input("other", tmp_path / "other.cc")]


def symbols(path):
    done = subprocess.run(
        [llvm_tools.tool_path("llvm-nm"), "--defined-only", path], capture_output=True, text=True
    )
    return {line.split()[-1]: line.split()[-2] for line in done.stdout.splitlines()}


def test_unused_functions_are_dropped_and_others_made_local(inputs, tmp_path):
    merged = merge_program(inputs, tmp_path / "all.bc", ["-DSTEP=3"], ["main"])
    assert symbols(merged.path) == {"main": "T", "f": "t"}
    assert (merged.name, merged.check, merged.is_for_size) == ("all", None, True)
    parts = [{"main", "unused"}, {"f", "others"}]
    assert [set(each.functions) for each in merged.apart] == parts
    read = Objective.INSTRUCTIONS.read
    counted = merge_program(inputs, tmp_path / "all.bc", ["-DSTEP=3"], ["main"], read)
    assert [set(each.instructions) for each in counted.apart] == parts
    kept = merge_program(inputs, tmp_path / "kept.bc", ["-DSTEP=3"], ["main", "others"])
    assert symbols(kept.path) == {"main": "T", "f": "t", "others": "T"}
    made = tmp_path / "all"
    subprocess.run([llvm_tools.clang_path(), "-Oz", merged.path, "-o", made], check=True)
    assert subprocess.run([made]).returncode == 21


def test_bitcode_keeps_its_check_and_has_the_marks_that_it_has(inputs, tmp_path):
    bitcode = tmp_path / "f.bc"
    command = [llvm_tools.clang_path(), "-c", "-emit-llvm", inputs[1].path, "-o", bitcode]
    subprocess.run(command, check=True)

    def check(path):
        return ""

    merged = merge_program([Input("f", bitcode, check)], tmp_path / "all.bc", [], ["f"])
    assert merged.check is check and not merged.is_for_size
    (alone,) = merged.apart
    command = [llvm_tools.clang_path(), "-Oz", "-c", bitcode, "-o", tmp_path / "f.o"]
    subprocess.run(command, check=True)
    assert alone == read_object(tmp_path / "f.o")


def test_merge_errors_name_the_cause(inputs, tmp_path):
    with pytest.raises(BenchmarkInitError, match="undeclared identifier 'STEP'"):
        merge_program(inputs, tmp_path / "all.bc", [], ["main"])
    with pytest.raises(ValueError, match="first and second"):
        merge_program(inputs, tmp_path / "all.bc", ["-DSTEP=3"], ["first", "f", "second"])
    twice = [inputs[1], Input("again", inputs[1].path)]
    with pytest.raises(BenchmarkInitError, match="multiply defined"):
        merge_program(twice, tmp_path / "all.bc", [], ["f"])
    assert not (tmp_path / "all.bc").exists()
