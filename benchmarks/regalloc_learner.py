"""Learns which answers to the register allocator are worth a try, and tries those."""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
import typer
from scipy.stats import spearmanr
from sklearn.ensemble import ExtraTreesRegressor

import compiler_gym

TRIES = (5, 10, 20, 40)
SAMPLES = 60
ORDERS = 3
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


def kernels(env, *parts: str) -> list[str]:
    """Returns the programs of parts of ``kernels-v0``, alphabetically."""
    dataset = env.datasets["benchmark://kernels-v0"]
    return sorted(uri for part in parts for uri in dataset.benchmark_uris(part))


def places(env) -> np.ndarray:
    """Returns for each question what matters where it is asked, as float[n, 6] for n questions.

    LLVM's features compare the candidates of one question. They do not say whether its function is
    worth an answer. These do, for LLVM's own answers: the shares of the function in the spills, in
    their cost and in the questions of the program, the logarithms of the first two, and the
    position of the question among those of the function.
    """
    functions = np.array(env.observation["Evictions"]["function"])
    table = env.observation["Spills"]
    spills = dict(zip(table["function"], table["spills"] + table["reloads"], strict=True))
    cost = dict(zip(table["function"], table["cost"], strict=True))
    rows = []
    for number, function in enumerate(functions):
        own = np.flatnonzero(functions == function)
        counts = [spills.get(function, 0), cost.get(function, 0)]
        shares = [counts[0] / max(1, sum(spills.values())), counts[1] / max(1, sum(cost.values()))]
        position = (number - own[0]) / len(own)
        rows.append([*shares, len(own) / len(functions), *np.log1p(counts), position])
    return np.array(rows)


def questions(env, program: str) -> list[tuple[int, int, np.ndarray]]:
    """Returns all answers besides LLVM's: the number of the question, the answer, its features."""
    env.reset(benchmark=program)
    found = []
    where = places(env)
    for number, place in enumerate(where):
        found += [(number, answer, np.concatenate([row, place])) for answer, row in answers(env)]
        env.step("default")
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


def try_best(env, program: str, pairs: list, rank: Rank, tries: int) -> None:
    """Tries the answers that rank highest among all, and keeps those that help."""
    best = np.argsort(-rank(np.array([row for *_, row in pairs])), kind="stable")[:tries]
    play(env, program, by_question(pairs[i] for i in best), keep=True)


def judge(env, order: str, rank: Rank, programs: list[str]) -> None:
    """Prints what the answers that rank highest save in the mean."""
    saved = np.zeros((len(programs), len(TRIES)))
    for totals, program in zip(saved, programs, strict=True):
        pairs = questions(env, program)
        for column, tries in enumerate(TRIES):
            try_best(env, program, pairs, rank, tries)
            totals[column] = env.episode_reward
    shares = zip(saved.mean(axis=0), TRIES, strict=True)
    print(f"{order}:", ", ".join(f"{share:.2%} in {tries} tries" for share, tries in shares))


def samples(env, program: str, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Tries answers at random. Returns the features and the reward of each."""
    pairs = questions(env, program)
    chosen = [pairs[i] for i in random.permutation(len(pairs))[:SAMPLES]]
    rewards = play(env, program, by_question(chosen), keep=False)
    return np.array([row for *_, row in chosen]), np.array([rewards[each[:2]] for each in chosen])


def learn(rows: Sequence[np.ndarray], gains: Sequence[np.ndarray]) -> Rank:
    """Returns what foretells the reward of answers by their features. Losses count as 0."""
    model = ExtraTreesRegressor(300, min_samples_leaf=5, random_state=0)
    return model.fit(np.concatenate(rows), np.maximum(0.0, np.concatenate(gains))).predict


def learn_from(env, programs: Sequence[str], random: np.random.Generator) -> Rank:
    """Tries answers about programs, and learns from them."""
    tried = [samples(env, program, random) for program in programs]
    return learn(*zip(*((rows, gains) for rows, gains in tried if len(rows)), strict=True))


def in_any_order(seed: int) -> Rank:
    """Returns a random rank of answers."""
    random = np.random.default_rng(seed)
    return lambda rows: random.random(len(rows))


def explain(env, rank: Rank, programs: list[str], random: np.random.Generator) -> None:
    """Prints how well the model foretells the rewards of answers about other programs."""
    correlations, helpful, idle = [], [], []
    for program in programs:
        rows, rewards = samples(env, program, random)
        helpful.append((rewards > 0).mean())
        idle.append((rewards == 0).mean())
        if rewards.std():
            correlations.append(spearmanr(rank(rows), rewards).statistic)
    print(
        f"Answers that help: {np.mean(helpful):.0%}, that change nothing: {np.mean(idle):.0%}. "
        f"Rank correlation of expected and true rewards: {np.mean(correlations):.2f}"
    )


def main(
    programs: Annotated[int, typer.Option(help="How many to learn from.", min=1, max=21)] = 21,
    judges: Annotated[int, typer.Option(help="How many others to judge by.", min=1, max=7)] = 7,
    reward: Annotated[str, typer.Option(help="The reward space.")] = "ObjectTextSizeNorm",
) -> None:
    """Show how much better than by clang -Oz programs become that were not learnt from."""
    random = np.random.default_rng(0)
    with compiler_gym.make("llvm-regalloc-v0", reward_space=reward) as env:
        held_back = kernels(env, "test")[:judges]
        for seed in range(ORDERS):
            judge(env, "In any order", in_any_order(seed), held_back)
        for count in sorted({max(1, programs // 3), programs}):
            rank = learn_from(env, kernels(env, "train", "validation")[:count], random)
            judge(env, f"Learnt from {count}", rank, held_back)
            explain(env, rank, held_back, np.random.default_rng(1))


if __name__ == "__main__":
    typer.run(main)
