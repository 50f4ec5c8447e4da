"""Trials of changes on programs, and tables of them."""

import pytest
from typer.testing import CliRunner

import compiler_gym.tuning.changes.trials as module
from compiler_gym.datasets import Datasets
from compiler_gym.datasets.selection import breadth_first
from compiler_gym.distributed import PoolError
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.threads import thread_pool
from compiler_gym.envs.llvm.datasets.llvm_datasets import get_llvm_datasets
from compiler_gym.envs.llvm.datasets.packages import PackagedDataset
from compiler_gym.tuning.changes import __main__ as program
from compiler_gym.tuning.changes.training import JudgedRow, judge_programs, table_of
from compiler_gym.tuning.changes.trials import (
    FILE,
    Trials,
    record,
    rows_of,
    write_card,
)
from compiler_gym.tuning.size.ranking import shipped_portfolio


@pytest.fixture(name="datasets")
def fixture_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(tmp_path / "site"))
    return Datasets(get_llvm_datasets())


@pytest.mark.parametrize(
    ("words", "expected"),
    [("", "None 1"), ("--ray auto", "auto None"), ("--ray auto --jobs 3", "auto 3")],
)
def test_number_of_workers(words, expected, tmp_path, monkeypatch):
    def open_pool(ray, limits):
        raise PoolError(f"{ray} {limits.workers}")

    monkeypatch.setattr(program, "open_pool", open_pool)
    result = CliRunner().invoke(program.app, ["record", "-o", str(tmp_path), *words.split()])
    assert str(result.exception) == expected


def test_recording(datasets, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "shipped_portfolio", lambda: shipped_portfolio()[:2])
    monkeypatch.setattr(module, "function_adjustments", lambda: ["simplifycfg", "licm"])
    program = Program.of(datasets.benchmark("benchmark://kernels-v0/life"))
    job = Trials.job(program, toggles=1, alone=1, combined=0, most_groups=3, instructions=True)
    seen = []
    with thread_pool(1) as pool:
        record(pool, [job, job], tmp_path, seen.append)
    assert [outcome is None for outcome in seen] == [False, True]
    (row,) = rows_of(tmp_path)
    kinds = [change["kind"] for change in row["changes"]]
    assert kinds == ["portfolio", "portfolio", "toggle", "alone"]
    assert row["features"]["LoadInstCount"] > 0
    assert 0 < row["baseline"]["instructions"] < row["baseline"]["code"] < row["baseline"]["loaded"]
    assert {*row["adjustments"]} == {"simplifycfg", "licm"}
    assert len(row["functions"]) == len(row["adjustments"]["licm"]["functions"])
    assert len(row["function_features"]) == len(row["functions"])
    assert all(each["bytes"] > 0 for each in row["function_features"])
    decisions = row["decisions"]
    assert {each["features"].get("inline", 0) for each in decisions} == {0, 1}
    assert min(each["code"] for each in decisions) < 0 < max(each["code"] for each in decisions)
    assert row["best"]["loaded"] <= row["start"]["loaded"] < row["baseline"]["loaded"]
    assert row["best"]["change"]["functions"]
    # An interrupted line is written again.
    path = tmp_path / FILE
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"trials": "abc')
    with thread_pool(1) as pool:
        record(pool, [job], tmp_path)
    assert path.read_bytes() == whole
    write_card(tmp_path, "the command")
    card = (tmp_path / "README.md").read_text()
    assert "`the command`: 6 trials on 1 programs, 0 packages" in card and row["clang"] in card


def test_programs_that_are_too_large_get_no_trials(datasets):
    program = Program.of(datasets.benchmark("benchmark://kernels-v0/life"))
    with thread_pool(1) as pool:
        (outcome,) = pool.run([Trials.job(program, most_text=100)])
    row = outcome.result()
    assert row["changes"] == [] and row["baseline"]["code"] > 100


def test_one_file_of_each_package_comes_first(datasets, monkeypatch):
    monkeypatch.setattr(PackagedDataset, "install", lambda self: pytest.fail("downloads"))
    uris = [*breadth_first(datasets, "train", 2, ["lz4", "ujson"], 0)]
    datasets_of_uris = [uri.split("/")[2].removesuffix("-v0") for uri in uris]
    assert datasets_of_uris == ["opensource", "opensource", "kernels"] * 2
    assert [uri.split("/")[3] for uri in uris[:2]] == ["lz4", "ujson"]
    assert uris == [*breadth_first(datasets, "train", 2, ["lz4", "ujson"], 0)]
    with pytest.raises(LookupError, match="capstone"):
        next(breadth_first(datasets, "train", 2, ["capstone"], 0))


def test_table_of_a_comparison(tmp_path):
    def row(name, model):
        sizes = {"portfolio": {"0": 100, "1": 100}, "model": {"0": 100, "1": model}}
        return JudgedRow(name, sizes, sizes)

    rows = [row("a", 90), row("b", 110), JudgedRow("large", {}, {})]
    path = tmp_path / "rows.jsonl"
    judge = {row.program: row for row in rows}.pop
    assert judge_programs(path, JudgedRow, ["large", "a", "b"], 1, judge) == [rows[2], rows[0]]
    with path.open("a") as file:
        file.write('{"program": "b", "lo')  # Written when the run was killed.
    assert judge_programs(path, JudgedRow, ["a", "b"], 2, judge) == [rows[2], rows[0], rows[1]]
    assert judge_programs(path, JudgedRow, [], 2, judge) == [rows[2], rows[0], rows[1]]
    cells = [line.strip("| ").split(" | ") for line in table_of(rows).splitlines()]
    assert ["2 programs", "after 1"] in cells and ["larger, model", "1"] in cells
    assert ["saved of loaded bytes, portfolio", "0.00%"] in cells
    assert ["saved of loaded bytes, model", "0.50%"] in cells and "|" not in table_of(rows[2:])
