"""Searches for options of GCC: random, hill climbing, genetic."""

import re
from collections.abc import Iterator

import numpy as np

from compiler_gym.envs.gcc import GccSpec, Option

Choices, AT_A_TIME = list[int], 4
# Not used: what changes what a program computes or how it is called, or needs other libraries.
_OTHER_MEANING = re.compile(
    r"-Ofast|-f(no-)?(.*math.*|cx-.*|excess-.*|fp-.*|signed-zeros|signaling-nans|float-store"
    r"|single-precision-.*|pack-struct|short-.*|.*struct-return|strict-volatile-.*|trapv|wrapv.*"
    r"|delete-null-.*|tree-parallelize-.*|allow-store-.*|finite-loops|.*exceptions.*)(=.*)?"
)


def random_value(option: Option, rng: np.random.Generator) -> int:
    """A value of an option, or -1. Small numbers are as likely as large ones are together."""
    n = len(option)
    return int(rng.integers(n + 1) if n < 10 else n ** rng.uniform(-0.1, 1)) - 1


def mutated(spec: GccSpec, parents: list[Choices], rng: np.random.Generator) -> Choices:
    """Chooses the values of 1 to 64 options of the first anew: flags rather than parameters."""
    changed = parents[0].copy()
    weights = np.array([1 if option.name.startswith("--") else 4 for option in spec.options])
    for number in rng.choice(len(changed), int(64 ** rng.random()), p=weights / weights.sum()):
        option = spec.options[number]
        value = random_value(option, rng)
        if value < 0 or not _OTHER_MEANING.fullmatch(option[value]):
            changed[number] = value
    return changed


def child(spec: GccSpec, parents: list[Choices], rng: np.random.Generator) -> Choices:
    """Takes each option from one of two parents, and changes some."""
    first, second = (parents[i] for i in rng.integers(len(parents), size=2))
    mixed = np.where(rng.random(len(first)) < 0.5, first, second).tolist()
    return mutated(spec, [mixed], rng)


# What makes something to try of the best so far, and how many of these are kept.
SEARCHES = {"random": (mutated, 1), "hill-climb": (mutated, 1), "genetic": (child, 16)}


def search(name, spec, start, costs, budget, rng) -> Iterator[tuple[float, Choices]]:
    """Yields the least cost so far and its choices, after each four tries."""
    propose, kept = SEARCHES[name]
    pool = [(costs([start])[0], start)]
    for _ in range(budget // AT_A_TIME):
        parents = [start] if name == "random" else [choices for _, choices in pool]
        tries = [propose(spec, parents, rng) for _ in range(AT_A_TIME)]
        pool += zip(costs(tries), tries, strict=True)
        pool = sorted(pool, key=lambda pair: pair[0])[:kept]
        yield pool[0]
