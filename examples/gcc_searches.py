"""Searches for options of GCC: random, hill climbing, genetic. They try sixteen at a time."""

import re
from collections.abc import Iterator

import numpy as np

from compiler_gym.envs.gcc import GccSpec, Option

Choices = list[int]
AT_A_TIME = 16
# Not used: what changes what a program computes or how it is called, or needs other libraries.
_OTHER_MEANING = re.compile(
    r"-Ofast|-f(no-)?(.*math.*|cx-.*|excess-.*|fp-.*|signed-zeros|signaling-nans|float-store"
    r"|single-precision-.*|pack-struct|short-.*|.*struct-return|strict-volatile-.*|trapv|wrapv.*"
    r"|delete-null-.*|tree-parallelize-.*|allow-store-.*|finite-loops|.*exceptions.*)(=.*)?"
)


def random_value(option: Option, rng: np.random.Generator) -> int:
    """A value of an option, or -1. Small numbers are as likely as large ones are together."""
    few = len(option) < 10
    return int(rng.integers(-1, len(option)) if few else len(option) ** rng.uniform(-0.1, 1) - 1)


def mutated(spec: GccSpec, choices: Choices, count: int, rng: np.random.Generator) -> Choices:
    """Chooses the values of some options anew."""
    changed = choices.copy()
    for number in rng.integers(len(spec.options), size=count):
        option = spec.options[number]
        value = random_value(option, rng)
        if value < 0 or not _OTHER_MEANING.fullmatch(option[value]):
            changed[number] = value
    return changed


def child(spec: GccSpec, pool: list[Choices], rng: np.random.Generator) -> Choices:
    """Takes each option from one of two parents, and changes a few."""
    first, second = (pool[number] for number in rng.integers(len(pool), size=2))
    mixed = np.where(rng.random(len(first)) < 0.5, first, second).tolist()
    return mutated(spec, mixed, int(rng.integers(1, 9)), rng)


# What is tried next, given the best so far, and how many of these are remembered.
SEARCHES = {
    "random": (lambda spec, pool, rng: mutated(spec, pool[0], 30, rng), 1),
    "hill-climb": (lambda spec, pool, rng: mutated(spec, pool[0], int(rng.integers(1, 5)), rng), 1),
    "genetic": (child, AT_A_TIME),
}


def search(name, spec, start, costs, budget, rng) -> Iterator[tuple[float, Choices]]:
    """Yields the least cost so far and its choices, after each sixteen tries."""
    propose, kept = SEARCHES[name]
    pool = [(costs([start])[0], start)]
    for _ in range(budget // AT_A_TIME):
        best = [start] if name == "random" else [choices for _, choices in pool]
        tries = [propose(spec, best, rng) for _ in range(AT_A_TIME)]
        pool += zip(costs(tries), tries, strict=True)
        pool = sorted(pool, key=lambda each: each[0])[:kept]
        yield pool[0]
