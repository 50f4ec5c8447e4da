"""The tools of a workbench."""

import os
import threading
from concurrent.futures import wait
from dataclasses import replace

import pytest

from compiler_gym.agents.compiler import Compiler
from compiler_gym.agents.verify import Verdict
from compiler_gym.agents.workbench import Workbench
from compiler_gym.envs.llvm.llvm_env import LlvmEnv
from tests.agents.conftest import LIMITS
from tests.processes import descendants, kill_all, wait_until

GOOD = ["sroa", "early-cse", "simplifycfg", "instcombine", "gvn", "simplifycfg"]

SOURCE = """\
static int square(int x) { return x * x; }
int twice(int x) { int y = square(x); return y + y; }
"""


def test_export(make_bench, tmp_path, fails):
    bench = make_bench(root=tmp_path)
    (tmp_path / "own.c").write_text(SOURCE)
    bench.open_program(file="own.c")
    bench.apply_passes(["sroa", "inline"])
    for format, file in (("object", "a.o"), ("bitcode", "a.bc"), ("ir", "a.ll")):
        assert bench.export(format, file).startswith(f"wrote {file}, ")
        assert (tmp_path / file).stat().st_size
    assert "new file" in fails(bench.export, "object", "a.o")
    assert "ends in .o" in fails(bench.export, "object", "own.c")
    bench.open_program(file="a.bc")
    assert bench.cost() == 3


def test_export_of_text_has_no_file(bench, fails):
    for format in ("opt", "python"):
        assert "leave out file" in fails(bench.export, format, "own.txt")


@pytest.mark.parametrize("name", ["sroa\n", " sroa", 7])
def test_names_of_passes_are_exact(bench, fails, name):
    for tool, argument in ((bench.apply_passes, [name]), (bench.try_sequences, [[name]])):
        assert f"expected the name of a pass, got {name!r}." in fails(tool, argument)


def test_names_of_branches_are_printable(bench, fails):
    assert "printable" in fails(bench.fork, "a\nb")


@pytest.mark.parametrize("offset", [-1, 28, 10**9])
@pytest.mark.parametrize("dataset", ["kernels-v0", "generator://csmith-v0"])
def test_offset_of_programs(bench, fails, dataset, offset):
    if (dataset, offset) == ("generator://csmith-v0", 28):
        assert bench.list_programs(dataset, offset).startswith("generator://csmith-v0/28\n")
    else:
        assert f"got {offset}" in fails(bench.list_programs, dataset, offset)


def test_pages_of_programs(bench):
    offset = 0
    for _ in range(3):
        text = bench.list_programs("generator://csmith-v0", offset)
        assert len(text) <= bench.limits.answer_characters
        *names, rest, _ = text.splitlines()
        numbers = range(offset, offset + len(names))
        assert names == [f"generator://csmith-v0/{number}" for number in numbers]
        offset = numbers.stop
        assert rest == f"[for the rest call this tool again with offset={offset}]"
    assert bench.list_programs(offset=27).count("kernels-v0/") == 1


def test_errors_are_bounded(bench, fails):
    text = fails(bench.apply_passes, ["x" * 100_000])
    assert len(text) < 2_010 and text.endswith("Call list_passes for all names")


def test_large_program_is_refused(make_bench, fails):
    bench = make_bench()
    bench.limits = replace(LIMITS, instructions=1_000)
    assert "expected a program of at most 1,000" in fails(bench.open_program, "sha256")


def test_verified_program_is_not_run_again(make_bench, monkeypatch):
    calls = []
    monkeypatch.setattr(
        "compiler_gym.agents.workbench.verify",
        lambda *args: calls.append(args) or Verdict(problems, (), True),
    )
    bench = make_bench(may_run=True)
    bench.open_program("life")
    problems = ("Execution timeout",)
    assert not bench.verdict().is_right
    problems = ()
    assert bench.verdict().is_right
    assert bench.verdict().is_right and len(calls) == 2
    bench.apply_passes(["sroa"])
    bench.verdict()
    assert len(calls) == 3


def test_costs_are_those_of_the_current_state(bench):
    """They are remembered until the program changes."""

    def check():
        observations = bench._branch().env.observation
        assert bench.cost() == observations["IrInstructionCount"]
        assert bench.cost("bytes") == observations["ObjectTextSizeBytes"]
        assert bench.baseline("instructions", "Oz") == observations["IrInstructionCountOz"]

    check()
    for tool, *arguments in (
        ("apply_passes", ["sroa", "sroa"]),
        ("undo", 1),
        ("undo", 1),
        ("apply_passes", ["sroa"]),
        ("fork", "other"),
        ("apply_passes", ["early-cse"]),
        ("try_sequences", [["gvn", "adce"]], "bytes", True),
        ("switch_branch", "main"),
        ("try_sequences", [["gvn"]], "instructions", False),
        ("open_program", "life"),
    ):
        getattr(bench, tool)(*arguments)
        check()


def test_program_that_is_opened_again_is_as_before(make_bench):
    """A kept copy of it is used, which no pass of another workbench changes."""
    first, second = make_bench(), make_bench()
    texts = [first.open_program("bitops")]
    measured = first._branches["main"].measured
    first.apply_passes(["sroa", "instcombine"])
    texts.append(second.open_program("kernels-v0/bitops"))
    assert second._branches["main"].measured is measured
    first.undo(2)
    texts.append(first.describe())
    assert len({*texts}) == 1
    assert first.function_sizes() == second.function_sizes()
    first.apply_passes(["sroa"])
    assert first.cost() < second.cost()
    assert first._branches["main"].env.ir_sha1 != second._branches["main"].env.ir_sha1


