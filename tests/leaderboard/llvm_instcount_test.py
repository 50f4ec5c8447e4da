"""The evaluation of policies, as their authors run it: each a program of its own."""

import csv
import re
import textwrap

import pytest

import compiler_gym
from compiler_gym.distributed import Limits, open_pool
from compiler_gym.leaderboard import llvm_instcount
from compiler_gym.util.llvm_tools import llvm_version
from compiler_gym.util.statistics import geometric_mean
from tests.document_code import code_blocks
from tests.prepared import PreparedInterpreter

KERNELS = "benchmark://kernels-v0"

PROGRAM = """
import os
import pathlib
import signal
import threading

from compiler_gym.leaderboard.llvm_instcount import eval_llvm_instcount_policy
from tests.processes import wait_until


def has_steps(env):
    return len(env.actions) > 0


def policy(env):
    {body}


if __name__ == "__main__":
    eval_llvm_instcount_policy(policy)
"""

GOOD = 'for name in ("sroa", "gvn", "simplifycfg"): env.step(env.action_space[name])'


@pytest.fixture(scope="module", name="interpreter")
def fixture_interpreter():
    modules = ("compiler_gym.envs.llvm.llvm_env", "compiler_gym.leaderboard.llvm_instcount")
    return PreparedInterpreter(*modules)


@pytest.fixture
def evaluate(tmp_path, interpreter, monkeypatch):
    """Runs a program with a policy; returns its exit code, its output and its results."""
    monkeypatch.chdir(tmp_path)

    def run(body, *flags, dataset=KERNELS):
        path = tmp_path / "policy.py"
        path.write_text(PROGRAM.format(body=textwrap.dedent(body).strip().replace("\n", "\n    ")))
        chosen = [f"--test_dataset={dataset}"] if dataset else []
        done = interpreter.run("policy", [*chosen, *flags], stdin="")
        results = tmp_path / "llvm_instcount-results.csv"
        rows = []
        if results.exists():
            with results.open(newline="") as file:
                rows = list(csv.DictReader(file))
        return done.returncode, done.stdout + done.stderr, rows

    return run


def test_results(evaluate, tmp_path):
    code, output, rows = evaluate(GOOD, "--max_benchmarks=2", "--n=2")
    assert code == 0, output
    assert all(row["compiler_version"].startswith(f"{llvm_version()}.") for row in rows)
    programs = [row["benchmark"] for row in rows]
    assert (len(programs), len({*programs})) == (4, 2)
    assert all(program.startswith(f"{KERNELS}/") for program in programs)
    assert all("sroa" in row["commandline"] for row in rows)
    rewards, seconds = ([float(row[name]) for row in rows] for name in ("reward", "walltime"))
    printed = {name: float(value) for name, value in re.findall(r"^(.+?): +([\d.]+)", output, re.M)}
    assert printed["Geometric mean reward"] == pytest.approx(geometric_mean(rewards), abs=1e-3)
    assert printed["Share of -Oz"] == pytest.approx(100 * _geometric_share(rows), abs=0.06)
    assert printed["Mean walltime"] == pytest.approx(sum(seconds) / 4, abs=1e-3)
    assert re.search(r"^Compiler: +LLVM \d+\.\d+", output, re.M)
    assert "4 of 4" in output and "4 of 4" in (tmp_path / "llvm_instcount-results.log").read_text()
    # Processes give the results of threads. Functions of the program come with the policy.
    body, flags = f"{GOOD}\nassert has_steps(env)", ["--leaderboard_workers=2", "--novalidate"]
    code, output, others = evaluate(body, "--max_benchmarks=2", "--n=2", *flags)
    assert code == 0, output
    columns = ("benchmark", "reward", "commandline")
    assert sorted([row[name] for name in columns] for row in others) == sorted(
        [row[name] for name in columns] for row in rows
    )


def _geometric_share(rows):
    """Returns the metric of compiler_gym.evaluate() for the sequences of passes in results."""
    ratios = []
    with compiler_gym.make("llvm-ic-v0") as env:
        for row in rows:
            env.reset(benchmark=row["benchmark"])
            env.multistep(env.action_space.from_string(row["commandline"]))
            counts = env.observation.observe(["IrInstructionCount", "IrInstructionCountOz"])
            ratios.append(float(counts[0]) / float(counts[1]))
    return geometric_mean(ratios)


def test_names_of_files_and_default_programs(evaluate, tmp_path):
    names = ["--leaderboard_results=mine.csv", "--leaderboard_logfile=mine.log"]
    flags = ["--max_benchmarks=1", "--n=1", "--validate", *names]
    # Worse than -Oz, but not clipped.
    code, output, rows = evaluate("pass", *flags, dataset=None)
    assert code == 0, output
    assert "benchmark://kernels-v0/bitops " in output  # The first of the part "test".
    assert float(re.search(r"Share of -Oz: +([\d.]+)%", output)[1]) > 100
    assert rows == []
    assert len((tmp_path / "mine.csv").read_text().splitlines()) == 2
    assert "1 of 1" in (tmp_path / "mine.log").read_text()


