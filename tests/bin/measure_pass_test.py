import json
import os
import re
import subprocess
import sys

import pytest

from compiler_gym.cli import measure_pass
from compiler_gym.tuning.pass_measurement import Failure, Trial
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.runfiles_path import runfiles_path

PROGRAMS = ("benchmark://kernels-v0/huffman", "benchmark://kernels-v0/json")


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COMPILER_GYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("COLUMNS", "150")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "compiler_gym.bin.measure_pass", *arguments]


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=250)


def programs() -> list[str]:
    return [option for program in PROGRAMS for option in ("--program", program)]


def test_prints_a_table_and_repeats_it():
    arguments = ["mem2reg", *programs(), "--prefixes", "4", "--max-prefix", "3", "--seed", "7"]
    first = run(*arguments)
    assert first.returncode == 0, first.stderr
    rows = [line for line in first.stdout.splitlines() if "%" in line and "interval" not in line]
    assert len(rows) == 3
    assert "kernels-v0/huffman" in rows[0]
    assert "all programs" in rows[2]
    assert "helps" in rows[0]
    assert run(*arguments).stdout == first.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-pass"], "no-such-pass"),
        (["sroa", "--cost", "Ir"], "There is no cost 'Ir'. Did you mean IrInstructionCount"),
        (["sroa", "--plugin", "/nonexistent.so"], "/nonexistent.so"),
    ],
)
def test_wrong_arguments(arguments, message):
    done = run(*arguments)
    assert done.returncode == 1
    assert done.stderr.startswith("measure_pass: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_one_of_several_programs_does_not_compile(tmp_path):
    (tmp_path / "wrong.c").write_text("int f(void) { return g; }\n")
    words = ("--program", str(tmp_path / "wrong.c"), *programs(), "--prefixes", "1", "--json")
    done = run("mem2reg", *words)
    assert done.returncode == 1
    rows = json.loads(done.stdout)["rows"]
    assert [f"benchmark://{row['program']}" for row in rows[:2]] == [*PROGRAMS]
    assert "wrong.c failed: Command failed" in done.stderr


def test_ctrl_c_prints_partial_results():
    program = (
        "import os, signal\n"
        "from compiler_gym.bin.measure_pass import main\n"
        "from compiler_gym.cli import measure_pass\n"
        "real = measure_pass.measure_trials\n"
        "def trials(*args, **kwargs):\n"
        "    for i, trial in enumerate(real(*args, **kwargs)):\n"
        "        yield trial\n"
        "        if i == 1:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "measure_pass.measure_trials = trials\n"
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


def test_one_program_has_no_infinite_interval():
    done = run("mem2reg", "--program", PROGRAMS[0], "--prefixes", "1", "--json")
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["prefixes"], row["low"], row["high"], row["verdict"]) == (
        1,
        None,
        None,
        "not shown",
    )


@pytest.mark.parametrize("name", ["erase-terminators", "multiply-by-three", "abort"])
def test_failures_of_a_pass_are_reported(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    plugin = runfiles_path("tests/llvm_service/BrokenPasses.so")
    programs = [f"--program=benchmark://kernels-v0/{each}" for each in ("sha256", "huffman")]
    options = ["--plugin", str(plugin), "--prefixes=2", "--max-prefix=1", *programs]
    done = run(name, *options)
    assert done.returncode == 1, done.stderr
    kind = {"erase-terminators": "invalid IR", "multiply-by-three": "wrong output"}
    expected = kind.get(name, "crash")
    row = next(line for line in done.stdout.splitlines() if "kernels-v0/sha256" in line)
    assert row.endswith(f"2 x {expected}")
    assert f"\n{expected} on kernels-v0/" in done.stdout
    assert max(map(len, done.stdout.split(f"\n{expected} on")[0].splitlines())) <= 80


def test_wrong_programs_are_changed_programs():
    wrong = Failure(PROGRAMS[0], (), "wrong output", "printed 1")
    crash = Failure(PROGRAMS[0], (), "crash", "")
    same = Trial(PROGRAMS[0], (), False, 1.0, 1.0)
    (row,) = measure_pass.rows_of({PROGRAMS[0]: [wrong, wrong, wrong, same]}, seed=0)
    assert row["changed"] == 0.75 and row["verdict"] == "3 x wrong output"
    (row,) = measure_pass.rows_of({PROGRAMS[0]: [crash]}, seed=0)
    assert row["changed"] is None
