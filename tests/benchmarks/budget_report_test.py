"""Training on pieces that are compiled once, and the tables of docs/guides/learning.md."""

from contextlib import closing

import jax
import numpy as np
import pytest

import compiler_gym
from benchmarks import budget_report
from benchmarks.zero_shot import (
    known_states,
    piece_lists,
    piece_training,
    state_features,
    tables,
    task,
)
from compiler_gym.tuning.policies.policy import COST, Policy
from compiler_gym.util.runfiles_path import runfiles_path
from compiler_gym.util.statistics import student_quantile

RESULTS = runfiles_path("docs/pictures/budgets")
PROGRAM = "benchmark://kernels-v0/bitops"


@pytest.fixture
def env():
    with compiler_gym.make("llvm-v0", benchmark=PROGRAM, analyses="fresh") as env:
        env.reset()
        yield env


@pytest.fixture
def known(env, tmp_path):
    with closing(known_states.KnownStates(env, tmp_path / "states.npz")) as known:
        yield known


def test_the_shipped_list_has_the_result_of_the_shipped_policy(known, env, tmp_path):
    expected = Policy(Policy.load("pieces45").sequences, {}, continues=True).play(env).cost
    (shipped,) = piece_lists.costs_of_lists(known, [PROGRAM], [piece_lists.shipped_list()])
    assert shipped.tolist() == [expected]
    assert known.compiled == task.PASSES
    state = known.smallest([PROGRAM])[0]
    names = [name for piece in known.path(state) for name in known_states.PIECES[piece]]
    env.reset(benchmark=PROGRAM)
    env.multistep([env.action_space[name] for name in names])
    assert env.observation[COST] == known.costs[state] == expected
    # Nothing is compiled twice, not even by another object.
    known.save()
    with closing(known_states.KnownStates(env, tmp_path / "states.npz")) as again:
        repeated = piece_lists.costs_of_lists(again, [PROGRAM], [piece_lists.shipped_list()])
        assert (repeated.tolist(), again.compiled) == ([[expected]], 0)


def test_pieces_that_make_the_program_larger_are_undone(known):
    episodes = known_states.Episodes(known, [PROGRAM] * len(known_states.PIECES))
    rows = np.arange(len(known_states.PIECES))
    for piece in 0, 1:
        episodes.play(rows, np.full(len(rows), piece))
    before = episodes.states.copy()
    after, growth = known.follow(before, rows)
    assert (growth > 0).any() and (growth < 0).any()
    assert (after[growth > 0] == before[growth > 0]).all()
    assert (known.costs[after] <= known.costs[before]).all()


def test_pieces_must_fit_and_are_not_repeated_without_a_change(known):
    episodes = known_states.Episodes(known, [PROGRAM, PROGRAM], passes=20)
    first, rows = episodes.offsets, np.arange(2)
    assert first.argmax(axis=1).tolist() == [0, 0]
    episodes.play(rows, np.array([0, 1]))
    assert not episodes.allowed[0, 0]
    assert (known_states.LENGTHS[episodes.allowed[0]] <= 3).all()
    assert not episodes.allowed[1, 1]
    assert (first.shape, episodes.inputs.dtype) == (episodes.allowed.shape, np.float32)


def test_training_goes_on_where_it_was_interrupted(known, tmp_path):
    def layers(learner):
        return jax.tree.leaves(learner._layers)

    one, two = (
        piece_training.PieceLearner(known, [PROGRAM], 1, tmp_path / name) for name in ("a", "b")
    )
    # An untrained network plays the shipped list.
    episodes = known_states.Episodes(known, [PROGRAM])
    one.chooser.play(episodes)
    shipped = piece_lists.costs_of_lists(known, [PROGRAM], [piece_lists.shipped_list()])
    assert episodes.costs.tolist() == shipped[0].tolist()
    before = layers(one)
    one.update()
    one.note(drawn=0.5)
    one.save()
    one = piece_training.PieceLearner(known, [PROGRAM], 1, tmp_path / "a")
    assert one.curve == [{"actions": one.actions, "passes": one.passes, "drawn": 0.5}]
    assert 0 < one.actions < one.passes <= 8 * task.PASSES
    one.update()
    two.update()
    two.update()
    assert all(np.array_equal(*pair) for pair in zip(layers(one), layers(two), strict=True))
    assert any(not np.array_equal(*pair) for pair in zip(before, layers(two), strict=True))


@pytest.mark.parametrize(
    ("kind", "space"),
    [(state_features.Features.IR2VEC, "Ir2vec"), (state_features.Features.GRAPH, "ProgramlArrays")],
)
def test_features_are_observed_once(kind, space, env, tmp_path):
    path = tmp_path / "states.npz"
    with closing(known_states.KnownStates(env, path)) as known:
        piece_lists.costs_of_lists(known, [PROGRAM], [(0, 1)])
        known.save()
    with closing(known_states.KnownStates(env, path, kind)) as known:
        states = np.array(known.smallest([PROGRAM]) * 2)
        vectors = known.described(states)
        passes = [name for piece in known.path(states[0]) for name in known_states.PIECES[piece]]
        known.save()
    env.reset(benchmark=PROGRAM)
    env.multistep([env.action_space[name] for name in passes])
    expected = state_features.KINDS[kind].vector(env.observation[space], int(env.observation[COST]))
    assert vectors == pytest.approx(np.stack([expected] * 2), rel=1e-5)
    assert np.isfinite(vectors).all() and vectors[0].any()
    env.close()
    # A closed environment observes nothing, so these are from the file.
    again = known_states.KnownStates(env, path, kind)
    assert np.array_equal(again.described(states), vectors)


