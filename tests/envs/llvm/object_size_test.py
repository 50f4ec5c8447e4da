"""The baselines of object sizes are the sizes of what a user of clang gets, to the byte."""

import subprocess

import pytest

from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from compiler_gym.util import llvm_tools
from tests.envs.llvm.kernel_programs import SOME_KERNELS, kernel_uri
from tests.envs.llvm.tool_output import CLANG_SIZES, size_by_clang, text_size


@pytest.mark.parametrize("kernel", SOME_KERNELS)
def test_baselines_are_those_of_clang(env, kernel):
    source = KERNELS_PATH / kernel / "program.c"
    env.reset(benchmark=kernel_uri(kernel))
    for observation, level in CLANG_SIZES.items():
        assert env.observation[observation] == size_by_clang(source, level, ["-std=c11"])
    assert env.observation["ObjectTextSizeOz"] <= env.observation["ObjectTextSizeO0"]


@pytest.mark.parametrize("kernel", SOME_KERNELS)
def test_one_action_reaches_the_baseline(env, tmp_path, kernel):
    env.reset(
        benchmark=kernel_uri(kernel), action_space="Pipelines", reward_space="ObjectTextSizeOz"
    )
    _, _, _, info = env.step(env.action_space["clang<Oz>"])
    assert not info["action_had_no_effect"]
    assert env.observation["ObjectTextSizeBytes"] == env.observation["ObjectTextSizeOz"]
    # The same by clang: what the action leaves needs no more than its code generator.
    env.write_bitcode(tmp_path / "program.bc")
    only_code = [llvm_tools.clang_path(), "-Oz", "-Xclang", "-disable-llvm-passes", "-w", "-c"]
    command = [*only_code, tmp_path / "program.bc", "-o", tmp_path / "program.o"]
    subprocess.run(command, check=True)
    assert text_size(tmp_path / "program.o") == env.observation["ObjectTextSizeOz"]


def test_the_command_line_repeats_it(env):
    env.reset(benchmark=kernel_uri("json"), action_space="Pipelines")
    env.multistep([env.action_space["mark-for-size"], env.action_space["clang<Oz>"]])
    assert "-passes='module(mark-for-size<Oz>,clang<Oz>)'" in env.commandline()
    assert env.validate().okay()
    assert env.commandline_to_actions(env.commandline()) == env.actions
