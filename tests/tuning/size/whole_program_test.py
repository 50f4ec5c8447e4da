"""Several sources in one module."""

import subprocess

import pytest

from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.size.inputs import Input
from compiler_gym.tuning.size.linking import merge_program
from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.tuning.size.objective import Objective
from compiler_gym.util import llvm_tools

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
