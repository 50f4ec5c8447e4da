"""Program graphs as arrays of integers."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import compiler_gym
from compiler_gym.envs.llvm.graph_tensors import NODE_WORDS, graph_tensors, node_word, to_pyg
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.tuning.vocabulary_training.corpus import entity_names

PROGRAM = """
%pair = type { i32, i32 }

define i7 @f(ptr addrspace(1) %p, <4 x float> %v, <vscale x 2 x i7> %w, <2 x ptr addrspace(1)> %q,
             %pair %s, <{ i8 }> %t, [2 x %pair] %a, target("spirv.Image") %o) {
  %1 = load i7, ptr addrspace(1) %p
  %2 = xor i7 %1, 3
  ret i7 %2
}
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "types.ll"
    path.write_text(PROGRAM)
    with compiler_gym.make("llvm-v0", benchmark=path) as env:
        env.reset()
        return env.observation["ProgramlArrays"]


def test_opcodes_are_those_of_llvm():
    """In its order, without the two for instructions of users."""
    names = entity_names()
    opcodes = [name.lower() for name in names[: names.index("Freeze") + 1]]
    renamed = {"atomiccmpxchg": "cmpxchg", "vaarg": "va_arg"}
    expected = [renamed.get(name, name) for name in opcodes if not name.startswith("userop")]
    first = NODE_WORDS.index("ret")
    assert [*NODE_WORDS[first : first + len(expected)]] == expected


def test_each_word_has_one_index():
    assert len({*NODE_WORDS}) == len(NODE_WORDS)
    assert all(node_word(word) == word for word in NODE_WORDS)
    # Trained networks depend on them.
    assert [NODE_WORDS.index(word) for word in ("[unknown]", "[external]", "ret", "call")] == [
        *(0, 1, 2, 58)
    ]
    assert [NODE_WORDS.index(word) for word in ("i1", "ptr", "<i1>", "array")] == [68, 82, 83, 98]


def test_words_of_nodes(graph):
    tensors = graph_tensors(graph)
    words = [NODE_WORDS[number] for number in tensors["x"]]
    assert words == [
        *("[external]", "load", "xor", "ret"),
        *("ptr", "<float>", "<iN>", "<ptr>", "struct", "struct", "array", "target"),
        *("iN", "iN", "iN"),
    ]
    assert tensors["node_type"].tolist() == [0] * 4 + [1] * 10 + [2]
    # The constant is the second operand of xor.
    (edge,) = np.flatnonzero(tensors["edge_index"][0] == 14)
    assert [tensors["edge_index"][1, edge], tensors["edge_type"][edge]] == [2, 1]
    assert tensors["edge_position"][edge] == 1


@pytest.mark.parametrize("text", ["madeup", "i", "<4 x madeup>", "", "float4"])
def test_unknown_texts_have_an_index(text):
    graph = {name: np.zeros(0, dtype=np.int64) for name in ("edge_source", "edge_target")}
    graph |= {"edge_flow": graph["edge_source"], "edge_position": graph["edge_source"]}
    texts = np.array([text], dtype=object)
    graph |= {"text": texts, "node_text": np.array([0, 0]), "node_type": np.array([0, 1])}
    assert graph_tensors(graph)["x"].tolist() == [0, 0]


def test_all_nodes_of_the_kernels_are_known():
    for name in ("sudoku", "nbody"):
        with compiler_gym.make("llvm-v0", benchmark=f"benchmark://kernels-v0/{name}") as env:
            env.reset()
            env.multistep([env.action_space[name] for name in ("sroa", "slp-vectorizer", "gvn")])
            assert 0 not in graph_tensors(env.observation["ProgramlArrays"])["x"]


def test_graphs_of_pytorch_geometric(graph, monkeypatch):
    """With the library: tests/examples/library_trainers_test.py."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=lambda array: array))
    data = SimpleNamespace(Data=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "torch_geometric", SimpleNamespace(data=data))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", data)
    made, expected = vars(to_pyg(graph)), graph_tensors(graph)
    assert made.keys() == expected.keys()
    assert all((made[name] == expected[name]).all() for name in expected)


def test_pytorch_geometric_is_not_installed(graph, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(EnvironmentNotSupported, match=r"pip install 'compiler_gym\[pyg\]'"):
        to_pyg(graph)
