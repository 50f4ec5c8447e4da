"""Whatever does not exist, the error is of one kind, and says what there is or what to do."""

from pathlib import Path

import pytest

import compiler_gym
from compiler_gym.errors import UnknownNameError
from compiler_gym.service import ServiceError


@pytest.fixture(name="env", scope="module")
def fixture_env():
    with compiler_gym.make("llvm-v0") as env:
        env.reset()
        yield env


WRONG = {
    "benchmark": (
        lambda env: env.reset(benchmark="kernels-v0/sha25"),
        "mean benchmark://kernels-v0/sha256?",
    ),
    "dataset of a benchmark": (lambda env: env.reset(benchmark="kernel-v0/x"), "kernels-v0"),
    "dataset": (lambda env: env.datasets["npb"], "benchmark://npb-v0"),
    "required dataset": (lambda env: env.require_dataset("npb-v9"), "benchmark://npb-v0"),
    "action": (lambda env: env.action_space["sro"], "Did you mean sroa?"),
    "step": (lambda env: env.step("sro"), "Did you mean sroa?"),
    "command line": (lambda env: env.commandline_to_actions("opt -sro"), "Did you mean sroa?"),
    "observation": (lambda env: env.observation["Autophas"], "Did you mean Autophase"),
    "default observation": (lambda env: env.reset(observation_space="Autophas"), "Autophase"),
    "observation of a step": (
        lambda env: env.step(0, observation_spaces=["Autophas"]),
        "Did you mean Autophase",
    ),
    "reward": (lambda env: env.reward["IrInstructionCountO"], "IrInstructionCountOz"),
    "default reward": (lambda env: env.reset(reward_space="IrInstCountOz"), "Did you mean"),
    "action space": (lambda env: env.reset(action_space="Legacy"), "Legacy124"),
    "action space by number": (lambda env: env.reset(action_space=3), "no action space '3'"),
    "environment": (lambda env: compiler_gym.make("llvm-vo"), "Did you mean llvm-v0"),
    "environment with a wrong default": (
        lambda env: compiler_gym.make("llvm-v0", observation_space="Autophas"),
        "Did you mean Autophase",
    ),
    "file": (lambda env: env.reset(benchmark="program.c"), "env.make_benchmark('program.c')"),
    "file in a folder": (lambda env: env.reset(benchmark="./a/b.ll"), "env.make_benchmark("),
    "file with an absolute path": (
        lambda env: setattr(env, "benchmark", "/a/b.bc"),
        "pathlib.Path('/a/b.bc')",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_error(env, what):
    ask, message = WRONG[what]
    with pytest.raises(UnknownNameError) as caught:
        ask(env)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    # As each of these was before.
    assert isinstance(caught.value, LookupError) and isinstance(caught.value, ValueError)
    assert not isinstance(caught.value, ServiceError)


def test_path(env, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"/a/b\.c"):
        env.reset(benchmark=Path("/a/b.c"))
    with pytest.raises(IsADirectoryError, match=r"benchmarks=compiler_gym\.dataset\("):
        env.reset(benchmark=tmp_path)


def test_type_errors():
    with pytest.raises(TypeError, match=r"benchmrk.*benchmark"):
        compiler_gym.make("llvm-v0", benchmrk="benchmark://kernels-v0/sha256")
    with pytest.raises(TypeError, match="not as int"):
        compiler_gym.make("llvm-v0", benchmark=3)
