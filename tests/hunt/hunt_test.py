"""Hunts with an opt whose passes go wrong in known ways."""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from compiler_gym.envs.llvm.benchmarks.own_programs import benchmark
from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets
from compiler_gym.hunt import programs
from compiler_gym.hunt.failures import Limits
from compiler_gym.hunt.findings import Findings
from compiler_gym.hunt.hunter import Hunt
from compiler_gym.hunt.passes import Sequences, list_passes, parse_sequence
from compiler_gym.hunt.programs import Programs
from compiler_gym.hunt.trial import Laboratory, Outcome, Trial
from compiler_gym.util import llvm_tools
from compiler_gym.util.commands import CommandError, Popen, run_command
from compiler_gym.util.confinement import protections
from compiler_gym.util.filesystem import file_lock
from tests.effort import effort

AROUND = ("adce", "reassociate", "dse", "mem2reg")


@pytest.fixture(name="quick_reduce")
def fixture_quick_reduce(tmp_path, monkeypatch):
    """An llvm-reduce that only removes functions, and so ends long before its time is over."""
    find, path = llvm_tools.tool_path, tmp_path / "llvm-reduce"
    passes = "--delta-passes=functions"
    path.write_text(f'#!/bin/sh\nexec {find("llvm-reduce")} {passes} "$@"\n')
    path.chmod(0o755)
    monkeypatch.setattr(
        llvm_tools, "tool_path", lambda name: path if name == path.name else find(name)
    )


