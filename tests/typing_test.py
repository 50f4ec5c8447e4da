"""Types: those of the package hold, and reach the programs of users by way of the wheel."""

import os
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

from compiler_gym.util.runfiles_path import runfiles_path

# What mypy knows from the last run. It checks by size, time and hash what has changed since.
CACHE = Path(sys.prefix) / "mypy_cache"


def mypy(*arguments, cwd, cache) -> str:
    """Returns the errors of mypy, one in each line; empty if there are none.

    Each `cache` is for one `compiler_gym`: that of the source tree, or that of the wheel.
    """
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", *arguments],
        cwd=cwd,
        env={**os.environ, "MYPY_CACHE_DIR": str(CACHE / cache)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.returncode == bool(done.stdout)
    return done.stdout


def test_package():
    """By the settings of pyproject.toml."""
    root = runfiles_path(".")
    options = ["--config-file", root / "pyproject.toml", "-p", "compiler_gym"]
    assert mypy(*options, cwd=root, cache="package") == ""


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """The interpreter of a virtual environment with the wheel, and all else that is here."""
    folder = tmp_path_factory.mktemp("installation")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "rest.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    options = ["--quiet", "--no-deps", "--no-index"]
    (wheel,) = runfiles_path().glob("compiler_gym-*.whl")
    subprocess.run([*pip, "install", *options, wheel], check=True)
    assert (packages / "compiler_gym" / "py.typed").is_file()
    return python


@pytest.fixture
def check(installation, tmp_path):
    def check(program):
        """Returns the errors of strict mypy for a user's program."""
        (tmp_path / "program.py").write_text(textwrap.dedent(program))
        # gymnasium names it, and it takes long to read.
        (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-jax.*,jaxlib.*]\nfollow_imports=skip\n")
        options = ["--strict", "--python-executable", installation, "program.py"]
        return mypy(*options, cwd=tmp_path, cache="wheel")

    return check


def test_classic_program(check):
    program = """
    from typing import Any

    import compiler_gym
    from compiler_gym.compiler_env_state import CompilerEnvState
    from compiler_gym.datasets import Benchmark
    from compiler_gym.envs import CompilerEnv, LlvmEnv
    from compiler_gym.envs.llvm import make_benchmark
    from compiler_gym.spaces import Reward
    from compiler_gym.wrappers import ConstrainedCommandline, TimeLimit


    def play(env: CompilerEnv, benchmark: Benchmark) -> CompilerEnvState:
        env.observation_space = "Autophase"
        env.reward_space = "IrInstructionCountOz"
        env.benchmark = "benchmark://kernels-v0/fft"
        env.reset(benchmark=benchmark)
        result: tuple[Any, Any, bool, dict[str, Any]] = env.step(env.action_space["mem2reg"])
        observation, reward, done, info = result
        total: float | None = env.episode_reward
        name: str = env.action_space.names[0]
        observation, reward, done, info = env.multistep([0, 1], reward_spaces=["ObjectTextSizeOz"])
        print(observation, reward, done, info, total, name, env.observation["Ir"])
        return env.state


    class Blocks(Reward):
        def __init__(self) -> None:
            super().__init__(name="Blocks", observation_spaces=["InstCountDict"])

        def update(
            self, actions: list[Any], observations: list[Any], observation_view: Any
        ) -> float:
            return float(observations[0]["TotalBlocksCount"])


    with compiler_gym.make("llvm-v0", max_episode_steps=5) as env:
        env.reward.add_space(Blocks())
        state = play(TimeLimit(ConstrainedCommandline(env, ["-mem2reg"]), 9), make_benchmark("a.c"))
        print(state.benchmark, state.commandline, compiler_gym.__version__)

    with compiler_gym.make("llvm-v0") as made:
        index: int = made.action_space["mem2reg"]
        print(index, made.write_bitcode("program.bc"))
        print(compiler_gym.make("mlir-v0").action_space.name)
        made.write_bitcod()  # type: ignore[attr-defined]  # A slip is found.

    with LlvmEnv(observation_space="Ir") as llvm, llvm.fork() as fork:
        text: str = fork.ir
        print(text, fork.write_bitcode("program.bc"))
    """
    assert check(program) == ""


def test_program_of_gymnasium(check):
    program = """
    import gymnasium

    import compiler_gym

    env = gymnasium.make("llvm-autophase-ic-v0", benchmark="benchmark://kernels-v0/sha256")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    env.close()
    with compiler_gym.make_vec("llvm-ic-v0", 4) as envs:
        envs.reset()
        print(envs.step(envs.action_space.sample())[1].sum(), envs.single_action_space.n)
    """
    assert check(program) == ""


def test_mistakes_are_found(check):
    program = """
    import compiler_gym
    from compiler_gym.wrappers import TimeLimits

    compiler_gym.make(5)
    env = compiler_gym.make("llvm-v0")
    env.reward_space = 3
    observation, reward, done = env.step(0)
    print(compiler_gym.mak, env.ations)
    env.commandline() + 1
    """
    errors = [line for line in check(program).splitlines() if "error:" in line]
    assert [line.rpartition("[")[2].rstrip("]") for line in errors] == [
        "attr-defined",
        "call-overload",
        "assignment",
        "misc",
        "attr-defined",
        "attr-defined",
        "operator",
    ]
