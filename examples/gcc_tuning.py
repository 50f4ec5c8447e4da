"""Sizes of programs by GCC options, and a search for the options that make them small."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import typer
from gcc_searches import AT_A_TIME, Choices, search

from compiler_gym.envs.gcc import GccEnv
from compiler_gym.errors import ServiceError


def size(env: GccEnv, choices: Choices) -> float:
    """The bytes of the object file with some choices; infinite if GCC does not make one."""
    try:
        env.choices = choices
        return env.obj_size
    except (ServiceError, TimeoutError):  # Options that exclude each other, or take too long.
        env.reset()
        return math.inf


def mean_shares(envs: Sequence[GccEnv], tries: Sequence[Choices]) -> list[float]:
    """The size with each of some choices as a share of that with -Os, in the mean of programs."""

    def shares(env: GccEnv) -> list[float]:
        before = env.observation["obj_size_Os"]
        return [size(env, choices) / before for choices in tries]

    # Programs side by side: an environment is for one thread at a time.
    with ThreadPoolExecutor() as pool:
        return np.mean([*pool.map(shares, envs)], axis=0).tolist()


def tune(
    envs: Sequence[GccEnv], method: str, start: Choices, budget: int, seed: int, what: str
) -> Choices:
    """Returns the choices with which programs are smallest in their mean. Shows how far it is."""
    spec, rng, best = envs[0].gcc_spec, np.random.default_rng(seed), start
    found = search(method, spec, start, lambda tries: mean_shares(envs, tries), budget, rng)
    for number, (share, choices) in enumerate(found, start=1):
        typer.echo(f"\r{what}: {number * AT_A_TIME} of {budget}, {share:.1%} ", nl=False, err=True)
        best = choices
    typer.echo(err=True)
    return best


def row(name: str, size: int | str, shares: Sequence[float]) -> str:
    """A line of a table: a program, its size with -Os, and three shares of that."""
    bare, learnt, tuned = shares
    return f"{name:15}  {size:9}  {bare:9.1%}  {learnt:6.1%}  {tuned:6.1%} "
