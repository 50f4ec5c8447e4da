import json
import pickle

import networkx
import numpy as np
import pytest

from compiler_gym.envs.llvm.derived_observations import program_graph, program_graph_json, unpack
from compiler_gym.service.proto.value_converters import OPAQUE_FORMATS
from compiler_gym.views import ObservationSpaceSpec
from tests.envs.llvm.kernel_programs import SOME_KERNELS, kernel_uri


def rows(*lists):
    """Lists of integers as the service sends them."""
    return np.frombuffer(np.array(lists, dtype="<i4").tobytes(), dtype=np.int8)


# define i32 @f(i32 %0) { %2 = add i32 %0, %0; ret i32 %2 }
ADDITION = {
    "nodes": rows(
        [0, 0, 0, 1, 1],  # type
        [0, 0, 0, 0, 0],  # function
        [0, 0, 0, 0, 0],  # block
        [0, 1, 2, 3, 3],  # text
    ),
    "edges": rows(
        [1, 1, 3, 3, 4],  # source
        [2, 4, 1, 1, 2],  # target
        [0, 1, 1, 1, 1],  # flow
        [0, 0, 0, 1, 0],  # position
        [0, 0, 0, 1, 0],  # key
    ),
    "full_texts": "\0%2 = add i32 %0, %0\0ret i32 %2\0i32 %0\0i32 %2",
    "text": np.array(["[external]", "add", "ret", "i32"], dtype=object),
    "function_name": np.array(["f"], dtype=object),
    "module_name": "-",
    "target_triple": "x86_64",
    "data_layout": "e",
}


def test_graphs_compare():
    graph, same = (program_graph(unpack(ADDITION)) for _ in range(2))
    assert graph == same and hash(graph) == hash(same)
    assert graph == networkx.MultiDiGraph(graph) and graph == pickle.loads(pickle.dumps(graph))
    assert graph == OPAQUE_FORMATS["json://networkx/MultiDiGraph"](
        json.dumps(program_graph_json(unpack(ADDITION))).encode()
    )
    same.nodes[1]["text"] = "sub"
    assert graph != same
    for change in (lambda graph: graph.add_edge(0, 1), lambda graph: graph.graph.clear()):
        copy = graph.copy()
        assert type(copy) is type(graph) and copy == graph
        change(copy)
        assert copy != graph
    assert graph != 3 and graph != networkx.DiGraph()


def test_graph_is_as_the_library_would_make_it():
    """Also in what is only used when the graph is looked at from behind, or changed."""
    graph = program_graph(unpack(ADDITION))
    same = networkx.MultiDiGraph(**graph.graph)
    same.add_nodes_from(graph.nodes(data=True))
    same.add_edges_from(graph.edges(keys=True, data=True))
    assert networkx.utils.graphs_equal(graph, same)
    assert graph.pred == same.pred
    assert graph.number_of_edges() == 5
    assert list(graph.predecessors(1)) == [3]
    graph.edges[3, 1, 1]["position"] = 7
    assert graph.pred[1][3][1]["position"] == 7
    graph.remove_node(3)
    assert list(graph.in_edges(1)) == []
    assert graph.add_edge(1, 2) == 1


def test_json_is_that_of_the_library():
    document = program_graph_json(unpack(ADDITION))
    assert document == networkx.node_link_data(program_graph(unpack(ADDITION)), edges="links")
    assert json.loads(json.dumps(document)) == document


def test_malformed_values_are_errors():
    for damage in (
        {"nodes": ADDITION["nodes"][:-1]},
        {"nodes": ADDITION["nodes"][:-16]},
        {"edges": ADDITION["edges"][:-4]},
        {"full_texts": "\0ret"},
    ):
        with pytest.raises(ValueError):
            program_graph(unpack({**ADDITION, **damage}))


def made_by_the_library(arrays):
    """The graph of ProgramlArrays, node by node and edge by edge."""
    module = {
        "name": arrays["module_name"],
        "llvm_target_triple": arrays["target_triple"],
        "llvm_data_layout": arrays["data_layout"],
    }
    functions = [{"name": name, "module": 0} for name in arrays["function_name"]]
    graph = networkx.MultiDiGraph(function=functions, module=[module])
    columns = ("type", "function", "block", "text", "full_text")
    nodes = zip(*(arrays[f"node_{name}"].tolist() for name in columns), strict=True)
    for number, (kind, function, block, text, full_text) in enumerate(nodes):
        attributes = {"type": kind, "function": function, "block": block}
        features = {"features": {"full_text": [full_text]}} if number else {}
        graph.add_node(number, **attributes, text=arrays["text"][text], **features)
    columns = ("source", "target", "flow", "position")
    edges = zip(*(arrays[f"edge_{name}"].tolist() for name in columns), strict=True)
    for source, target, flow, position in edges:
        graph.add_edge(source, target, flow=flow, position=position)
    return graph


@pytest.mark.parametrize("kernel", SOME_KERNELS)
def test_kernels_are_as_the_library_would_make_them(env, kernel):
    """Before and after some actions; the orders of nodes, neighbours and edges included."""
    env.reset(benchmark=kernel_uri(kernel))
    for actions in ([], ["sroa", "instcombine", "simplifycfg", "inline", "gvn"]):
        env.multistep([env.action_space[name] for name in actions])
        graph = env.observation["Programl"]
        expected = made_by_the_library(env.observation["ProgramlArrays"])
        assert networkx.utils.graphs_equal(graph, expected)
        for adjacency in ("succ", "pred"):
            assert [(node, list(each)) for node, each in getattr(graph, adjacency).items()] == [
                (node, list(each)) for node, each in getattr(expected, adjacency).items()
            ]
        assert list(graph.edges(keys=True, data=True)) == list(expected.edges(keys=True, data=True))


def test_other_clients_get_the_same(env):
    """As the service sends what has these numbers on the wire."""
    env.reset()
    offered = env.service.observation_spaces
    for index, name in ((6, "Programl"), (7, "ProgramlJson")):
        env.observation.spaces["raw"] = ObservationSpaceSpec.from_proto(index, offered[index])
        value, expected = env.observation["raw"], env.observation[name]
        if name == "Programl":
            assert networkx.utils.graphs_equal(value, expected)
        else:
            assert value == expected
