"""Learns which answers to the register allocator are worth a try, and tries those."""

from collections.abc import Callable
from typing import Annotated

import numpy as np
import typer
from held_back import HELD_BACK, TRAINING
from sklearn.ensemble import ExtraTreesRegressor

import compiler_gym

TRIES = (5, 10, 20, 40)
SAMPLES = 60
NOTHING = 32
Rank = Callable[[np.ndarray], np.ndarray]


def answers(env) -> list[tuple[int, np.ndarray]]:
    """Returns the answers to the open question besides LLVM's, each with its features."""
    features = env.observation["EvictionFeatures"]
    columns = features[:-1].reshape(-1, NOTHING + 1).T
    default = columns[env.observation["EvictionQuestion"]["default"]]
    return [
        (int(answer), np.concatenate([columns[answer], default, features[-1:], [answer]]))
        for answer in np.flatnonzero(env.observation["EvictionMask"])
        if answer != env.observation["EvictionQuestion"]["default"]
    ]


def questions(env, program: str) -> list[tuple[int, int, np.ndarray]]:
    """Returns all answers besides LLVM's: the number of the question, the answer, its features."""
    env.reset(benchmark=program)
    found = []
    done = env.observation["EvictionQuestion"]["number"] < 0
    while not done:
        number = len(env.actions)
        found += [(number, answer, row) for answer, row in answers(env)]
        _, _, done, _ = env.step("default")
    return found


def play(env, program: str, wanted: dict[int, list[int]], keep: bool) -> dict[tuple, float]:
    """Tries answers in LLVM's order, and keeps those that help. Returns the reward of each."""
    env.reset(benchmark=program)
    rewards = {}
    done = env.observation["EvictionQuestion"]["number"] < 0
    while not done:
        number, best, chosen = len(env.actions), 0.0, "default"
        for answer in wanted.get(number, ()):
            if env.action_masks()[answer]:
                with env.fork() as fork:
                    rewards[number, answer] = reward = fork.step(answer)[1]
                if keep and reward > best:
                    best, chosen = reward, answer
        _, _, done, _ = env.step(chosen)
    return rewards


def by_question(pairs) -> dict[int, list[int]]:
    """Returns the answers of each question."""
    found: dict[int, list[int]] = {}
    for number, answer, _ in pairs:
        found.setdefault(number, []).append(answer)
    return found


def judge(env, order: str, rank: Rank, programs: list[str]) -> None:
    """Tries the answers that rank highest, and prints what those that help save in the mean."""
    saved = np.zeros((len(programs), len(TRIES)))
    for totals, program in zip(saved, programs, strict=True):
        pairs = questions(env, program)
        best = np.argsort(-rank(np.array([row for *_, row in pairs])), kind="stable")
        for column, tries in enumerate(TRIES):
            play(env, program, by_question(pairs[i] for i in best[:tries]), keep=True)
            totals[column] = env.episode_reward
    shares = zip(saved.mean(axis=0), TRIES, strict=True)
    print(f"{order}:", ", ".join(f"{share:.2%} in {tries} tries" for share, tries in shares))


def main(
    programs: Annotated[int, typer.Option(help="How many to learn from.", min=1, max=21)] = 21,
    judges: Annotated[int, typer.Option(help="How many others to judge by.", min=1, max=7)] = 7,
) -> None:
    """Show how much smaller than with clang -Oz programs become that were not learnt from."""
    random = np.random.default_rng(0)
    rows, gains = [], []
    with compiler_gym.make("llvm-regalloc-v0", reward_space="ObjectTextSizeNorm") as env:
        judge(env, "In any order", lambda rows: random.random(len(rows)), HELD_BACK[:judges])
        for number, program in enumerate(TRAINING[:programs], start=1):
            pairs = questions(env, program)
            chosen = random.permutation(len(pairs))[:SAMPLES]
            rewards = play(env, program, by_question(pairs[i] for i in chosen), keep=False)
            rows += [pairs[i][2] for i in chosen]
            gains += [max(0.0, rewards[pairs[i][:2]]) for i in chosen]
            if number in (programs // 3, programs):
                model = ExtraTreesRegressor(300, min_samples_leaf=5, random_state=0)
                learnt = model.fit(rows, gains).predict
                judge(env, f"Learnt from {number}", learnt, HELD_BACK[:judges])


if __name__ == "__main__":
    typer.run(main)
