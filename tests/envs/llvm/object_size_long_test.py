"""Tests of object sizes for fifty random programs. Takes some minutes."""

import shutil
from pathlib import Path

import pytest

from tests.envs.llvm.tool_output import CLANG_SIZES, size_by_clang

PROGRAMS = 50

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_baselines_are_those_of_clang(env, tmp_path, seed):
    headers = Path(shutil.which("csmith")).resolve().parent.parent / "include/csmith"
    env.reset(benchmark=f"generator://csmith-v0/{seed}")
    (program,) = env.benchmark.sources
    source = tmp_path / "program.c"
    source.write_bytes(program.contents)
    for observation, level in CLANG_SIZES.items():
        assert env.observation[observation] == size_by_clang(source, level, [f"-I{headers}"])
    env.reset(action_space="Pipelines")
    env.step(env.action_space["clang<Oz>"])
    assert env.observation["ObjectTextSizeBytes"] == env.observation["ObjectTextSizeOz"]
