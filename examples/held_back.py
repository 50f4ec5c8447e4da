"""The programs that trainers learn from, those they are judged by, and how they see them.

Nothing is learnt from those that are held back: every fourth of kernels-v0, alphabetically.
"""

from functools import partial

import gymnasium
import numpy as np

import compiler_gym
from compiler_gym.datasets.parts import TEST_KERNELS
from compiler_gym.vector import CompilerVectorEnv
from compiler_gym.wrappers import ActionHistogram, AutophaseNorm

HELD_BACK = [f"benchmark://kernels-v0/{name}" for name in TEST_KERNELS]
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


class LimitIsAnEnd(gymnasium.vector.VectorWrapper):
    """A vector environment that reports the limit of steps as the end of an episode.

    The observation says how many steps are left, so the limit is a true end for a policy.
    """

    def step(self, actions: np.ndarray) -> tuple:
        observations, rewards, failed, cut, infos = self.env.step(actions)
        return observations, rewards, failed | cut, np.zeros_like(cut), infos


def training_envs(count: int, mode: str = "SameStep") -> CompilerVectorEnv:
    """Environments that are stepped at once. Each episode has a random one of the programs.

    The mode says when the next episode begins, by default in the step that ends one.
    """
    return compiler_gym.make_vec(ENV_ID, count, autoreset_mode=mode, **LEARNING)


def judging_envs() -> CompilerVectorEnv:
    """One for each program that was held back, in their order, whose episodes have no end."""
    envs = compiler_gym.make_vec(ENV_ID, len(HELD_BACK), wrappers=OBSERVED)
    envs.reset(options={"benchmark": HELD_BACK})
    return envs
