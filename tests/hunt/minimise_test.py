"""Making failures smaller."""

from compiler_gym.envs.llvm.benchmarks.bitcode import assemble
from compiler_gym.hunt.failures import Failure, Kind, Limits
from compiler_gym.hunt.minimise import Minimiser
from compiler_gym.hunt.reproducer import Reproducer
from compiler_gym.util import llvm_tools


def test_scripts_run_while_another_process_holds_them(tmp_path):
    """One that another thread has just started has all files of this process for a moment."""
    text, module = tmp_path / "input.ll", tmp_path / "input.bc"
    text.write_text("define void @f() {\n  ret void\n}\n")
    assemble(text, module, timeout=60)
    minimiser = Minimiser(tmp_path / "work", 60, lambda: None)
    opt, clang = llvm_tools.opt_path(), llvm_tools.clang_path()
    reproducer = Reproducer(Failure(Kind.CRASH), ("function(dce)",), opt, clang, Limits())
    with (tmp_path / "work" / "check.sh").open("a"):
        assert minimiser.with_fewest_passes(reproducer, module) is None
