"""Tests of imports from compiler_gym.third_party."""

import os
import subprocess

import pytest

from compiler_gym.third_party import llvm
from compiler_gym.third_party.autophase import AUTOPHASE_FEATURE_DIM, AUTOPHASE_FEATURE_NAMES
from compiler_gym.third_party.inst2vec import Inst2vecEncoder
from compiler_gym.util import llvm_tools

PATHS = [
    *("clang_path", "lli_path", "llc_path", "llvm_as_path", "llvm_dis_path", "llvm_link_path"),
    *("llvm_stress_path", "llvm_diff_path", "opt_path"),
    *("llvm_extract_path", "llvm_size_path"),  # New.
]


def test_all_paths_are_tested():
    assert sorted(PATHS) == sorted(name for name in llvm.__all__ if name.endswith("_path"))


@pytest.mark.parametrize("name", PATHS)
def test_paths(name):
    path = getattr(llvm, name)()
    assert path == getattr(llvm_tools, name)()
    assert os.access(path, os.X_OK)
    assert path.name.startswith(name.removesuffix("_path").replace("_", "-"))


def test_download():
    folder = llvm.download_llvm_files()
    assert (folder / "bin" / "opt").samefile(llvm.opt_path())


def test_tools_work_together(tmp_path):
    source, bitcode = tmp_path / "program.c", tmp_path / "program.bc"
    source.write_text("int main(void) { return 3; }")
    subprocess.check_call([llvm.clang_path(), "-c", "-emit-llvm", source, "-o", bitcode])
    assert subprocess.run([llvm.lli_path(), bitcode]).returncode == 3


def test_autophase():
    assert len(AUTOPHASE_FEATURE_NAMES) == AUTOPHASE_FEATURE_DIM == 56


def test_inst2vec():
    encoder = Inst2vecEncoder()
    statements = encoder.preprocess("define i32 @f() {\n  ret i32 0\n}\n")
    (index,) = encoder.encode(statements)
    assert index == encoder.vocab["ret i32 <INT>"] != encoder.vocab["!UNK"]
    assert encoder.embed([index]).shape == (1, 200)
