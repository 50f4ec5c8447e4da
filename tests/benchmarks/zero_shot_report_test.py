"""Policies on programs that they have not seen, and the table in docs/guides/learning.md."""

from dataclasses import replace

import numpy as np
import pytest

import compiler_gym
from benchmarks import zero_shot_report
from benchmarks.zero_shot import experiment as experiments
from benchmarks.zero_shot import methods, tables, task, training
from benchmarks.zero_shot.policies import Trained
from compiler_gym.tuning.policies.pieces_env import pieces
from compiler_gym.tuning.policies.policy import COST, Policy, costs_of
from compiler_gym.util.runfiles_path import runfiles_path

PICTURES = runfiles_path("docs/pictures")
PROGRAM, OTHER = "benchmark://kernels-v0/bitops", "benchmark://kernels-v0/life"


def played(setting, actions, wrappers=()):
    """Plays an episode; returns observations, rewards, and the environment's actions and cost."""
    env = compiler_gym.make(task.ENV_ID, reward_space="IrInstructionCountNorm")
    for wrap in (*setting.wrappers, *wrappers):
        env = wrap(env)
    with env:
        seen, rewards = [env.reset(benchmark=PROGRAM)], []
        first = env.observation[COST]
        for action in actions:
            observation, reward, _, _ = env.step(action)
            seen.append(observation)
            rewards.append(reward)
        return np.array(seen), np.array(rewards), env.actions, first / env.observation[COST]


def test_pieces_begin_with_the_shipped_sequence():
    cut = pieces()
    assert sum(cut[:9], ()) == Policy.load("sequence").sequences[0]
    assert max(map(len, cut)) * 9 == task.PASSES
    assert len(set(cut)) == len(cut)


def test_observations_and_rewards_of_pieces():
    setting = task.with_sequences(pieces())
    seen, rewards, actions, ratio = played(setting, [0, 0, 1], setting.shaping)
    assert actions == [0, 0, 1]
    assert rewards.sum() == pytest.approx(np.log(ratio))
    sizes = seen[:, 56:60]
    assert sizes[-1, 1] == pytest.approx(-np.log(ratio), rel=1e-3)
    assert sizes[:, 3] == pytest.approx([0, 1 / 9, 2 / 9, 3 / 9])
    counts, last = np.split(seen[:, 60:], 2, axis=1)
    assert (counts[-1, :2] * 3).tolist() == pytest.approx([2, 1])
    assert last.argmax(1)[1:].tolist() == [0, 0, 1]


def test_larger_programs_are_undone():
    undoing = task.with_sequences([("sroa",), ("reg2mem",), ("early-cse",)], undo=True)
    seen, rewards, actions, ratio = played(undoing, [0, 1, 2])
    assert len(actions) == 2  # The second is undone.
    assert rewards[1] == 0
    assert rewards.sum() > rewards[0] > 0
    assert seen[2][:59].tolist() == seen[1][:59].tolist()
    assert ratio > 1


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """Makes an experiment with the least training that there can be."""
    chosen = methods.all_methods()
    small = replace(chosen["ppo_pieces"].setting, rollout=9, epochs=1, batch=72)
    chosen["ppo_pieces"] = methods._trained(small, "PPO")
    monkeypatch.setattr(experiments, "all_methods", lambda: chosen)
    monkeypatch.setattr(training, "_TRIED", 1)
    return experiments.Experiment([PROGRAM], [OTHER], 60, tmp_path, tmp_path)


def test_experiment(experiment, tmp_path, monkeypatch):
    for name in ("sequence", "search_pieces", "ppo_pieces"):
        experiment.run(name, 3)
    results = experiments.read_results(tmp_path / "zero_shot.csv")
    assert [each.method for each in results] == [
        "`sequence`", "one list of pieces", "PPO, drawn", "PPO, likeliest"
    ]  # fmt: skip
    assert {each.seed for each in results} == {3}
    assert results[0].steps == 0 < 60 <= results[1].steps
    assert all(0 < each.best <= each.final for each in results)
    sizes = experiments.read_sizes(tmp_path / "zero_shot_programs.csv")
    assert sizes["`sequence`/3"][OTHER] < sizes["O0"][OTHER]
    # Nothing is learnt or judged again.
    monkeypatch.setattr(task.Setting, "judge", None)
    experiment.run("ppo_pieces", 3)


def test_imitation_repeats_the_best_sequence(monkeypatch):
    sequences = Policy.load("coreset").sequences[1:4]
    monkeypatch.setattr(Policy, "load", lambda _: Policy(sequences, {}))
    setting = task.with_sequences(pieces())
    ((run, layers),) = training.imitate(setting, [PROGRAM], 1, seed=0)
    assert run == sum(map(len, sequences))
    found = setting.judge(Trained(layers), [PROGRAM], 0, deterministic=True)
    with compiler_gym.make("llvm-v0", benchmark=PROGRAM) as env:
        assert found.rows[0].best <= min(min(costs_of(env, each)) for each in sequences)


def test_comparison_of_policies():
    sizes = {
        "O0": {"a": 100, "b": 100},
        "Oz": {"a": 50, "b": 50},
        "one/0": {"a": 10, "b": 10},
        "one/1": {"a": 40, "b": 10},
        "two/0": {"a": 40, "b": 20},
    }
    ratio, low, high = tables.comparison(sizes, "one", "two")
    assert (ratio, low, high) == pytest.approx((0.5, 0.5, 0.5))
    assert tables.comparisons_to_markdown(sizes, "one").splitlines()[2:] == [
        "| two | 50.0% (50.0% to 50.0%) |"
    ]


def test_the_document_shows_these_numbers(report, tmp_path):
    for name in ("zero_shot.csv", "zero_shot_programs.csv"):
        (tmp_path / name).write_bytes((PICTURES / name).read_bytes())
    page = runfiles_path("docs/guides/learning.md").read_text()
    for table in report(zero_shot_report.main, tmp_path, "--redraw").split("\n\n"):
        assert table.strip() in page
    assert (tmp_path / "zero_shot.svg").read_text() == (PICTURES / "zero_shot.svg").read_text()
