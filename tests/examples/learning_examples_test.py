"""Examples that learn from recorded episodes and from program graphs."""

import re
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import compiler_gym
from compiler_gym.distributed.minari_dataset import to_minari
from compiler_gym.distributed.rows import RowWriter, encode, schema_of

EXAMPLES = Path(__file__).absolute().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import gnn  # noqa: E402
import offline  # noqa: E402

ACTIONS = [f"function({name})" for name in ("gvn", "sroa", "dce", "sink")]
STEPS = 3
LISTS = [*product(ACTIONS, repeat=STEPS)]


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    """Made-up episodes, in which only sroa has a reward."""
    with compiler_gym.make("llvm-v0") as env:
        space, names = env.observation.spaces["Autophase"].space, env.action_space.names
    schema = schema_of({"Autophase": space})
    with RowWriter(tmp_path / "table", schema) as writer:
        for number, (actions, program) in enumerate(product(LISTS, range(2))):
            row = {
                "episode": str(number), "program": f"benchmark://a/{program}",
                "program_hash": "", "environment": "llvm-v0", "compiler": "22", "policy": "random",
                "seed": 0, "reward": "IrInstructionCountOz", "actions": actions,
                "rewards": [float(name == ACTIONS[1]) for name in actions], "sizes": [],
                "end": None, "failed_action": None, "error": None,
                "observation_Autophase": [np.arange(56) + program] * (STEPS + 1),
            }  # fmt: skip
            writer.write(encode(row, schema))
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    return to_minari(tmp_path / "table", "llvm/test-v0", action_names=names).id


def test_offline_learning(dataset, capsys):
    data = offline.Recorded(dataset)
    sroa = data.best_list()[0]
    assert data.best_list() == [sroa] * STEPS
    assert data.seen.shape == (2 * len(LISTS) * (STEPS + 1), 56 + data.actions_count)
    assert (data.seen[data.here + 1, 56 + data.actions] > 0).all()
    assert data.is_last.tolist() == [False, False, True] * 2 * len(LISTS)
    assert data.rewards[data.is_good(0.1)].mean() > data.rewards.mean() + 0.3
    clone = offline.cloned(data, share=0.1, epochs=60, seed=0)
    learner = offline.fitted_q(data, iterations=60, alpha=0.1, seed=0)
    starts = data.seen[data.here[:2]]
    assert [clone.best(each) for each in starts] == [sroa] * 2
    assert [learner.best(each) for each in starts] == [sroa] * 2
    offline.main(dataset, epochs=1, iterations=2)
    shown = capsys.readouterr().out
    assert shown.startswith("384 transitions of 2 programs\nrandom: ")
    assert re.findall(r"^fitted Q: [\d.]+% of IrInstructionCountOz at the end ", shown, re.M)
    assert len(re.findall(r"^(.*), beside the best recorded list: [\d.]+%", shown, re.M)) == 3


def made_up(rng: np.random.Generator) -> gnn.Sample:
    """A chain of nodes, and the share of them that have the word 1."""
    nodes = int(rng.integers(3, 8))
    graph = {
        "x": rng.integers(3, size=nodes),
        "edge_index": np.array([range(nodes - 1), range(1, nodes)]),
        "edge_type": rng.integers(3, size=nodes - 1),
    }
    return graph, np.zeros(0), float((graph["x"] == 1).mean())


def test_graph_neural_network_learns():
    rng = np.random.default_rng(0)
    data, others = ([made_up(rng) for _ in range(count)] for count in (80, 8))
    found = gnn.estimates(gnn.fit(data, epochs=30, seed=0), others)
    wanted = np.array([each[2] for each in others])
    assert np.abs(found - wanted).mean() < 0.3 * np.abs(wanted - wanted.mean()).mean()


def test_direction_and_kind_of_edges_count():
    weights = gnn.initial_weights(0)
    graph = {"x": np.array([0, 1, 2]), "edge_index": np.array([[0, 1], [1, 2]])}
    kinds = [np.array([0, 0]), np.array([0, 1])]
    graphs = [graph | {"edge_type": kind} for kind in kinds]
    graphs.append(graphs[0] | {"edge_index": graph["edge_index"][::-1]})
    values = gnn.estimates(weights, [(each, None, 0) for each in graphs])
    assert len({*values.round(4)}) == 3
    # Graphs that are joined do not change each other.
    together = np.asarray(gnn.network(weights, 3, *gnn.joined(graphs)))
    assert together == pytest.approx(values, abs=1e-4)


def test_estimates_for_other_programs(capsys):
    gnn.main(states=1, epochs=1, programs=4)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "4 states of 4 programs; 7 of 7 others"
    assert [re.sub(r"[\d.]+$", "0", line) for line in lines[1:]] == [
        "mean: mean error 0",
        "linear regression, Autophase: mean error 0",
        "graph neural network: mean error 0",
    ]
