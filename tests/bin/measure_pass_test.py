import json
import re
import subprocess
import sys

from compiler_gym.cli import measure_pass
from compiler_gym.tuning.pass_measurement import Failure, Trial
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.runfiles_path import runfiles_path

MODULE = "compiler_gym.bin.measure_pass"
PROGRAMS = ("benchmark://kernels-v0/huffman", "benchmark://kernels-v0/json")


def test_one_of_several_programs_does_not_compile(run, environment):
    (environment / "wrong.c").write_text("int f(void) { return g; }\n")
    programs = [f"--program={each}" for each in ("wrong.c", *PROGRAMS)]
    done = run("mem2reg", *programs, "--prefixes", "1", "--json", module=MODULE, code=1)
    rows = json.loads(done.stdout)["rows"]
    assert [f"benchmark://{row['program']}" for row in rows[:2]] == [*PROGRAMS]
    assert "wrong.c failed: Command failed" in done.stderr


def test_ctrl_c_prints_partial_results(environment):
    program = (
        "import os, signal\n"
        "from compiler_gym.bin.measure_pass import main\n"
        "from compiler_gym.tuning import pass_measurement\n"
        "real = pass_measurement.measure_trials\n"
        "def trials(*args, **kwargs):\n"
        "    for i, trial in enumerate(real(*args, **kwargs)):\n"
        "        yield trial\n"
        "        if i == 1:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "pass_measurement.measure_trials = trials\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "mem2reg", "--program", PROGRAMS[0]],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == INTERRUPTED, done.stderr
    (row,) = (line for line in done.stdout.splitlines() if "huffman" in line)
    assert re.search(r"huffman\W+2\b", row)
    assert "One program says nothing of others" in done.stdout
    assert "Traceback" not in done.stderr


def trial(program: str, with_pass: int, **kwargs) -> Trial:
    return Trial(program, (), True, 10, with_pass, **kwargs)


def test_verdicts():
    def verdict(*outcomes: Trial | Failure) -> str:
        (row,) = measure_pass.rows_of({"a": list(outcomes)}, seed=0)
        return row["verdict"]

    smaller = trial("a", 5)
    assert verdict(smaller, smaller) == "helps, not run"
    assert verdict(smaller, trial("a", 5, is_run=True)) == "helps"
    assert verdict(smaller) == "not shown"
    assert verdict(trial("a", 15), trial("a", 15)) == "harms"
    crash = Failure("a", (), "crash", "Segmentation fault")
    wrong = Failure("a", (), "wrong output", "")
    assert verdict(smaller, smaller, crash) == "1 x crash"
    assert verdict(crash, wrong, wrong, smaller) == "2 x wrong output"
    assert verdict(crash) == "1 x crash"


def test_failures_of_a_pass_are_reported(run):
    plugin = runfiles_path("tests/llvm_service/BrokenPasses.so")
    programs = [f"--program=benchmark://kernels-v0/{each}" for each in ("sha256", "huffman")]
    options = ["--plugin", str(plugin), "--prefixes=2", "--max-prefix=1", *programs]
    done = run("multiply-by-three", *options, module=MODULE, code=1)
    row = next(line for line in done.stdout.splitlines() if "kernels-v0/sha256" in line)
    assert row.endswith("2 x wrong output")
    table, message, _ = done.stdout.partition("\nwrong output on kernels-v0/")
    assert message and max(map(len, table.splitlines())) <= 80


def test_wrong_programs_are_changed_programs():
    wrong = Failure(PROGRAMS[0], (), "wrong output", "printed 1")
    crash = Failure(PROGRAMS[0], (), "crash", "")
    same = Trial(PROGRAMS[0], (), False, 1.0, 1.0)
    (row,) = measure_pass.rows_of({PROGRAMS[0]: [wrong, wrong, wrong, same]}, seed=0)
    assert row["changed"] == 0.75 and row["verdict"] == "3 x wrong output"
    (row,) = measure_pass.rows_of({PROGRAMS[0]: [crash]}, seed=0)
    assert row["changed"] is None
