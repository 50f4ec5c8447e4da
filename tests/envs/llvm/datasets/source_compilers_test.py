import pytest

from compiler_gym.envs.llvm.benchmarks.bitcode import run_tool
from compiler_gym.envs.llvm.datasets import published
from compiler_gym.envs.llvm.datasets.published import SOURCE_COMPILERS
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.util import llvm_tools


def ir_of(path):
    return run_tool([llvm_tools.llvm_dis_path(), path, "-o", "-"], timeout=60).decode()


def test_cxx_without_headers(tmp_path):
    source = tmp_path / "1.txt"
    source.write_text("int main() { int x; cin >> x; cout << sqrt(x) << endl; return 0; }")
    SOURCE_COMPILERS["c++"](source, tmp_path / "out.bc")
    assert "sqrt" in ir_of(tmp_path / "out.bc")


def test_timeout(tmp_path, monkeypatch):
    (tmp_path / "a.c").write_text("int x;")
    monkeypatch.setattr(published, "_TIMEOUT_SECONDS", 1e-6)
    with pytest.raises(BenchmarkInitError, match="took more than"):
        SOURCE_COMPILERS["c"](tmp_path / "a.c", tmp_path / "out.bc")
