"""Mines a program in which one pass makes a function execute more instructions."""

import os
import pickle
import platform
import subprocess

import pytest

from compiler_gym.datasets import Datasets
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.mine.counting import Counter
from compiler_gym.mine.decisions import Decision, Kind, Tools
from compiler_gym.mine.harness import HARNESS, write_harness
from compiler_gym.mine.objective import Trial
from compiler_gym.mine.reduction import extract, without_unused
from compiler_gym.mine.runtime import RUNTIME
from compiler_gym.mine.scripts import MODULE, SCRIPT
from compiler_gym.mine.work import Settings
from compiler_gym.util import llvm_tools as tools
from compiler_gym.util.confinement import confining_program

# The loop ends after a few iterations, so that unrolling it is not worth the preparation.
_SOURCE = """
unsigned long planted(const unsigned char *a, unsigned long n) {
  unsigned long sum = 0;
  for (unsigned long i = 0; i < n % 12; i++) sum += a[i];
  return sum;
}
"""
_DECISION = Decision(Kind.WITHOUT, "loop-unroll")
_NO_DIFFERENCE = "no difference measured"


@pytest.fixture(name="mine_runtime")
def fixture_mine_runtime(tmp_path, mine, monkeypatch):
    """Mines the program; no difference of times is measured."""
    (tmp_path / "planted.c").write_text(_SOURCE)
    monkeypatch.setattr(Counter, "compare_times", lambda *_: _NO_DIFFERENCE)
    return lambda: mine(_DECISION, least=RUNTIME.least, objective=RUNTIME)[0]


def test_a_planted_saving_is_found_and_not_mined_again(tmp_path, mine_runtime):
    session = mine_runtime()
    assert session.verdicts == {"found": 1}
    (finding,) = session.findings.all()
    assert finding.before * 95 >= finding.after * 100
    assert finding.checks["time"] == _NO_DIFFERENCE
    assert finding.versions == {
        "LLVM": f"{finding.before} instructions, {finding.after} with the decision"
    }
    (row,) = session.table()
    assert (row.decision, row.functions, row.saved == row.net) == (_DECISION.title, 1, True)

    folder = tmp_path / "mine" / "findings-runtime" / finding.name
    report = (folder / "README.md").read_text()
    assert f"executes {finding.before} instructions" in report and "faster" not in report
    assert "attributes" not in (folder / "reduced.ll").read_text()
    shown = subprocess.run([folder / "check.sh"], capture_output=True, text=True, check=True)
    assert f"clang -O3: {finding.before} instructions; " in shown.stdout
    assert f"{_DECISION.title}: {finding.after}; " in shown.stdout

    again = mine_runtime()
    assert (again.verdicts, again.findings.all()) == ({"found": 1}, [finding])


@pytest.mark.parametrize(
    ("time", "bogus"),
    [
        ("measured: 1.50 times as fast", ""),
        ("slower: 0.50 times as fast", "fewer instructions, but slower: 0.50 times as fast"),
    ],
)
def test_fewer_instructions_that_take_longer_are_bogus(tmp_path, program, monkeypatch, time, bogus):
    (tmp_path / "planted.c").write_text(_SOURCE)
    unit = program.write(Datasets(), tmp_path, RUNTIME.level)
    llvm = Tools.of(tools.clang_path(), tools.opt_path(), RUNTIME.level)
    module = extract(unit, "planted", (), tmp_path, RUNTIME)
    monkeypatch.setattr(Counter, "compare_times", lambda *_: time)
    verdict = RUNTIME.check(Trial(module, "planted", _DECISION, RUNTIME.least, llvm, tmp_path))
    assert (verdict.bogus, verdict.checks["time"]) == (bogus, time)


_LINKING = """
define i32 @f(i32 %x) {
  %1 = call i64 asm sideeffect "syscall", "={rax},{rax},{rdi},{rsi},~{rcx},~{r11}"(
    i64 88, ptr @target, ptr @name)
  ret i32 %x
}
"""


def test_the_function_leaves_no_links_for_the_script(tmp_path):
    """The script writes to files of this name next."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    texts = {"target": str(victim), "name": "after.counted.s"}
    constants = [
        f'@{name} = private constant [{len(text) + 1} x i8] c"{text}\\00"\n'
        for name, text in texts.items()
    ]
    module = tmp_path / MODULE
    triple = 'target triple = "x86_64-pc-linux-gnu"\n'
    module.write_text("".join([triple, *constants, _LINKING]))
    (tmp_path / HARNESS).write_text(write_harness(module.read_text(), "f"))
    llvm = Tools.of(tools.clang_path(), tools.opt_path(), RUNTIME.level)
    trial = Trial(module, "f", _DECISION, RUNTIME.least, llvm, tmp_path)
    script = tmp_path / SCRIPT
    script.write_text(RUNTIME.script(trial, is_guarded=False))
    confined = {**os.environ, "CONFINE": str(confining_program())}
    done = subprocess.run(["bash", script], capture_output=True, text=True, env=confined)
    assert "inputs" in done.stdout, done.stderr
    assert victim.read_text() == "precious"


def test_globals_that_nothing_uses_are_removed():
    kept = [
        "@used = external constant [4 x i8]",
        "declare i32 @called(ptr)",
        "define i32 @f() {",
        "  %value = call i32 @called(ptr @used)",
        "  ret i32 %value",
        "}",
        "",
    ]
    unused = [
        "@name = constant [2 x i8] zeroinitializer",
        "@table = constant [1 x ptr] [ptr @name]",
        "declare ptr @other(i64)",
    ]
    assert without_unused("\n".join(unused + kept)) == "\n".join(kept)


def test_other_machines_are_refused(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(EnvironmentNotSupported, match="aarch64"):
        RUNTIME.check_machine()


def test_settings_are_of_one_objective():
    settings = Settings([], Tools(level="-O3"), {"LLVM": Tools()}, objective=RUNTIME)
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert settings.digest != Settings([], Tools(), {"LLVM": Tools()}).digest
    with pytest.raises(ValueError, match="-Oz"):
        Settings([], Tools(), {"LLVM": Tools()}, objective=RUNTIME)
