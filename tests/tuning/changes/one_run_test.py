"""Trials, training and results of the plugin that makes one run of clang smaller."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import compiler_gym.tuning.changes.one_run_training as training
from compiler_gym.datasets import Benchmark, Datasets
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.threads import thread_pool
from compiler_gym.envs.llvm.benchmarks.bitcode import ClangInvocation, compile_source
from compiler_gym.envs.llvm.datasets import kernels_dataset
from compiler_gym.envs.llvm.datasets.llvm_datasets import get_llvm_datasets
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.changes import __main__ as program
from compiler_gym.tuning.changes.one_run import OneRunTrials, rows_of_one_run
from compiler_gym.tuning.changes.targets import target_named
from compiler_gym.tuning.changes.training import judge_programs
from compiler_gym.tuning.changes.trials import record
from compiler_gym.tuning.size.boosted_trees import BoostedTrees
from compiler_gym.tuning.size.outlined import OUTLINED

_LICM = "machinelicm+early-machinelicm"


@pytest.fixture(name="life")
def fixture_life(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path / "site"))
    return Datasets(get_llvm_datasets()).benchmark("benchmark://kernels-v0/life")


def recorded(benchmark, folder, *adjustments, **more):
    """Records trials of a program, and returns their row."""
    job = OneRunTrials.job(Program.of(benchmark), adjustments=adjustments, **more)
    with thread_pool(1) as pool:
        record(pool, [job], folder)
    (row,) = rows_of_one_run([folder])
    return row


def test_recording(life, tmp_path):
    row = recorded(life, tmp_path, "sroa", "frame-pointer=all", "-disable-lsr", most_groups=2)
    assert {*row["adjustments"]} == {"sroa", "frame-pointer=all", "-disable-lsr"}
    assert row["functions"]["main"][0] > 0 and "main" in row["start"] and "main" in row["end"]
    # Most variables are on the stack at first.
    assert row["start"]["main"]["alloca"] > row["end"]["main"].get("alloca", 0)
    larger = row["adjustments"]["sroa"].items()
    assert any(size > row["functions"][name][0] for name, (size, _) in larger)
    assert all(each["function"] in row["calls"] for each in row["decisions"])
    assert {each["inline"] for each in row["decisions"]} <= {True, False} and row["decisions"]


def test_program_of_another_target(life, tmp_path):
    target = target_named("aarch64")
    program = target.compiled(Datasets(get_llvm_datasets()), str(life.uri))
    row = recorded(program, tmp_path, "sroa", options=target.options, most_groups=1)
    larger = row["adjustments"]["sroa"].items()
    assert any(size > row["functions"][name][0] for name, (size, _) in larger)
    # Code that LLVM outlines is part of the functions that enter it.
    assert not any(name.startswith(OUTLINED) for name in row["functions"])
    code = sum(size for size, _ in row["functions"].values())
    assert code == pytest.approx(row["baseline"]["code"], abs=len(row["functions"]))
    assert training.judged_one_run(program, options=target.options).is_counted
    with pytest.raises(LookupError, match="aarch64"):
        target_named("arm64")


def test_code_that_is_taken_out_of_weak_functions_is_no_gain(tmp_path):
    # The machine outliner does this if they are kept, as changes do.
    source = tmp_path / "fold.cc"
    source.write_text(
        "int read(int), mix(int, int);\n"
        "template <int N> int fold(int x) {\n"
        "  return mix(read(x + N), read(x)) + mix(read(7), read(9)) * N;\n"
        "}\n"
        "int all(int x) { return fold<1>(x) + fold<2>(x) + fold<3>(x) + fold<4>(x); }\n"
    )
    options = target_named("aarch64").options
    compile_source(
        ClangInvocation([*options, *ClangInvocation.DEFAULT_COPT, source]), tmp_path / "fold.bc"
    )
    benchmark = Benchmark.from_file("benchmark://user-v0/fold", tmp_path / "fold.bc")
    row = recorded(benchmark, tmp_path, "no-pass", options=options, most_groups=0)
    assert row["adjustments"] == {"no-pass": {}}


def rows():
    """Rows in which an adjustment helps functions with many loops, and harms the others."""
    for number in range(12):
        sizes = {f"f{index}": [100, 40] for index in range(12)}
        features = {name: {"instructions": 30, "loops": int(name[1:]) % 6} for name in sizes}
        after = {name: [106 - 4 * features[name]["loops"], 40] for name in sizes}
        yield {
            "program": f"benchmark://opensource-v0/{number}/a.c",
            "baseline": {"code": 1200, "loaded": 1700},
            "functions": sizes,
            "start": features,
            "end": features,
            "calls": {},
            "adjustments": {_LICM: after, "-disable-lsr": {"f1": [99, 40]}},
            "decisions": [],
        }


def test_a_program_that_takes_too_long_for_another_target(life, monkeypatch):
    monkeypatch.setattr(kernels_dataset, "_COMPILE_TIMEOUT_SECONDS", 1e-6)
    with pytest.raises(BenchmarkInitError, match="took more than"):
        target_named("aarch64").compiled(Datasets(get_llvm_datasets()), str(life.uri))


def test_training(tmp_path):
    model = training.train_one_run([*rows()], "a test")
    training.write_one_run(tmp_path / "model.json", "x86_64", model)
    assert json.loads((tmp_path / "model.json").read_text()) == {"target": "x86_64", **model}
    assert model["start"]["choices"] == model["calls"]["choices"] == []
    (choice,) = model["end"]["choices"]
    assert choice["text"] == _LICM and model["end"]["features"] == ["loops"]
    assert model["end"]["most"] == 30
    predicted = BoostedTrees.from_facts(choice).predict(np.array([[0.0], [5.0]]))
    assert predicted[0] < 0 <= choice["least"] < predicted[1]


def test_judging(life, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "breadth_first", lambda *_: [str(life.uri)])
    path = tmp_path / "rows.jsonl"
    words = ["judge-one-run", "-o", str(path), "--count", "1", "--runs", "1"]
    result = CliRunner().invoke(program.app, words)
    assert "| 1 programs | total | mean | larger | largest growth |" in result.stdout
    (row,) = judge_programs(path, training.OneRunRow, (), 1, lambda _: pytest.fail("judged again"))
    assert row.is_counted and row.code[1] < row.code[0] and not row.broken
    assert CliRunner().invoke(program.app, words).stdout == result.stdout  # From the file.