def test_counts_of_graphs_depend_on_neighbours_but_not_on_the_order_of_nodes():
    # A load and an addition of integers, joined by edges of data, or of control.
    def graph(order, flow):
        nodes = np.array(order)
        return {
            "text": np.array(["load", "add", "i32"], dtype=object),
            "node_text": nodes,
            "node_type": np.array([0, 0, 1])[nodes],
            "edge_source": np.array([order.index(0), order.index(2)]),
            "edge_target": np.array([order.index(2), order.index(1)]),
            "edge_flow": np.full(2, flow),
            "edge_position": np.zeros(2, int),
        }

    one, two, other = (
        state_features.graph_counts(graph(*each))
        for each in (([0, 1, 2], 1), ([2, 0, 1], 1), ([0, 1, 2], 0))
    )
    assert one.tolist() == two.tolist()
    words = len(one) // 3
    assert one[:words].tolist() == other[:words].tolist()
    assert one[words:].tolist() != other[words:].tolist()
    assert one.reshape(3, -1).sum(axis=1) == pytest.approx(1)


def test_an_ensemble_takes_the_mean_of_logarithms():
    class Sure(piece_training.Player):
        def __init__(self, shares):
            self._logs = np.log([shares])

        def __call__(self, inputs, offsets):
            return self._logs, self._logs[:, 0]

    ensemble = piece_training.Ensemble([Sure([0.8, 0.2]), Sure([0.5, 0.5])])
    logs, values = ensemble(np.zeros((1, 1)), np.zeros((1, 2)))
    assert np.exp(logs[0]) == pytest.approx([2 / 3, 1 / 3])
    assert values == pytest.approx([np.log(0.4) / 2])


def test_advantages_compare_the_episodes_of_a_program():
    rows = np.arange(16)
    values = np.zeros(16)
    rewards = np.where(rows < 8, rows % 2, 10 + 4 * (rows % 2)).astype(float)
    step = piece_training.Step(rows, *[np.zeros((16, 1))] * 2, rows, values, values, rewards)
    last = step._replace(rows=rows[:8], values=values[:8], rewards=np.zeros(8))
    returns, advantages = piece_training._judged([step, last], 16)
    assert returns.tolist() == [*rewards, *[0] * 8]
    assert advantages.tolist() == pytest.approx([*[-1, 1] * 8, *[0] * 8])


def test_lists_of_a_portfolio_and_of_the_nearest_program():
    lists = [(0,), (1,), (2,)]
    logarithms = np.array([[2.0, 2, 2], [1, 3, 3], [3, 3, 1]])
    portfolio = piece_lists.Portfolio(lists, logarithms, np.array([[0.0], [5], [9]]))
    assert portfolio.chosen(3) == [0, 1, 2]
    assert portfolio.nearest(np.array([8.0]), 2) == [2, 0]
    assert portfolio.nearest(np.array([1.0]), 1) == [1]


def test_best_of_groups():
    sizes = {"O0": {"a": 9.0}, "Oz": {"a": 4.0}}
    for number, size in enumerate([3.0, 2, 4, 1]):
        sizes[f"list/{number}"] = sizes[f"drawn/{number}"] = {"a": size}
    found = tables.best_of_groups(sizes, 2, ["list"])
    assert [row.final for row in found["list"].rows] == [2]
    assert [row.final for row in found["drawn"].rows] == [2, 1]
    assert not tables.best_of_groups(sizes, 5, ["list"])


def test_intervals_by_seeds():
    sizes = {"O0": {"a": 9.0}, "Oz": {"a": 4.0}}
    for number in range(25):
        sizes[f"list/{number}"] = {"a": 2.0}
    for number in range(50):
        sizes[f"PPO, drawn/{number}"] = {"a": 2.0 if number < 25 else 8.0}
    for seed in range(2):
        sizes[f"PPO{tables.LIKELIEST}/{seed}"] = {"a": 2.0}
    *_, drawn, likeliest = tables.seeds_to_markdown(sizes, "list", ["list"], 25).splitlines()
    # Each seed counts once: Student's t of two logarithms, not of 50.
    low, high = (2 * 2 ** (sign * student_quantile(1)) for sign in (-1, 1))
    assert drawn == "| PPO, drawn | 2 |" + f" 200.0% ({low:.1%} to {high:.1%}) |" * 3
    assert likeliest == f"| PPO{tables.LIKELIEST} | 2 | 100.0% (100.0% to 100.0%) |  |  |"


def test_the_document_shows_these_numbers(report, tmp_path):
    for path in RESULTS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    page = runfiles_path("docs/guides/learning.md").read_text()
    for table in report(budget_report.main, tmp_path, "--redraw").split("\n\n"):
        assert table.strip() in page
    assert (tmp_path / "budgets.svg").read_text() == (RESULTS / "budgets.svg").read_text()