def test_resume(evaluate):
    once = "import pathlib; path = pathlib.Path('calls'); path.open('a').write('x')"
    flags = ["--max_benchmarks=2", "--novalidate"]
    fails = f"""
    {once}
    if path.stat().st_size == 2: raise RuntimeError("enough")
    """
    code, output, rows = evaluate(fails, *flags, "--n=3")
    assert (code, len(rows)) == (1, 1)
    assert "RuntimeError: enough" in output
    code, _, rows = evaluate(once, *flags, "--n=3", "--resume")
    # Five more, after two of which one has failed.
    assert (code, len(rows)) == (0, 6)
    code, output, rows = evaluate("raise RuntimeError", *flags, "--n=3", "--resume")
    assert (code, len(rows)) == (0, 6), output
    code, _, rows = evaluate("pass", *flags, "--n=1")
    assert (code, len(rows)) == (0, 2)


def test_parallel(evaluate):
    # Each waits for the other: nothing would come of it one by one.
    body = """
    barrier = vars(threading).setdefault("shared_barrier", threading.Barrier(2))
    barrier.wait(timeout=250)
    env.step(env.action_space["sroa"])
    """
    code, output, rows = evaluate(
        body, "--max_benchmarks=2", "--n=2", "--leaderboard_nproc=2", "--novalidate"
    )
    assert (code, len(rows)) == (0, 4), output
    assert "Valid results" not in output


def test_ctrl_c_keeps_the_results(evaluate, tmp_path):
    body = """
    if pathlib.Path('waits').exists():
        # The next episode may begin before the result of the first is written.
        wait_until(lambda: pathlib.Path('llvm_instcount-results.csv').read_text().count('\\n') > 1)
        os.kill(os.getppid(), signal.SIGINT)
        signal.pause()
    pathlib.Path('waits').touch()
    """
    flags = ["--max_benchmarks=2", "--n=2", "--novalidate", "--leaderboard_workers=1"]
    code, output, rows = evaluate(body, *flags)
    assert (code, len(rows)) == (130, 1), output
    code, output, rows = evaluate("pass", *flags, "--resume")
    assert (code, len(rows)) == (0, 4), output


def step_once(env):
    env.step(0)


def test_a_program_that_does_not_compile_leaves_the_others(tmp_path):
    (tmp_path / "wrong.c").write_text("int f(void) { return g; }\n")
    wrong = (tmp_path / "wrong.c").as_uri()
    benchmarks = [f"{KERNELS}/aes", wrong, f"{KERNELS}/bigint"]

    def make():
        return compiler_gym.make("llvm-ic-v0")

    with make() as env, open_pool(None, Limits(workers=1)) as pool:
        for states in (
            llvm_instcount.evaluate(step_once, make, benchmarks, 1, tmp_path / "threads.csv"),
            llvm_instcount.evaluate_on_pool(
                step_once, pool, env.datasets, benchmarks, 1, tmp_path / "pool.csv"
            ),
        ):
            assert {next(states).benchmark, next(states).benchmark} == {*benchmarks} - {wrong}
            with pytest.raises(RuntimeError, match=r"wrong\.c failed: Command failed"):
                next(states)


@pytest.mark.parametrize(
    ("body", "flag", "text"),
    [
        (f"env.reset(benchmark='{KERNELS}/life')", "--n=1", "changed the benchmark"),
        ("env.reward_space = 'IrInstructionCount'", "--n=1", "changed the reward space"),
        # In a process.
        ("raise ValueError('enough')", "--leaderboard_workers=1", "ValueError: enough"),
    ],
)
def test_rules(evaluate, body, flag, text):
    code, output, rows = evaluate(body, flag, "--max_benchmarks=1", "--novalidate")
    assert (code, rows) == (1, [])
    assert text in output


def test_policies_may_begin_again(evaluate):
    body = "env.step(0)\nenv.reset()\nenv.step(env.action_space['sroa'])"
    code, output, (row,) = evaluate(body, "--max_benchmarks=1", "--n=1")
    assert code == 0, output
    assert row["commandline"].count("sroa") == 1


def test_program_of_the_documentation(tmp_path, interpreter, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = code_blocks("docs/guides/learning.md", "python leaderboard")
    (tmp_path / "documented.py").write_text(block)
    flags = [f"--test_dataset={KERNELS}", "--max_benchmarks=1", "--n=1"]
    done = interpreter.run("documented", flags, stdin="")
    assert "Valid results:          1 of 1" in done.stdout


def test_results_that_are_not_valid(evaluate):
    body = f"{GOOD}\nenv.episode_reward = 7"
    code, output, rows = evaluate(body, "--max_benchmarks=1", "--n=1")
    assert code == 1
    assert float(rows[0]["reward"]) == 7
    assert "Valid results:          0 of 1" in output


def test_mistakes(evaluate):
    code, output, _ = evaluate(GOOD, dataset="benchmark://kernel-v0")
    assert code == 1
    assert "kernels-v0" in output
    code, output, _ = evaluate(GOOD, "resume")
    assert code == 1
    assert "Not a flag: resume" in output