@pytest.fixture(name="hunt")
def fixture_hunt(tmp_path, fake_opt, module_ll, monkeypatch, quick_reduce):
    """Hunts in tmp_path/"hunt" with fixed passes; returns the hunt, its findings and outcomes."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    def hunt(passes, trials=1, jobs=1, program=module_ll, **limits):
        datasets = LlvmDatasets()
        uri = program.as_uri()
        if program.suffix == ".c":
            runnable = benchmark(program, run="./a.out")
            datasets.remember(runnable)
            uri = str(runnable.uri)
        known = list_passes(fake_opt)
        sequences = Sequences(known, 30, 0.5, parse_sequence(passes, known))
        findings = Findings(tmp_path / "hunt" / "findings", frozenset({"function(crashing)"}))
        laboratory = Laboratory(
            fake_opt,
            llvm_tools.clang_path(),
            Programs(datasets, [uri]),
            findings,
            Limits(**{"seconds": 5, "reduce_seconds": 100, **limits}),
            lambda text: None,
        )
        (tmp_path / "hunt").mkdir(exist_ok=True)
        session = Hunt(tmp_path / "hunt", sequences, seed=0)
        outcomes = []
        session.run(laboratory, jobs, trials, None, outcomes.append)
        assert os.listdir(scratch) == []
        return session, findings.all(), outcomes

    return hunt


def around(guilty):
    return ",".join([*AROUND[:2], guilty, *AROUND[2:]])


def run_script(folder, *arguments):
    return subprocess.run([folder / "run.sh", *arguments], timeout=250).returncode


@pytest.mark.parametrize(
    ("guilty", "kind", "where"),
    [
        ("crashing", "crash", "llvm::CrashingPass::run"),
        ("breaking", "broken module", "Instruction does not dominate all uses!"),
        ("guzzling", "out of memory", ""),
    ],
)
def test_failures_of_opt_are_found_and_reduced(hunt, tmp_path, guilty, kind, where):
    _, (finding,), (outcome,) = hunt(around(guilty))
    assert outcome.verdict == "found" and outcome.finding == finding
    assert (finding.kind, finding.guilty, finding.where) == (kind, guilty, where)
    assert finding.passes == [f"function({guilty})"]
    assert len(finding.found_with) == 5
    assert finding.reachable == (guilty == "crashing")
    folder = tmp_path / "hunt" / "findings" / finding.name
    assert sorted(os.listdir(folder)) == ["README.md", "finding.json", "reduced.ll", "run.sh"]
    text = (folder / "reduced.ll").read_text()
    assert "victim" in text and "@helper" not in text
    assert finding.lines == len(text.splitlines()) < 15
    assert run_script(folder) == 0
    assert json.loads((folder / "finding.json").read_text())["passes"] == finding.passes
    if guilty == "crashing":
        check_report(folder)


def check_report(folder):
    """A report has the command, the place and the version."""
    text = (folder / "README.md").read_text()
    command = "opt -verify-each '-passes=module(function(crashing))' reduced.ll -o output.bc"
    assert command in text and "llvm::CrashingPass::run(llvm::Function&)" in text
    assert "LLVM version" in text and "llvm-reduce" in text
    # Another opt, that of LLVM, is asked and does not know the pass.
    environment = {**os.environ, "OPT": str(llvm_tools.opt_path())}
    assert subprocess.run([folder / "run.sh"], env=environment).returncode == 1


def test_wrong_output_is_found_and_made_smaller(hunt, tmp_path, program_c):
    # Each question of llvm-reduce builds and runs the program seven times.
    seconds = effort(1, 100)
    _, (finding,), _ = hunt("adce,miscompiling", program=program_c, reduce_seconds=seconds)
    assert (finding.kind, finding.guilty) == ("wrong output", "miscompiling")
    assert finding.passes == ["function(miscompiling)"]
    # Sanitizers read /proc, which confined programs have with namespaces alone.
    sanitizers = ["address", "memory"] if protections().namespaces else []
    assert finding.guards == ["O0", "O1", "O2", *sanitizers]
    folder = tmp_path / "hunt" / "findings" / finding.name
    text = (folder / "reduced.ll").read_text()
    assert "main" in text and "4711" in text
    assert run_script(folder) == 0
    right = folder / "right.ll"
    right.write_text(text.replace(" 4711", " 4713"))
    assert run_script(folder, right) == 1


def test_sanitizers_report_their_own_kind_of_error(hunt, program_c):
    use = """char* p = malloc(16);
      if (p[3] == 77) puts("without a value");
      p[17] = 1;  /* Beyond its end. */
      printf("""
    text = program_c.read_text().replace("printf(", use, 1)
    program_c.write_text(f"#include <stdlib.h>\n{text}")
    _, (finding,), _ = hunt("adce,miscompiling", program=program_c, reduce_seconds=1)
    assert finding.guards[:2] == ["O0", "O1"]
    assert not {"address", "memory"} & {*finding.guards}


def test_programs_that_are_wrong_themselves_are_no_findings(hunt, tmp_path):
    wrong = tmp_path / "wrong.c"
    wrong.write_text(
        "#include <stdio.h>\n#include <time.h>\nstruct timespec now;\n"
        "int main() { clock_gettime(CLOCK_MONOTONIC, &now); "
        'return printf("%ld\\n", now.tv_nsec) < 0; }\n'
    )
    _, findings, (outcome,) = hunt("adce", program=wrong)
    assert findings == []
    assert (outcome.verdict, outcome.details) == ("useless", "Wrong output without any pass")


def test_unstable_result_is_found(hunt, tmp_path, program_c):
    _, (finding,), _ = hunt("wavering", program=program_c, reduce_seconds=1)
    assert (finding.kind, finding.guilty) == ("unstable result", "wavering")
    assert finding.passes == ["function(wavering)"]
    assert run_script(tmp_path / "hunt" / "findings" / finding.name) == 0


def test_hang_is_found_with_twice_the_time(hunt, tmp_path):
    _, (finding,), _ = hunt("hanging", seconds=1, reduce_seconds=1)
    assert (finding.kind, finding.guilty) == ("hang", "hanging")
    assert finding.passes == ["function(hanging)"]
    assert (
        "more than 1 seconds of processor time, and 2 were not enough"
        in (tmp_path / "hunt" / "findings" / finding.name / "README.md").read_text()
    )


def test_a_pipeline_that_opt_refuses_is_no_finding(hunt):
    _, findings, (outcome,) = hunt("adce,refusing")
    assert findings == []
    assert (outcome.verdict, outcome.details) == ("refused", "opt: this does not work")


def test_a_folder_is_for_one_hunt_at_a_time(hunt, tmp_path):
    with (
        file_lock(tmp_path / "hunt" / ".lock"),
        pytest.raises(OSError, match="another"),
    ):
        hunt("adce")
    _, _, (outcome,) = hunt("adce")
    assert outcome.verdict == "fine"


def test_the_same_again_is_counted(hunt, tmp_path):
    session, (finding,), outcomes = hunt("crashing,adce", trials=4, jobs=2)
    assert [outcome.verdict for outcome in outcomes].count("known") >= 2
    assert finding.seen == 4
    # A hunt goes on where it ended, and knows what it knew; here by another way to the same pass.
    session, (finding,), (outcome,) = hunt("dse,crashing")
    assert outcome.verdict == "known"
    assert finding.seen == 5
    assert session.progress.next == session.progress.trials == 5
    assert len(os.listdir(tmp_path / "hunt" / "findings")) == 1
    facts = tmp_path / "hunt" / "findings" / finding.name / "finding.json"
    assert json.loads(facts.read_text())["seen"] == 5


@pytest.mark.parametrize(
    ("left", "least", "most"), [(math.inf, 600, 600), (10_000, 600, 600), (100, 1, 99)]
)
def test_findings_are_made_smaller_in_time(left, least, most):
    limits, end = Limits(reduce_seconds=600), time.monotonic() + left
    laboratory = Laboratory(None, None, None, None, limits, print, end)
    assert least <= laboratory.reduce_seconds() <= most


def test_threads_share_the_verdicts_on_programs(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "_MAX_REMEMBERED", 1)
    monkeypatch.setattr(programs, "wrong_output", lambda *_: None)
    shared = Programs(LlvmDatasets(), [])

    def judge(number):
        for _ in range(20_000):
            assert shared.why_useless(SimpleNamespace(uri=number), tmp_path) is None

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(judge, range(4)))
    finally:
        sys.setswitchinterval(interval)


def test_the_end_of_a_hunt_kills_its_own_commands_only(tmp_path):
    def sleep(trial):
        with pytest.raises(CommandError):
            run_command(["sleep", "60"])
        return Outcome("", "refused")

    hunt, laboratory = hunt_with(sleep, tmp_path)
    with Popen(["sleep", "60"]) as other:
        hunt.run(laboratory, jobs=2, trials=None, seconds=0.3, watch=None)
        assert other.poll() is None
    assert hunt.given_up == 2


@dataclass(frozen=True)
class Played(Laboratory):
    """A laboratory whose trials are a function."""

    play: Callable[[Trial], Outcome] = None

    def run(self, trial):
        return self.play(trial)


def hunt_with(run, folder):
    """Returns a hunt whose trials are a function, and its laboratory."""
    findings = SimpleNamespace(guilty=frozenset)
    laboratory = Played(None, None, None, findings, None, None, play=run)
    return Hunt(folder, Sequences([], 1, 0.5, fixed=AROUND), seed=0), laboratory


def test_a_trial_that_fails_does_not_end_the_hunt(tmp_path):
    def run(trial):
        if trial.number < 4:
            raise subprocess.TimeoutExpired("clang", 60)
        return Outcome("", "fine")

    hunt, laboratory = hunt_with(run, tmp_path)
    hunt.run(laboratory, jobs=1, trials=6, seconds=None, watch=lambda _: None)
    assert hunt.progress.verdicts == {"failed": 4, "fine": 2}
    assert "TimeoutExpired: Command 'clang' timed out" in hunt.failures[0]


@pytest.mark.parametrize("trials", [1, 100])
def test_a_hunt_ends_if_no_trial_works(tmp_path, trials):
    def run(trial):
        raise OSError("no opt")

    hunt, laboratory = hunt_with(run, tmp_path)
    with pytest.raises(RuntimeError, match="no opt"):
        hunt.run(laboratory, jobs=1, trials=trials, seconds=None, watch=lambda _: None)
    assert hunt.progress.trials <= 10
