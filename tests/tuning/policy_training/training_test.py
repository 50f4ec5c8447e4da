"""Tests of policy training."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import compiler_gym
from compiler_gym.cli.sequence_trials import PASS_SPACE
from compiler_gym.datasets.selection import programs_of
from compiler_gym.distributed import Limits, open_pool
from compiler_gym.distributed.programs import Program
from compiler_gym.envs.llvm.datasets.packages import PackagedDataset
from compiler_gym.envs.workbench import fork_at
from compiler_gym.tuning.policies.policy import Policy, continued
from compiler_gym.tuning.policy_training import __main__ as training_program
from compiler_gym.tuning.policy_training.laboratory import Laboratory, Refinement
from compiler_gym.tuning.policy_training.pieces import Growth
from compiler_gym.tuning.policy_training.training import BORDER, joined, pieces_of, select
from tests.envs.llvm.kernel_programs import kernel_uri

PROGRAMS = [kernel_uri("checksums"), kernel_uri("string_search")]


SOURCE = ("function(sroa)", "function(early-cse)", "function(simplifycfg)", "function(gvn)") * 2


@pytest.fixture(scope="module")
def pool():
    with open_pool(limits=Limits(workers=2)) as pool:
        yield pool


@pytest.fixture(scope="module")
def env():
    with compiler_gym.make("llvm-v0") as env:
        yield env


@pytest.fixture(scope="module")
def programs(env):
    return [Program.of(env.datasets.benchmark(uri)) for uri in PROGRAMS]


@pytest.fixture
def laboratory(pool, programs):
    return Laboratory(pool, programs, largest=100_000)


def test_select():
    rows = np.array([[-0.1, 0.2, 0.0], [-0.3, 0.3, 0.1], [0.1, -0.2, 0.1], [0.3, 0.3, 0.3]])
    assert select(rows, 1) == [2]
    assert select(rows, 2) == [2, 1]
    assert select(rows, 4) == [2, 1, 0]  # The last makes nothing smaller.


def test_logarithms_match_played_sequences(laboratory, env):
    row = laboratory.logarithms(("sroa", "simplifycfg", "loop-rotate"))
    for uri, logarithm in zip(PROGRAMS, row, strict=True):
        env.reset(benchmark=uri)
        env.multistep([env.action_space[name] for name in ("sroa", "simplifycfg")])
        ratio = env.observation["IrInstructionCount"] / env.observation["IrInstructionCountOz"]
        assert np.exp(logarithm) == pytest.approx(ratio)
    assert laboratory.features().shape[0] == len(PROGRAMS)


def test_programs_of_the_wrong_size_are_left_out(pool, programs):
    assert Laboratory(pool, programs, largest=50).programs == ()


def test_a_program_that_does_not_compile_is_an_error(pool, programs):
    broken = dataclasses.replace(programs[0], uri="file:///broken.bc", data=b"", message="0" * 32)
    with pytest.raises(RuntimeError, match=r"file:///broken\.bc"):
        Laboratory(pool, [programs[1], broken], largest=50)


class Table:
    """A laboratory that draws the results of sequences.

    Args:
        concurrency: The number of workers.
    """

    def __init__(self, concurrency):
        self._concurrency = concurrency

    def concurrency(self):
        return self._concurrency

    def logarithms(self, passes, programs=None):
        rows = np.random.default_rng([ord(each) for each in passes]).normal(scale=0.01, size=30)
        return rows if programs is None else rows[programs]


def test_refinement_is_the_same_with_many_workers():
    found = []
    for concurrency in 2, 17:
        refinement = Refinement(Table(concurrency), "abcdefgh", ("a",), most_passes=4, seed=0)
        kept, sums = [], [refinement.row.sum()]
        for _ in range(60):
            kept.append(refinement.step())
            sums.append(refinement.row.sum())
        assert sums == sorted(sums, reverse=True)
        found.append((kept, refinement.passes, [*refinement.row]))
    assert found[0] == found[1]
    assert 0 < sum(kept) < 60


def test_sequences_for_programs(laboratory):
    for number, sequence in enumerate(laboratory.tuned(tries=5, most_passes=40, seed=0)):
        assert len(sequence) <= 40
        assert laboratory.logarithms(sequence)[number] < 1


def test_learnt_and_held_back_have_nothing_in_common(monkeypatch):
    # Names are known without the files, which take minutes to download.
    monkeypatch.setattr(PackagedDataset, "install", lambda self: pytest.fail("downloads"))
    with compiler_gym.make("llvm-v0") as env:
        learnt = {*programs_of(env.datasets, "train", 30, 30, 0)}
        held_back = {*programs_of(env.datasets, "test", 30, 30, 0)}
    assert not learnt & held_back
    for dataset in "kernels-v0", "csmith-v0", "opensource-v0":
        assert any(dataset in uri for uri in learnt) and any(dataset in uri for uri in held_back)

    def package(uri):
        return uri.split("/")[3] if "opensource" in uri else uri

    assert not {*map(package, learnt)} & {*map(package, held_back)}


def train(*arguments):
    result = CliRunner().invoke(training_program.app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_sequences(tmp_path, monkeypatch):
    monkeypatch.setattr(training_program, "programs_of", lambda *_: PROGRAMS * 2)
    few = ["--tries=2", "--refinements=2", "--kept=2", "--largest=100000", "--seed=5"]
    train("sequences", "-o", str(tmp_path), *few)
    for name in "sequence", "coreset", "network":
        policy = Policy.load(tmp_path / f"{name}.json")
        assert "--seed 5" in policy.about["command"]
        assert (policy.network is not None) == (name == "network")
    assert len(json.loads((tmp_path / "tuned.json").read_text())) >= 1


class TestPieces:
    def test_costs_are_those_of_the_policy(self, laboratory, env):
        growth = Growth(laboratory, env.action_space.names, [SOURCE], seed=0)
        gains = [growth.add(most, candidates=3, rounds=1) for most in (4, 2, 2)]
        assert gains[0] > 0 and min(gains) >= 0
        assert all(len(piece) <= most for piece, most in zip(growth.pieces, (4, 2, 2), strict=True))
        policy = Policy(tuple(growth.pieces), {}, continues=True)
        for uri, cost in zip(PROGRAMS, growth.costs, strict=True):
            env.reset(benchmark=uri)
            assert policy.play(env).cost == cost

    def test_passes_without_use_are_left_out(self, laboratory, env):
        # Nothing can be sunk or merged twice, so there is no use of the second.
        source = ("function(sroa)", "function(sroa)", "function(dce)", "function(dce)")
        growth = Growth(laboratory, env.action_space.names, [source], seed=0)
        growth.add(most_passes=4, candidates=8, rounds=0)
        assert sorted({*growth.pieces[0]}) == sorted(growth.pieces[0])

    def test_joined_and_split_again(self):
        pieces = (("a", "b"), ("c",), ("d", "e"))
        assert joined(pieces) == ("a", "b", BORDER, "c", BORDER, "d", "e")
        assert pieces_of(joined(pieces)) == pieces
        assert pieces_of((BORDER, "a", BORDER, BORDER)) == (("a",),)

    def test_refinement_of_pieces(self, laboratory, env):
        start = joined([SOURCE[:4], SOURCE[:2]])
        refinement = Refinement(laboratory, [*env.action_space.names, BORDER], start, 6, seed=2)
        for _ in range(10):
            before = refinement.row.sum()
            refinement.step()
            assert refinement.row.sum() <= before
            assert 0 < len(refinement.passes) - refinement.passes.count(BORDER) <= 6
        policy = Policy(pieces_of(refinement.passes), {}, continues=BORDER in refinement.passes)
        for uri, size, row in zip(PROGRAMS, laboratory.sizes, refinement.row, strict=True):
            env.reset(benchmark=uri)
            assert policy.play(env).cost == pytest.approx(size * np.exp(row))

    def test_command(self, tmp_path, monkeypatch):
        monkeypatch.setattr(training_program, "breadth_first", lambda *_: iter(PROGRAMS))
        few = ["--passes=7", "--short=5", "--first=4", "--most=2", "--candidates=3", "--rounds=1"]
        more = ["--refinements=5", "--largest=100000", "--jobs=2"]
        train("pieces", "-o", str(tmp_path), *few, *more)
        long, short = (Policy.load(tmp_path / f"{name}.json") for name in ("pieces", "pieces45"))
        assert long.continues and "--rounds 1" in long.about["command"]
        assert "jobs" not in long.about["command"]
        assert sum(map(len, long.sequences)) == 7 and sum(map(len, short.sequences)) <= 5
        assert long.sequences[: len(short.sequences)] == short.sequences

    def test_command_for_searches(self, tmp_path, monkeypatch, env):
        monkeypatch.setattr(training_program, "breadth_first", lambda *_: iter(PROGRAMS))
        few = ["--passes=4", "--most=4", "--candidates=60", "--rounds=0", "--largest=100000"]
        train("search-pieces", "-o", str(tmp_path), *few, "--jobs=2")
        output = tmp_path / "search_pieces.json"
        found = Policy.load(output)
        assert found.continues and "--candidates 60" in found.about["command"]
        shipped = Policy.load("pieces").sequences
        new = [piece for piece in found.sequences if piece not in shipped]
        assert len(found.sequences) == len(shipped) + len(new)
        assert 0 < sum(map(len, new)) <= 4
        space = next(each for each in env.action_spaces if each.name == PASS_SPACE)
        for name in itertools.chain(*new):
            assert not space.options[space[name]]  # A pass of LLVM.
        # A further training begins with these.
        few[0] = "--passes=0"
        train("search-pieces", "-o", str(tmp_path / "on"), *few, f"--begin={output}", "--jobs=2")
        again = Policy.load(tmp_path / "on" / "search_pieces.json").sequences
        assert again == found.sequences  # The order is the same.

    def test_the_most_useful_piece_comes_first(self, laboratory):
        pieces = [("function(adce)",), SOURCE[:1], SOURCE]
        growth = Growth(laboratory, (), (), 0)
        growth.append_all(pieces)
        assert growth.pieces[0] == SOURCE and sorted(growth.pieces) == sorted(pieces)
        costs = growth.costs
        growth = Growth(laboratory, (), (), 0)
        growth.append_all(pieces[:2])
        assert (costs < growth.costs).all()

    def test_costs_of_passes_with_parameters(self, laboratory, env):
        pieces = [
            ("function(sroa)",),
            ("function(simplifycfg<hoist-common-insts>)", "function(gvn)"),
        ]
        growth = Growth(laboratory, (), (), 0, PASS_SPACE)
        for piece in pieces:
            growth.append(piece)
        for uri, first, cost in zip(PROGRAMS, laboratory.first_sizes, growth.costs, strict=True):
            env.reset(benchmark=uri)
            with fork_at(env, action_space=PASS_SPACE) as start:
                assert continued(start, pieces)[0] == cost < first
