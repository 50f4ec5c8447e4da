"""ObjectTextSizeOz is the size of what a user of clang gets."""

import subprocess

import pytest

from compiler_gym.envs.llvm import tools
from compiler_gym.envs.llvm.datasets.kernels_dataset import KERNELS_PATH
from tests.envs.llvm.kernel_programs import KERNELS, kernel_uri


def text_size(path):
    """The column text of llvm-size in Berkeley format."""
    command = [tools.llvm_size_path(), path]
    reply = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(reply.stdout.splitlines()[1].split()[0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_baseline_is_that_of_clang(env, tmp_path, kernel):
    source = KERNELS_PATH / kernel / "program.c"
    command = [tools.clang_path(), "-Oz", "-c", "-w", source, "-o", tmp_path / "program.o"]
    subprocess.run(command, check=True)
    env.reset(benchmark=kernel_uri(kernel))
    baseline = env.observation["ObjectTextSizeOz"]
    assert baseline == pytest.approx(text_size(tmp_path / "program.o"), rel=0.01)
    assert baseline <= env.observation["ObjectTextSizeO0"]
