"""Tests of policy training."""

import json

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

import compiler_gym
from compiler_gym.envs.llvm.datasets.packages import PackagedDataset
from compiler_gym.tuning.policies import __main__ as training_program
from compiler_gym.tuning.policies.policy import Policy
from compiler_gym.tuning.policies.training import (
    Laboratory,
    Refinement,
    held_back_programs,
    select,
    training_programs,
)
from tests.envs.llvm.kernel_programs import kernel_uri

PROGRAMS = [kernel_uri("checksums"), kernel_uri("string_search")]


@pytest.fixture
def laboratory():
    laboratory = Laboratory(PROGRAMS, jobs=2, largest=100_000)
    yield laboratory
    laboratory.close()


def test_select():
    rows = np.array([[-0.1, 0.2, 0.0], [-0.3, 0.3, 0.1], [0.1, -0.2, 0.1], [0.3, 0.3, 0.3]])
    assert select(rows, 1) == [2]
    assert select(rows, 2) == [2, 1]
    assert select(rows, 4) == [2, 1, 0]  # The last makes nothing smaller.


def test_what_sequences_do(laboratory):
    row = laboratory.logarithms(("sroa", "simplifycfg", "loop-rotate"))
    with compiler_gym.make("llvm-v0") as env:
        for uri, logarithm in zip(PROGRAMS, row, strict=True):
            env.reset(benchmark=uri)
            env.multistep([env.action_space[name] for name in ("sroa", "simplifycfg")])
            ratio = env.observation["IrInstructionCount"] / env.observation["IrInstructionCountOz"]
            assert np.exp(logarithm) == pytest.approx(ratio)
    assert laboratory.features().shape[0] == len(PROGRAMS)


def test_programs_of_the_wrong_size_are_left_out():
    laboratory = Laboratory(PROGRAMS, jobs=1, largest=50)
    laboratory.close()
    assert laboratory.programs == ()


def test_refinement_never_gets_worse(laboratory):
    refinement = Refinement(laboratory, ("function(sroa)",), most_passes=3, seed=1)
    best = refinement.row.mean()
    for _ in range(10):
        refinement.step()
        assert refinement.row.mean() <= best
        best = refinement.row.mean()
        assert 0 < len(refinement.passes) <= 3
    np.testing.assert_array_equal(refinement.row, laboratory.logarithms(refinement.passes))


def test_sequences_for_programs(laboratory):
    for number, sequence in enumerate(laboratory.tuned(tries=5, most_passes=40, seed=0)):
        assert len(sequence) <= 40
        assert laboratory.logarithms(sequence)[number] < 1


def test_learnt_and_held_back_have_nothing_in_common(monkeypatch):
    # Names are known without the files, which take minutes to download.
    monkeypatch.setattr(PackagedDataset, "install", lambda self: pytest.fail("downloads"))
    with compiler_gym.make("llvm-v0") as env:
        learnt = {*training_programs(env.datasets, 30, 0)}
        held_back = {*held_back_programs(env.datasets, 30, 0)}
    assert not learnt & held_back
    for dataset in "kernels-v0", "csmith-v0", "opensource-v0":
        assert any(dataset in uri for uri in learnt) and any(dataset in uri for uri in held_back)

    def package(uri):
        return uri.split("/")[3] if "opensource" in uri else uri

    assert not {*map(package, learnt)} & {*map(package, held_back)}


def test_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(training_program, "training_programs", lambda *_: PROGRAMS * 2)
    app = Typer()
    app.command()(training_program.main)
    few = ["--tries=2", "--refinements=2", "--sequences=2", "--largest=100000", "--seed=5"]
    result = CliRunner().invoke(app, ["-o", str(tmp_path), *few], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    for name in "sequence", "coreset", "network":
        policy = Policy.load(tmp_path / f"{name}.json")
        assert "--seed 5" in policy.about["command"]
        assert (policy.network is not None) == (name == "network")
    assert len(json.loads((tmp_path / "tuned.json").read_text())) >= 1
