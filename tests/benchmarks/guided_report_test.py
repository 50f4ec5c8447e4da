"""A network that chooses pieces and skips passes, and its table in docs/guides/learning.md."""

from contextlib import closing

import numpy as np
import pytest

import compiler_gym
from benchmarks import guided_report
from benchmarks.zero_shot import guided, guided_training, tables, task
from compiler_gym.tuning.policies.policy import COST, Policy
from compiler_gym.util.runfiles_path import runfiles_path

PROGRAM = "benchmark://kernels-v0/bitops"
RESULTS = runfiles_path("docs/pictures/guided")


@pytest.fixture
def env():
    with compiler_gym.make("llvm-v0", benchmark=PROGRAM) as env:
        env.reset()
        yield env


def network(env, odds):
    """Returns a network with the same forecast for every program."""
    pieces = np.zeros(2 * len(guided.PIECES))
    biases = np.concatenate([np.full(len(guided.NAMES), odds), pieces])
    with closing(guided.PieceEpisode(env)) as episode:
        weights = np.zeros((len(episode.inputs()), len(biases)))
    return guided.Network([np.zeros(len(weights)), np.ones(len(weights)), weights, biases])


def test_an_episode_does_what_the_shipped_policy_does(env):
    pieces = Policy.load("pieces45").sequences
    expected = Policy(pieces, {}, continues=True).play(env)
    env.reset()
    with closing(guided.PieceEpisode(env)) as episode:
        for number in range(len(pieces)):
            episode.play(number)
        assert (episode.state.cost, episode.passes_run) == (expected.cost, task.PASSES)
        for _ in range(3):
            episode.play(2)
        # The program has not changed, so that no pass needs to run again.
        run = episode.passes_run
        assert not episode.play(2).effects
        assert episode.passes_run == run
    env.multistep([env.action_space[name] for name in episode.kept])
    assert env.observation[COST] == expected.cost


def test_pieces_that_make_the_program_larger_are_undone(env):
    pieces = {" ".join(piece): number for number, piece in enumerate(guided.PIECES)}
    with closing(guided.PieceEpisode(env)) as episode:
        trials = [episode.play(number) for number in pieces.values()]
        worse = next(trial for trial in trials if trial.growth > 0)
        assert episode.state.cost < env.observation[COST]
        assert not episode.can_help[trials[-1].piece]
        assert worse.effects and len(worse.inputs) > 1


def test_passes_without_an_expected_effect_are_skipped(env):
    before = env.observation[COST]
    guided.Guided([network(env, odds=-20)]).play(env)
    assert (env.observation[COST], env.actions) == (before, [])


def test_the_number_of_passes_is_limited(env, monkeypatch):
    ended = []
    close = guided.PieceEpisode.close
    monkeypatch.setattr(
        guided.PieceEpisode, "close", lambda self: (ended.append(self.passes_run), close(self))
    )
    policy = guided.Guided([network(env, odds=5)], passes=7)
    ended.clear()
    policy.play(env)
    guided.Unguided().play(env)
    assert ended == [7, task.PASSES]


def test_a_network_learns_which_passes_have_an_effect(env, tmp_path):
    guided_training.record(env, PROGRAM, tmp_path)
    known = guided_training.examples(tmp_path)
    learnt = guided.Network(guided_training.fit(known, seed=0, epochs=30))
    odds = np.array([learnt(row).effects for row in known.inputs])
    assert odds[known.effects == 1].mean() > odds[known.effects == 0].mean() + 1
    (path,) = tmp_path.iterdir()
    stamp = path.stat().st_mtime_ns
    guided_training.record(env, PROGRAM, tmp_path)  # Nothing is recorded again.
    assert path.stat().st_mtime_ns == stamp


def test_best_of_table():
    sizes = {"O0": {"b://d/p/a": 100, "b://d/q/b": 100}, "Oz": {"b://d/p/a": 50, "b://d/q/b": 50}}
    for seed in range(5):
        sizes[f"list/{seed}"] = {"b://d/p/a": 50, "b://d/q/b": 50}
        sizes[f"drawn/{seed}"] = {"b://d/p/a": 40 + seed, "b://d/q/b": 40 + seed}
    head, _, fixed, drawn = tables.best_of_to_markdown(sizes, "list").splitlines()
    assert head == "|  | one episode | beside list | best of 5 |"
    assert fixed == "| list | 100.0% (100.0% to 100.0%) |  | 100.0% |"
    assert drawn == "| drawn | 84.0% (84.0% to 84.0%) | 84.0% (84.0% to 84.0%) | 80.0% |"


def test_programs_of_all_packages(env):
    chosen = task.programs_by_package(env, "validation", 36)
    assert len(set(chosen)) == 36
    assert len({uri.split("/")[3] for uri in chosen}) == 18
    assert all("opensource-v1" in uri for uri in chosen)


def test_the_document_shows_these_numbers(report):
    page = runfiles_path("docs/guides/learning.md").read_text()
    assert report(guided_report.main, RESULTS, "--redraw").strip() in page
