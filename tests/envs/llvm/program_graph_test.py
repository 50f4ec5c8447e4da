import gc
import json

import networkx
import numpy as np
import pytest

from compiler_gym.envs.llvm.program_graph import program_graph, program_graph_json
from compiler_gym.service.proto import Opaque
from compiler_gym.service.proto.opaque_converters import OPAQUE_FORMATS
from tests.envs.llvm.kernel_programs import KERNELS, kernel_uri

# define i32 @f(i32 %0) { %2 = add i32 %0, %0; ret i32 %2 }
ADDITION = {
    "node_type": np.array([0, 0, 0, 1, 1]),
    "node_function": np.array([0, 0, 0, 0, 0]),
    "node_block": np.array([0, 0, 0, 0, 0]),
    "node_text": np.array([0, 1, 2, 3, 3]),
    "node_full_text": np.array(
        ["", "%2 = add i32 %0, %0", "ret i32 %2", "i32 %0", "i32 %2"], dtype=object
    ),
    "edge_source": np.array([1, 1, 3, 3, 4]),
    "edge_target": np.array([2, 4, 1, 1, 2]),
    "edge_flow": np.array([0, 1, 1, 1, 1]),
    "edge_position": np.array([0, 0, 0, 1, 0]),
    "text": np.array(["[external]", "add", "ret", "i32"], dtype=object),
    "function_name": np.array(["f"], dtype=object),
    "module_name": "-",
    "target_triple": "x86_64",
    "data_layout": "e",
}


def test_graph():
    graph = program_graph(ADDITION)
    assert type(graph) is networkx.MultiDiGraph
    assert graph.nodes[0] == {"block": 0, "function": 0, "text": "[external]", "type": 0}
    assert graph.nodes[1] == {
        "block": 0,
        "features": {"full_text": ["%2 = add i32 %0, %0"]},
        "function": 0,
        "text": "add",
        "type": 0,
    }
    assert list(graph.edges(data=True, keys=True)) == [
        (1, 2, 0, {"flow": 0, "position": 0}),
        (1, 4, 0, {"flow": 1, "position": 0}),
        (3, 1, 0, {"flow": 1, "position": 0}),
        (3, 1, 1, {"flow": 1, "position": 1}),
        (4, 2, 0, {"flow": 1, "position": 0}),
    ]
    assert graph.graph == {
        "function": [{"name": "f", "module": 0}],
        "module": [{"name": "-", "llvm_target_triple": "x86_64", "llvm_data_layout": "e"}],
    }


def test_graph_is_as_the_library_would_make_it():
    """Also in what is only used when the graph is looked at from behind, or changed."""
    graph = program_graph(ADDITION)
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
    document = program_graph_json(ADDITION)
    assert document == networkx.node_link_data(program_graph(ADDITION), edges="links")
    assert json.loads(json.dumps(document)) == document


def test_garbage_is_collected_again():
    program_graph(ADDITION)
    assert gc.isenabled()
    with pytest.raises(IndexError):
        program_graph({**ADDITION, "edge_target": np.array([2, 4, 1, 1, 9])})
    assert gc.isenabled()


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels(env, kernel):
    """No edge is lost, and what other clients get is the same graph."""
    env.reset(benchmark=kernel_uri(kernel))
    graph, document = env.observation["Programl"], env.observation["ProgramlJson"]
    arrays = env.observation["ProgramlArrays"]
    assert graph.number_of_edges() == len(document["links"]) == arrays["edge_flow"].size
    assert graph.number_of_nodes() == len(document["nodes"]) == arrays["node_type"].size
    types = np.bincount(arrays["node_type"])
    assert types[0] == env.observation["IrInstructionCount"] + 1
    assert sum(degree for _, degree in graph.degree()) == 2 * graph.number_of_edges()
    assert _sorted_links(document) == _sorted_links(networkx.node_link_data(graph, edges="links"))


def _sorted_links(document):
    """Libraries list edges by node, the service in the order of the program."""
    links = sorted(
        document["links"], key=lambda link: (link["source"], link["target"], link["key"])
    )
    return {**document, "links": links}


def test_other_clients_get_the_same(env):
    env.reset()
    for name, index in (("Programl", 6), ("ProgramlJson", 7)):
        event = _observe_by_index(env, index)
        opaque = Opaque()
        assert event.any_value.Unpack(opaque)
        value, expected = OPAQUE_FORMATS[opaque.format](opaque.data), env.observation[name]
        if name == "Programl":
            assert networkx.utils.graphs_equal(value, expected)
        else:
            assert value == expected


def _observe_by_index(env, index):
    """Asks the service for what has an index on the wire, as it comes."""
    spec = env.observation.spaces["Ir"]
    raw = type(spec)(
        id="raw",
        index=index,
        space=spec.space,
        translate=lambda event: event,
        to_string=str,
        deterministic=True,
        platform_dependent=False,
        make_default=lambda: None,
    )
    env.observation.spaces["raw"] = raw
    try:
        return env.observation["raw"]
    finally:
        del env.observation.spaces["raw"]


def test_default_is_an_empty_graph(env):
    graph = env.observation.spaces["Programl"].default_value
    assert isinstance(graph, networkx.MultiDiGraph)
    assert not graph
    assert not graph.graph
    document = env.observation.spaces["ProgramlJson"].default_value
    assert document == networkx.node_link_data(graph, edges="links")
    assert env.observation.spaces["Programl"].default_value is not graph
