"""Tests of the comparison of levels with their parts."""

import pytest

from benchmarks.levels_report import SPELLINGS, Comparison, Spelling, compare, installed, report
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH

LZSS = KERNELS_PATH / "lzss" / "program.c"


@pytest.mark.parametrize("llvm", installed(), ids=lambda each: each.name)
def test_levels_are_attributes_and_pipelines(llvm, tmp_path):
    made = compare(llvm, LZSS, tmp_path)
    # The pipeline of this name leaves out vectorisation of straight code, which clang does.
    without_slp = Spelling("-Oz", passes="default<Oz>")
    assert made.equal == dict.fromkeys(SPELLINGS, True) | {without_slp: False}
    assert 0 < made.sizes["-Oz"] < made.sizes["-O3"]


def test_another_pipeline_is_noticed(tmp_path, monkeypatch):
    other, unknown = Spelling("-Oz", driver="-O1"), Spelling("-Oz", passes="default<Ox>")
    monkeypatch.setattr("benchmarks.levels_report.SPELLINGS", (other, unknown))
    assert compare(installed()[0], LZSS, tmp_path).equal == {other: False, unknown: None}


def test_the_report_names_the_differing_programs():
    equal = {each: each.driver != "-O2" for each in SPELLINGS}
    lines = [*report("LLVM 1.2", [Comparison("a", {"-Oz": 1000, "-O3": 2000}, equal)] * 2)]
    assert lines[0] == "LLVM 1.2, clang -Oz: 2,000 bytes of code of 2 programs"
    assert lines[3] == "LLVM 1.2, clang -Oz = attributes of -Oz, clang -O2: 0 equal, 2 not: a, a"
    assert lines[6].endswith("clang -O3: 2 equal")
