"""A graph neural network on program graphs, written out on JAX.

It sees a program after some random passes, and estimates how far it is from the size after -Oz.
Linear regression on Autophase features does the same, for comparison.
"""

from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import optax
import typer
from held_back import TRAINING

import compiler_gym
from compiler_gym.datasets.parts import VALIDATION_KERNELS
from compiler_gym.envs.llvm.graph_tensors import NODE_WORDS, graph_tensors
from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES

WIDTH, LAYERS, BATCH, RATE, PASSES = 32, 3, 4, 3e-3, 20
# Control flow, data flow and calls, in both directions.
RELATIONS = 2 * 3
JUDGING = [f"benchmark://kernels-v0/{name}" for name in VALIDATION_KERNELS]
TOTAL = AUTOPHASE_FEATURE_NAMES.index("TotalInsts")
OBSERVED = ("ProgramlArrays", "Autophase", "IrInstructionCount", "IrInstructionCountOz")

Graph = dict[str, np.ndarray]
Sample = tuple[Graph, np.ndarray, float]


def samples(programs: Sequence[str], count: int, seed: int) -> Iterator[Sample]:
    """Yields states of programs: the graph, float[features], and log(instructions / those of -Oz).

    Args:
        programs: The programs.
        count: The number of states of each.
        seed: Seeds the passes before a state.
    """
    rng = np.random.default_rng(seed)
    with compiler_gym.make("llvm-v0") as env:
        for program in programs:
            for _ in range(count):
                env.reset(benchmark=program)
                passes = rng.integers(env.action_space.n, size=rng.integers(PASSES + 1))
                if not env.multistep(passes.tolist())[2]:
                    graph, features, size, least = env.observation.observe(OBSERVED)
                    features = features / max(features[TOTAL], 1)
                    yield graph_tensors(graph), features, float(np.log(size / least))


def joined(graphs: Sequence[Graph]) -> tuple[np.ndarray, ...]:
    """Joins graphs to one that is not connected, whose sizes are powers of two.

    JAX compiles the network once for each size.

    Returns:
        The word and the graph of each node; the source, the target and the relation of each edge.
        Nodes that fill up belong to the graph after the last.
    """
    starts = np.cumsum([0, *(len(each["x"]) for each in graphs)])
    words = np.concatenate([each["x"] for each in graphs])
    numbers = np.repeat(np.arange(len(graphs)), np.diff(starts))
    pairs = zip(graphs, starts[:-1], strict=True)
    edges = np.concatenate([each["edge_index"] + start for each, start in pairs], axis=1)
    kinds = np.concatenate([each["edge_type"] for each in graphs])
    both = np.concatenate([edges, edges[::-1]], axis=1)
    kinds = np.concatenate([kinds, kinds + RELATIONS // 2])
    return (
        *(_filled(each, end) for each, end in ((words, 0), (numbers, len(graphs)))),
        *(_filled(each, end) for each, end in ((both[0], starts[-1]), (both[1], starts[-1]))),
        _filled(kinds, 0),
    )


def _filled(values: np.ndarray, value: int) -> np.ndarray:
    size = 1 << len(values).bit_length()
    return np.pad(values, (0, size - len(values)), constant_values=value)


def initial_weights(seed: int) -> dict:
    """Returns random weights of the network."""
    rng = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return rng.normal(scale=rows**-0.5, size=(rows, columns)).astype(np.float32)

    return {
        "words": matrix(len(NODE_WORDS), WIDTH) * len(NODE_WORDS) ** 0.5,
        "layers": [(matrix(WIDTH, WIDTH), matrix(RELATIONS * WIDTH, WIDTH)) for _ in range(LAYERS)],
        "head": [matrix(WIDTH, WIDTH), matrix(WIDTH, 1)],
    }


def network(weights: dict, count: int, words, graphs, sources, targets, kinds) -> jnp.ndarray:
    """Returns float[count], a number for each graph.

    In each layer a node gets, for each relation, the mean of the states at the other ends of its
    edges.
    """
    places = targets * RELATIONS + kinds
    places_count = len(words) * RELATIONS
    degrees = jax.ops.segment_sum(jnp.ones(len(places)), places, places_count)
    state = weights["words"][words]
    for own, messages in weights["layers"]:
        received = jax.ops.segment_sum(state[sources], places, places_count)
        means = (received / jnp.maximum(degrees, 1)[:, None]).reshape(len(words), -1)
        state = state + jax.nn.relu(state @ own + means @ messages)
    sums = jax.ops.segment_sum(state, graphs, count)
    means = sums / jax.ops.segment_sum(jnp.ones(len(words)), graphs, count)[:, None]
    hidden, output = weights["head"]
    return (jax.nn.relu(means @ hidden) @ output)[:, 0]


def fit(data: Sequence[Sample], epochs: int, seed: int) -> dict:
    """Returns the weights of a network that is trained on samples."""
    weights = initial_weights(seed)
    rng, optimiser = np.random.default_rng(seed), optax.adam(RATE)
    state = optimiser.init(weights)

    @jax.jit
    def update(weights, state, wanted, *arrays):
        def loss(weights):
            return ((network(weights, BATCH, *arrays) - wanted) ** 2).mean()

        changes, state = optimiser.update(jax.grad(loss)(weights), state)
        return optax.apply_updates(weights, changes), state

    for _ in range(epochs):
        order = rng.permutation(len(data))
        for rows in order[: len(order) // BATCH * BATCH].reshape(-1, BATCH):
            graphs, _, wanted = zip(*(data[row] for row in rows), strict=True)
            weights, state = update(weights, state, np.array(wanted), *joined(graphs))
    return weights


def estimates(weights: dict, data: Sequence[Sample]) -> np.ndarray:
    """Returns float[samples]."""
    estimate = jax.jit(network, static_argnums=1)
    return np.array([estimate(weights, 1, *joined([graph]))[0] for graph, *_ in data])


def linear(data: Sequence[Sample], others: Sequence[Sample]) -> np.ndarray:
    """Returns the estimates of ridge regression, trained on samples, for others."""
    inputs, values = np.array([each[1] for each in data]), np.array([each[2] for each in data])
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    rows, unseen = ((each - mean) / scale for each in (inputs, np.array([x[1] for x in others])))
    weights = np.linalg.solve(
        rows.T @ rows + len(rows) * 0.1 * np.eye(rows.shape[1]), rows.T @ (values - values.mean())
    )
    return unseen @ weights + values.mean()


def main(states: int = 10, epochs: int = 20, programs: int = 14, seed: int = 0) -> None:
    """Learn from states of some programs, and show the errors for states of others."""
    chosen = [program for program in TRAINING if program not in JUDGING][:programs]
    data = [*samples(chosen, states, seed)]
    others = [*samples(JUDGING, states, seed + 1)]
    wanted = np.array([each[2] for each in others])
    mean = np.mean([each[2] for each in data])
    print(f"{len(data)} states of {len(chosen)} programs; {len(others)} of {len(JUDGING)} others")
    for name, values in (
        ("mean", np.full(len(others), mean)),
        ("linear regression, Autophase", linear(data, others)),
        ("graph neural network", estimates(fit(data, epochs, seed), others)),
    ):
        print(f"{name}: mean error {np.abs(values - wanted).mean():.3f}")


if __name__ == "__main__":
    typer.run(main)
