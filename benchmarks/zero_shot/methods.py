"""The methods that are compared."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import compiler_gym
from benchmarks.zero_shot.policies import Fixed, Greedy, Trained, Uniform
from benchmarks.zero_shot.task import ENV_ID, Setting, plain, single_passes, with_sequences
from benchmarks.zero_shot.training import imitate, search_fixed, train
from compiler_gym.evaluation.policies import Policy as AnyPolicy
from compiler_gym.tuning.policies.pieces_env import pieces
from compiler_gym.tuning.policies.policy import FIRST_SEQUENCE, Policy

Arrays = list[np.ndarray]
"""The weights of a network, or the actions of a fixed list."""

Player = Callable[[Arrays, int], tuple[AnyPolicy, bool]]
"""Makes a policy of arrays and a seed, and says whether it is deterministic."""


Trainer = Callable[[Setting, list[str], int, int], Iterator[tuple[int, list[Any]]]]
"""Trains a network in a setting, until so many passes have run, with a seed."""


@dataclass(frozen=True)
class Method:
    """A method of training, and the ways to play with its result.

    Attributes:
        setting: The setting of its environments.
        players: The policies to judge, by their names.
        learn: Learns from programs until so many passes have run, with a seed. Yields the passes
            run, and arrays. None if there is nothing to learn.
        is_seeded: Whether another seed gives another result.
        is_variant: Whether it is one of the remedies that were compared on the part
            ``validation`` to choose the best way, and is left out by default.
    """

    setting: Setting
    players: dict[str, Player]
    learn: Callable[[list[str], int, int], Iterator[tuple[int, Arrays]]] | None = None
    is_seeded: bool = True
    is_variant: bool = False


COMPARED = "PPO, pieces, drawn"
"""The policy that the others are compared with, program by program."""


def all_methods() -> dict[str, Method]:
    """Returns all methods by name, the simplest first."""
    all_passes, kept = plain(), with_sequences(pieces())
    undone = with_sequences(pieces(), undo=True)
    with compiler_gym.make(ENV_ID) as env:
        names = env.action_space.names
        usual = [env.action_space[name] for name in FIRST_SEQUENCE]
    shipped = [*range(undone.steps)]
    main = {
        "random": _random(all_passes, "random passes", len(names)),
        "random_pieces": _random(undone, "random pieces", len(pieces())),
        "greedy": _unlearnt(all_passes, "greedy search", Greedy),
        "sequence": _unlearnt(all_passes, "`sequence`", _sequence),
        "search": _searched(all_passes, "one list of passes", usual, names),
        "search_pieces": _searched(undone, "one list of pieces", shipped),
        "by_hand": _unlearnt(undone, "one list of pieces, by hand", partial(Fixed, _BY_HAND)),
        "ppo": _trained(all_passes, "PPO, passes"),
        "ppo_pieces": _trained(undone, "PPO, pieces"),
    }
    best = with_sequences(pieces(), best=True)
    variants = {
        "ppo_few": _trained(with_sequences(single_passes()), "47 passes, log reward"),
        "ppo_kept": _trained(kept, "pieces"),
        "ppo_best": _trained(best, "pieces, reward of the smallest size"),
        "imitation": _trained(kept, "pieces, imitation", imitate),
    }
    return main | {name: replace(each, is_variant=True) for name, each in variants.items()}


# The first five pieces of the shipped sequence, and two short sequences that inline functions: the
# best of five lists on the part ``validation``.
_BY_HAND = [0, 1, 2, 3, 4, 12, 13, 10, 11]


def _sequence() -> Policy:
    """Returns the shipped sequence without levels of opt, which the other methods do not try."""
    return replace(Policy.load("sequence"), levels=False)


def _random(setting: Setting, name: str, actions: int) -> Method:
    return Method(setting, {name: lambda _, seed: (Uniform(actions, seed), False)})


def _unlearnt(setting: Setting, name: str, make: Callable[[], AnyPolicy]) -> Method:
    return Method(setting, {name: lambda *_: (make(), True)}, is_seeded=False)


def _searched(
    setting: Setting, name: str, start: Sequence[int], passes: Sequence[str] = ()
) -> Method:
    """Returns a search of a list of actions; of the names of passes if there are any."""

    def learn(benchmarks: list[str], limit: int, seed: int) -> Iterator[tuple[int, Arrays]]:
        for run, actions in search_fixed(setting, start, benchmarks, limit, seed):
            yield run, [np.array(actions)]

    def player(arrays: Arrays, seed: int) -> tuple[AnyPolicy, bool]:
        actions = arrays[0].tolist()
        if passes:
            return Policy((tuple(passes[each] for each in actions),), {}), True
        return Fixed(actions), True

    return Method(setting, {name: player}, learn)


def _trained(setting: Setting, name: str, trainer: Trainer = train) -> Method:
    def learn(benchmarks: list[str], passes: int, seed: int) -> Iterator[tuple[int, Arrays]]:
        for run, layers in trainer(setting, benchmarks, passes, seed):
            yield run, [np.asarray(part) for layer in layers for part in layer]

    def player(deterministic: bool, arrays: Arrays, seed: int) -> tuple[AnyPolicy, bool]:
        layers = zip(arrays[::2], arrays[1::2], strict=True)
        return Trained(layers, seed), deterministic

    players: dict[str, Player] = {
        f"{name}, drawn": partial(player, False),
        f"{name}, likeliest": partial(player, True),
    }
    return Method(setting, players, learn)
