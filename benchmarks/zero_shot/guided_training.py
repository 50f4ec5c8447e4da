"""Records trials of pieces, and fits networks that forecast their effects."""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.zero_shot.guided import (
    BORDERS,
    NAMES,
    PERCENT,
    PIECES,
    PieceEpisode,
    Trial,
    normalised,
)
from compiler_gym.envs.llvm.llvm_env import LlvmEnv

_WIDTHS = 192, 128
EPOCHS = 8
"""The number of times that each example is used."""

_BATCH, _RATE, _DECAY, _DROPPED, _COST_WEIGHT = 512, 1.5e-3, 1e-3, 0.1, 0.3


def record(env: LlvmEnv, uri: str, folder: Path) -> None:
    """Tries pieces on a program in their order, unless there is a file of it.

    Args:
        env: The environment.
        uri: The program.
        folder: The folder of files.

    Raises:
        ServiceError: The program cannot be compiled.
    """
    path = folder / f"{hashlib.sha256(uri.encode()).hexdigest()[:16]}.npz"
    if not path.exists():
        env.reset(benchmark=uri)
        with closing(PieceEpisode(env)) as episode:
            _save([episode.play(piece) for piece in range(len(PIECES))], path)


def _save(trials: Sequence[Trial], path: Path) -> None:
    """Writes trials of a program to a file."""
    starts = np.cumsum([0, *(len(trial.inputs) for trial in trials)])
    np.savez_compressed(
        path,
        inputs=np.array([row for trial in trials for row in trial.inputs]),
        effects=np.array(
            [
                (start + index, number, has_effect)
                for start, trial in zip(starts, trials, strict=False)
                for index, number, has_effect in trial.effects
            ],
            np.int32,
        ).reshape(-1, 3),
        pieces=np.array(
            [
                (start, trial.piece, trial.growth, sum(each[2] for each in trial.effects))
                for start, trial in zip(starts, trials, strict=False)
            ]
        ),
    )


class Examples(NamedTuple):
    """The examples that networks learn from. Unknown values are NaN.

    Attributes:
        inputs: float32 [states, inputs].
        effects: float32 [states, passes], 1 if a pass had an effect, 0 if it had none.
        gains: float32 [states, pieces], reductions of the logarithm of instructions.
        costs: float32 [states, pieces], the numbers of passes with an effect.
    """

    inputs: np.ndarray
    effects: np.ndarray
    gains: np.ndarray
    costs: np.ndarray


def examples(folder: Path) -> Examples:
    """Reads all trials of a folder."""
    return Examples(
        *(
            np.concatenate(each)
            for each in zip(*map(_read, sorted(folder.glob("*.npz"))), strict=True)
        )
    )


def _read(path: Path) -> Examples:
    with np.load(path) as saved:
        inputs, effects, trials = saved["inputs"], saved["effects"], saved["pieces"]
    known = np.full((len(inputs), len(NAMES)), np.nan, np.float32)
    known[effects[:, 0], effects[:, 1]] = effects[:, 2]
    gains = np.full((len(inputs), len(PIECES)), np.nan, np.float32)
    costs = gains.copy()
    places = tuple(trials[:, :2].T.astype(int))
    gains[places] = np.clip(-trials[:, 2], 0, 1)
    costs[places] = trials[:, 3]
    return Examples(inputs, known, gains, costs)


def fit(known: Examples, seed: int, epochs: int = EPOCHS) -> list[np.ndarray]:
    """Fits a network, and returns the arrays of :class:`benchmarks.zero_shot.guided.Network`.

    Effects are learnt by the logarithmic loss. Gains and costs are means of values that are mostly
    zero, and are learnt by the loss of Poisson's distribution.

    Args:
        known: The examples.
        seed: Seeds the first weights, the order of the examples, and the units that are dropped.
        epochs: The number of times that each example is used.
    """
    import jax
    import optax

    rng = np.random.default_rng(seed)
    mean, scale = known.inputs.mean(axis=0), known.inputs.std(axis=0) + 1e-3
    inputs = normalised(known.inputs, mean, scale)
    layers = _first_layers(known, rng)
    batch = min(_BATCH, len(inputs))
    schedule = optax.cosine_decay_schedule(_RATE, epochs * (len(inputs) // batch))
    optimiser = optax.adamw(schedule, weight_decay=_DECAY)
    state = optimiser.init(layers)

    @jax.jit
    def updated(layers: Any, state: Any, some: Examples, key: Any) -> Any:
        gradient = jax.grad(_loss)(layers, some, key)
        changes, state = optimiser.update(gradient, state, layers)
        return optax.apply_updates(layers, changes), state

    keys = iter(jax.random.split(jax.random.PRNGKey(seed), epochs * (len(inputs) // batch)))
    for _ in range(epochs):
        order = rng.permutation(len(inputs))
        for begin in range(0, len(order) - batch + 1, batch):
            rows = order[begin : begin + batch]
            some = Examples(inputs[rows], *(each[rows] for each in known[1:]))
            layers, state = updated(layers, state, some, next(keys))
    return [mean, scale, *(np.asarray(part) for layer in layers for part in layer)]


def _first_layers(known: Examples, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns random weights, with which the outputs are about the means of the examples."""
    sizes = [known.inputs.shape[1], *_WIDTHS, len(NAMES) + 2 * len(PIECES)]
    layers = [
        (rng.normal(scale=(2 / size) ** 0.5, size=(size, following)), np.zeros(following))
        for size, following in pairwise(sizes)
    ]
    rates, gains, costs = (_means(each) for each in known[1:])
    biases = [np.log((rates + 0.01) / (1.01 - rates)), np.log(gains * PERCENT + 1e-3)]
    weights, _ = layers[-1]
    layers[-1] = weights / 10, np.concatenate([*biases, np.log(costs + 0.05)])
    return layers


def _means(values: np.ndarray) -> np.ndarray:
    """Returns the means of the known values of each column; zero if there are none."""
    counts = np.isfinite(values).sum(axis=0)
    return np.nansum(values, axis=0) / np.maximum(counts, 1)


def _loss(layers: Any, some: Examples, key: Any) -> Any:
    """Returns the sum of the losses of effects, gains and costs, with dropped units."""
    import jax
    import jax.numpy as jnp
    import optax

    values = some.inputs
    for number, (weights, biases) in enumerate(layers[:-1]):
        is_left = jax.random.bernoulli(
            jax.random.fold_in(key, number), 1 - _DROPPED, (len(biases),)
        )
        values = jax.nn.relu(values @ weights + biases) * is_left / (1 - _DROPPED)
    weights, biases = layers[-1]
    effects, gains, costs = jnp.split(values @ weights + biases, BORDERS, axis=1)

    def mean(losses: Any, known: np.ndarray) -> Any:
        is_known = ~jnp.isnan(known)
        return jnp.where(is_known, losses, 0).sum() / jnp.maximum(is_known.sum(), 1)

    def poisson(logarithms: Any, known: np.ndarray) -> Any:
        logarithms = jnp.clip(logarithms, -12, 6)
        return mean(jnp.exp(logarithms) - jnp.nan_to_num(known) * logarithms, known)

    binary = optax.sigmoid_binary_cross_entropy(effects, jnp.nan_to_num(some.effects))
    return (
        mean(binary, some.effects)
        + poisson(gains, some.gains * PERCENT)
        + _COST_WEIGHT * poisson(costs, some.costs)
    )
