"""Learns which decisions about inlining are worth a try, and tries those first."""

from typing import Annotated

import numpy as np
import typer
from held_back import HELD_BACK, TRAINING
from inline_decisions import candidates, gain
from sklearn.ensemble import ExtraTreesRegressor

import compiler_gym

TRIES = (5, 10, 20)


def judge(env, order: str, rank, programs: list[str]) -> None:
    """Tries what ranks highest and keeps what helps; prints what is saved after some tries."""
    saved = np.zeros((len(programs), max(TRIES) + 1))
    for totals, program in zip(saved, programs, strict=True):
        actions, features = candidates(env, program)
        for tried, index in enumerate(np.argsort(-rank(features), kind="stable")[: max(TRIES)]):
            if gain(env, actions[index]) > 0:
                totals[tried + 1 :] += env.step(actions[index])[1]
    means = saved.mean(axis=0)
    print(f"{order}:", ", ".join(f"{means[tries]:.2%} in {tries} tries" for tries in TRIES))


def main(
    programs: Annotated[int, typer.Option(help="How many to learn from.", min=1, max=21)] = 21,
    judges: Annotated[int, typer.Option(help="How many others to judge by.", min=1, max=7)] = 7,
) -> None:
    """Show how much smaller than with clang -Oz programs become that were not learnt from."""
    rows, gains = [], []
    with compiler_gym.make("llvm-inline-v0", action_space="AnyOrder") as env:
        judge(env, "Small functions first", lambda rows: -rows[:, 0], HELD_BACK[:judges])
        for number, program in enumerate(TRAINING[:programs], start=1):
            actions, features = candidates(env, program)
            rows += [*features]
            gains += [max(0, gain(env, action)) for action in actions]
            if number in (programs // 3, programs):
                model = ExtraTreesRegressor(300, min_samples_leaf=5, random_state=0)
                learnt = model.fit(rows, gains).predict
                judge(env, f"Learnt from {number}", learnt, HELD_BACK[:judges])


if __name__ == "__main__":
    typer.run(main)
