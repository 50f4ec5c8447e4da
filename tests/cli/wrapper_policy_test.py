"""``compiler-gym-cc`` with a policy, which needs an environment, unlike the rest of it."""

import subprocess

from compiler_gym.tuning.size.object_file import read_object
from compiler_gym.util import llvm_tools
from tests.cli.conftest import UNIT, compile_smaller


def test_policy(environment, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_EVALUATIONS", "4")
    monkeypatch.setenv("COMPILER_GYM_POLICY", "coreset")
    (environment / "unit.c").write_text(UNIT.replace("NUMBER", "1"))
    words = ("-Oz", "-c", "unit.c", "-o")
    subprocess.run([llvm_tools.clang_path(), *words, "clang.o"], check=True)
    compile_smaller(*words, "unit.o")
    smaller, clangs = (read_object(environment / name).text for name in ("unit.o", "clang.o"))
    assert smaller <= clangs