def test_own_programs_are_not_kept(make_bench):
    bench = make_bench()
    for number in (1, 2):
        bench.open_program(source=f"int f(void) {{ return {number}; }}")
        assert f"ret i32 {number}" in bench.read_function("f")


def test_ir_of_an_own_program_is_read_once(make_bench, monkeypatch, fails):
    """For its symbols, and to refuse assembly."""
    monkeypatch.setattr(LlvmEnv, "ir", property(lambda env: pytest.fail("read again")))
    bench = make_bench()
    bench.open_program(source=SOURCE)
    assert bench._symbols == {"twice"}
    assembly = 'int f(void) { __asm__(".incbin \\"/etc/passwd\\""); return 0; }'
    assert "without inline assembly" in fails(bench.open_program, source=assembly)


def test_kept_programs_are_bounded(monkeypatch):
    monkeypatch.setattr("compiler_gym.agents.compiler._MAX_KEPT_INSTRUCTIONS", 4_000)
    compiler = Compiler(LIMITS)
    try:
        bench = Workbench(compiler, LIMITS)
        for name in ("sha256", "text_stats", "life", "sha256"):
            text = bench.open_program(name)
        assert compiler._originals.keys() == ["benchmark://kernels-v0/sha256"]
        assert "instructions     2613" in text
    finally:
        compiler.close()


@pytest.fixture
def bench_to_kill():
    """A workbench with a compiler of its own, and a function that kills all of its processes."""
    others = {*descendants(os.getpid())}
    compiler = Compiler(LIMITS)
    yield Workbench(compiler, LIMITS), lambda: kill_all({*descendants(os.getpid())} - others)
    compiler.close()


def test_program_is_opened_after_all_processes_were_killed(bench_to_kill):
    bench, kill = bench_to_kill
    text = bench.open_program("sha256")
    kill()
    assert bench.open_program("sha256") == text


def test_branches_are_as_before_after_all_processes_were_killed(bench_to_kill):
    bench, kill = bench_to_kill
    bench.open_program("bitops")
    bench.apply_passes(["sroa", "early-cse"])
    bench.fork("other")
    bench.apply_passes(["instcombine"])
    calls = [("read_function", {"function": "main"}), ("diff", {}), ("branches", {})]
    calls += [("switch_branch", {"name": "main"}), ("describe", {"length": "ir"}), ("undo", {})]
    answers = [bench.call(tool, **arguments) for tool, arguments in calls]
    bench.call("apply_passes", passes=["early-cse"])
    bench.switch_branch("other")
    for (tool, arguments), answer in zip(calls, answers, strict=True):
        kill()
        assert bench.call(tool, **arguments) == answer


def test_no_pass_is_blamed_for_killed_processes(bench_to_kill):
    bench, kill = bench_to_kill
    bench.open_program("bitops")
    bench.apply_passes(["sroa"])
    answer = bench.apply_passes(["early-cse"])
    bench.undo()
    run = bench.passes_run
    kill()
    assert bench.apply_passes(["early-cse"]) == answer
    assert bench.passes_run == run + 1


@pytest.fixture
def verified(monkeypatch):
    """The hashes of the programs that were verified; the verification itself is replaced."""
    hashes = []
    monkeypatch.setattr(
        "compiler_gym.agents.workbench.verify",
        lambda env, *arguments: hashes.append(env.ir_sha1) or Verdict((), ("fake",), True),
    )
    return hashes


@pytest.fixture
def optimised(make_bench, compiler, monkeypatch):
    """Makes workbenches with an optimised program. Verdicts of other tests are forgotten."""
    calls = []
    in_background = compiler.in_background

    def record(work):
        calls.append(in_background(work))
        return calls[-1]

    def make(*passes):
        bench = make_bench(may_run=True)
        bench.open_program("sha256")
        bench.apply_passes([*GOOD, *passes])
        return bench

    monkeypatch.setattr(compiler, "in_background", record)
    compiler._right.clear()
    yield make
    wait(calls)
    compiler._right.clear()


def test_verification_in_the_background(optimised, verified):
    """The newest state is verified once, and nothing is left behind."""
    bench = optimised()
    bench.verify_soon()
    bench.verify_soon()
    wait_until(lambda: verified)
    assert bench.verdict().checks == ("fake",)
    assert verified == [bench._branch().env.ir_sha1]
    bench.verify_soon()
    assert len(verified) == 1


def test_verification_in_the_background_leaves_the_session_alone(optimised, verified, monkeypatch):
    """After a fork, its next pass would copy memory."""
    bench = optimised()
    env, forked = bench._branch().env, []
    fork = type(env).fork
    monkeypatch.setattr(type(env), "fork", lambda each: forked.append(each) or fork(each))
    bench.verify_soon()
    wait_until(lambda: verified)
    assert forked and env not in forked


@pytest.mark.parametrize("count", [0, 30])
def test_another_program_is_never_verified_instead(optimised, verified, monkeypatch, count):
    """Passes that are repeated in the background make another program; many are not repeated."""
    bench = optimised(*["adce"] * count)
    repeated = threading.Event()
    monkeypatch.setattr(bench, "_repeat", lambda env, passes: repeated.set())
    bench.verify_soon()
    wait_until(lambda: verified or repeated.is_set())
    assert repeated.is_set() == (count == 0)
    assert bench.verdict().checks == ("fake",)
    assert verified == [bench._branch().env.ir_sha1]
