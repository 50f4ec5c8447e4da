"""The programs that trainers learn from, those they are judged by, and how they see them.

Nothing is learnt from the programs that are held back. They are every fourth of kernels-v0 in
alphabetical order, so that nobody has chosen them.
"""

import gymnasium

import compiler_gym
from compiler_gym.vector import CompilerVectorEnv
from compiler_gym.wrappers import ActionHistogram, AutophaseNorm

HELD_BACK = [
    f"benchmark://kernels-v0/{name}"
    for name in ("bitops", "containers", "graphs", "life", "mini_language", "sha256", "text_stats")
]
TRAINING = [
    f"benchmark://kernels-v0/{name}"
    for name in (
        *("aes", "base_codecs", "bigint", "bytecode_vm", "calculator", "checksums", "csv_stats"),
        *("diff", "fft", "huffman", "image", "json", "lzss", "markdown", "matrix", "nbody"),
        *("pathfinding", "regex", "sorting", "string_search", "sudoku"),
    )
]
ENV_ID = "llvm-autophase-ic-v0"
EPISODE_STEPS = 30


def observed(env: compiler_gym.CompilerEnv) -> compiler_gym.CompilerEnv:
    """Observes what the program is made of, and what was done, in numbers of similar size."""
    return ActionHistogram(AutophaseNorm(env), divisor=EPISODE_STEPS)


LEARNING = {
    "benchmarks": TRAINING,
    "random_benchmarks": True,
    "max_episode_steps": EPISODE_STEPS,
    "wrappers": [observed],
}


def training_env() -> gymnasium.Env:
    """An environment in which each episode is about a random one of the programs to learn from."""
    return gymnasium.make(ENV_ID, **LEARNING)


def training_envs(count: int) -> CompilerVectorEnv:
    """Several of these, stepped at once; the step that ends an episode begins the next."""
    return compiler_gym.make_vec(ENV_ID, count, autoreset_mode="SameStep", **LEARNING)


def judging_envs() -> CompilerVectorEnv:
    """One for each program that was held back, in their order, whose episodes have no end."""
    envs = compiler_gym.make_vec(ENV_ID, len(HELD_BACK), wrappers=[observed])
    envs.reset(options={"benchmark": HELD_BACK})
    return envs
