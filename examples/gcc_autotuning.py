"""Finds options of GCC that make object files smaller than -Os does."""

from contextlib import ExitStack
from enum import Enum
from typing import Annotated

import numpy as np
import typer
from gcc_searches import SEARCHES
from gcc_tuning import mean_shares, row, size, tune
from held_back import HELD_BACK, TRAINING

from compiler_gym.envs.gcc import GccEnv

Method = Enum("Method", {name: name for name in SEARCHES}, type=str)


def main(
    method: Annotated[Method, typer.Option(help="How to search.")] = "hill-climb",
    gcc: Annotated[str, typer.Option(help="A name, a path, or docker:IMAGE.")] = "gcc",
    budget: Annotated[int, typer.Option(help="How many choices to try at first.", min=4)] = 400,
    more: Annotated[int, typer.Option(help="And then for each held-back one.", min=4)] = 100,
    training: Annotated[int, typer.Option(help="Programs to learn from.", min=1, max=21)] = 21,
    judged: Annotated[int, typer.Option(help="Held-back programs.", min=1, max=7)] = 7,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
) -> None:
    """Tune for some programs together; try the result on others, and go on with each of these."""
    with ExitStack() as stack:
        env = stack.enter_context(GccEnv(gcc_bin=gcc, timeout=10))
        uris = TRAINING[:training] + HELD_BACK[:judged]
        envs = [env, *(stack.enter_context(env.sibling()) for _ in uris[1:])]
        for env, uri in zip(envs, uris, strict=True):
            env.reset(benchmark=uri)
        start, what = env.gcc_spec.choices_of("-Os"), f"{training} programs"
        learnt = tune(envs[:training], method.value, start, budget, seed, what)
        print(f"{env.compiler_version}, learnt from {training} programs:")
        print(" ".join(env.gcc_spec.words_of(learnt)))
        # Most of what is saved may be what debuggers and exceptions of C++ need to find callers.
        bare = env.gcc_spec.choices_of("-Os -fno-asynchronous-unwind-tables")
        print(f"\n{'program':15}  -Os bytes  no tables  learnt   tuned  outputs")
        totals = []
        for env in envs[training:]:
            name, before = env.benchmark.uri.path[1:], env.observation["obj_size_Os"]
            tuned = tune([env], method.value, learnt, more, seed, name)
            shares, outputs = mean_shares([env], [bare, learnt, tuned]), []
            for choices in (learnt, tuned):
                if size(env, choices) < float("inf"):
                    outputs += [str(error) for error in env.benchmark.validate(env)]
            totals.append(shares)
            print(row(name, before, shares), ", ".join(outputs) or "right")
        print(row("mean", "", np.mean(totals, axis=0)))


if __name__ == "__main__":
    typer.run(main)
