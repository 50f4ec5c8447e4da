"""The programs that trainers learn from, those they are judged by, and how they see them.

Nothing is learnt from those that are held back: every fourth of kernels-v0, alphabetically.
"""

from functools import partial

import gymnasium

import compiler_gym
from compiler_gym.tuning.policies.training import HELD_BACK_KERNELS
from compiler_gym.vector import CompilerVectorEnv
from compiler_gym.wrappers import ActionHistogram, AutophaseNorm

HELD_BACK = [f"benchmark://kernels-v0/{name}" for name in HELD_BACK_KERNELS]
TRAINING = [
    f"benchmark://kernels-v0/{name}"
    for name in (
        *("aes", "base_codecs", "bigint", "bytecode_vm", "calculator", "checksums", "csv_stats"),
        *("diff", "fft", "huffman", "image", "json", "lzss", "markdown", "matrix", "nbody"),
        *("pathfinding", "regex", "sorting", "string_search", "sudoku"),
    )
]
ENV_ID, EPISODE_STEPS = "llvm-autophase-ic-v0", 30

# What the program is made of, and what was done, in numbers of similar size.
OBSERVED = [AutophaseNorm, partial(ActionHistogram, divisor=EPISODE_STEPS)]
LEARNING = {
    "benchmarks": TRAINING,
    "random_benchmarks": True,
    "max_episode_steps": EPISODE_STEPS,
    "wrappers": OBSERVED,
}


class LimitIsAnEnd(gymnasium.Wrapper):
    """An episode that is cut ends as any other: what is observed says how many steps are left."""

    def step(self, action: int) -> tuple:
        observation, reward, failed, cut, info = self.env.step(action)
        return observation, reward, failed or cut, False, info


def training_env() -> gymnasium.Env:
    """An environment in which each episode is about a random one of the programs to learn from."""
    return LimitIsAnEnd(gymnasium.make(ENV_ID, **LEARNING))


def training_envs(count: int) -> CompilerVectorEnv:
    """Several of these, stepped at once; the step that ends an episode begins the next."""
    return compiler_gym.make_vec(ENV_ID, count, autoreset_mode="SameStep", **LEARNING)


def judging_envs() -> CompilerVectorEnv:
    """One for each program that was held back, in their order, whose episodes have no end."""
    envs = compiler_gym.make_vec(ENV_ID, len(HELD_BACK), wrappers=OBSERVED)
    envs.reset(options={"benchmark": HELD_BACK})
    return envs
