"""Learns to inline: predicts what deciding otherwise than LLVM saves, from features of the call."""

from typing import Annotated

import numpy as np
import typer

import compiler_gym

TRAINING = ["fft", "regex", "huffman", "lzss", "bigint", "containers", "life", "matrix"]
TEST = ["sha256", "sudoku", "json", "string_search"]


def play(env, program: str, decide) -> list[tuple[np.ndarray, bool, float]]:
    """Plays an episode; `decide(features, default)` says whether to do otherwise than LLVM."""
    features, samples, done = env.reset(benchmark=f"benchmark://kernels-v0/{program}"), [], False
    while not done and (question := env.observation["InlineQuestion"])["number"] >= 0:
        inputs = np.append(np.sign(features) * np.log1p(abs(features)), 1.0)
        otherwise = decide(inputs, question["default"])
        answer = "default" if not otherwise else "keep" if question["default"] else "inline"
        features, reward, done, _ = env.step(env.action_space[answer])
        if otherwise:
            samples.append((inputs, question["default"], reward))
    return samples


def fit(samples, penalty: float) -> np.ndarray:
    """Ridge regression of the rewards: a row of weights for calls that LLVM keeps, and inlines."""
    width = len(samples[0][0])
    weights = np.zeros((2, width))
    for default in (False, True):
        chosen = [(inputs, reward) for inputs, was, reward in samples if was == default]
        if chosen:
            inputs, rewards = (np.array(each) for each in zip(*chosen, strict=True))
            gram = inputs.T @ inputs + penalty * np.eye(width)
            weights[int(default)] = np.linalg.solve(gram, inputs.T @ rewards)
    return weights


def margin_of(played: dict[str, list], penalty: float) -> float:
    """What a prediction must exceed to be believed, judged by programs it was not fitted to."""
    if len(played) < 2:
        return 0.0
    judged = []
    for program, samples in played.items():
        weights = fit(
            [each for name in played if name != program for each in played[name]], penalty
        )
        judged += [(weights[int(was)] @ inputs, reward) for inputs, was, reward in samples]
    predicted, rewards = np.array(sorted(judged, reverse=True)).T
    gained = np.cumsum(rewards)
    return predicted[gained.argmax()] - 1e-12 if gained.max() > 0 else np.inf


def main(
    rounds: Annotated[int, typer.Option(help="Episodes of each training program.")] = 6,
    penalty: Annotated[float, typer.Option(help="On large weights.")] = 100.0,
    programs: Annotated[int, typer.Option(help="How many of them, at most.")] = 8,
    seed: Annotated[int, typer.Option(help="Of what is random.")] = 0,
) -> None:
    """Show, after each round, how much smaller than -Oz programs become that were not played."""
    rng, played = np.random.default_rng(seed), {name: [] for name in TRAINING[:programs]}
    with compiler_gym.make("llvm-inline-v0") as env:
        for number in range(1, rounds + 1):
            for program, samples in played.items():
                samples += play(env, program, lambda *_: rng.random() < 0.3)
            samples, gains = [each for some in played.values() for each in some], []
            weights, margin = fit(samples, penalty), margin_of(played, penalty)
            for program in TEST[:programs]:
                play(env, program, lambda x, was, w=weights, m=margin: w[int(was)] @ x > m)
                gains.append(env.episode_reward)
            print(f"{number} rounds, {len(samples)} samples: {np.mean(gains):.2%} smaller than -Oz")


if __name__ == "__main__":
    typer.run(main)
