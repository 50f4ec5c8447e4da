"""Tests that actions on the built-in kernels match mlir-opt, and keep results correct."""

import random
import shlex
import subprocess

import pytest

from compiler_gym.envs.mlir import MlirEnv
from compiler_gym.util.runfiles_path import runfiles_path
from tests.effort import effort

KERNELS = sorted(path.stem for path in runfiles_path("compiler_gym/data/mlir-kernels-v0").glob("*"))
STEPS = effort(12, 100)


@pytest.fixture(scope="module")
def env():
    with MlirEnv() as env:
        yield env


def mlir_opt(env, tmp_path):
    """Returns the output of an environment's command line."""
    words = shlex.split(env.commandline())
    words[-1] = str(tmp_path / "kernel.mlir")
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def walk(env, seed):
    """Makes random steps, and goes on without those that fail."""
    chosen = random.Random(seed)
    env.recover = True
    for _ in range(STEPS):
        env.step(chosen.randrange(env.action_space.n))


def test_there_are_kernels():
    assert len(KERNELS) == 20


@pytest.mark.parametrize("name", KERNELS)
def test_random_steps(env, tmp_path, name):
    env.reset(benchmark=f"benchmark://mlir-kernels-v0/{name}")
    env.write_ir(tmp_path / "kernel.mlir")
    walk(env, name)
    assert mlir_opt(env, tmp_path) == env.ir
    assert env.observation["IsCorrect"]
