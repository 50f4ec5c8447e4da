"""The published datasets, as far as an episode with one of their programs.

The archives are small ones of the same shape, from an HTTP server of this machine.
"""

from pathlib import Path

import pytest

from compiler_gym.datasets import BenchmarkWithSource
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.llvm.benchmarks.dynamic_config import with_dynamic_config
from compiler_gym.envs.llvm.datasets import (
    SOURCE_COMPILERS,
    JotaiBenchRunnableDataset,
    published_dataset,
)
from compiler_gym.envs.llvm.datasets.published import BITCODE, published_facts

LLVM10 = Path(__file__).parent / "llvm10"

C = b"""
#include <stdio.h>
int main(void) { int sum = 0; for (int i = 0; i < 9; ++i) sum += i; printf("%d", sum); }
"""

# Without its headers, as students hand it in.
CPLUSPLUS = b"""
int main() { vector<int> v(3, 7); sort(v.begin(), v.end()); cout << v[0] << endl; }
"""

OPENCL = b"""
__kernel void A(__global float* a, __global float* b, const int c) {
  int d = get_global_id(0);
  if (d < c) b[d] = sqrt(a[d]) + clamp(a[d], 0.0f, 1.0f);
}
"""

PROGRAMS = {
    BITCODE: (LLVM10 / "program.bc").read_bytes(),
    "c": C,
    "c++": CPLUSPLUS,
    "opencl": OPENCL,
}

NAMES = sorted(published_facts())


@pytest.fixture(scope="module")
def env():
    with LlvmEnv() as env:
        yield env


@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", NAMES)
def test_episode(env, publish, tmp_path, name):
    facts = published_facts()[name]
    program = PROGRAMS[facts["language"]]
    if "programs" in facts:
        programs = dict(facts["programs"])
    else:
        programs = {each: f"{each}{facts['benchmark_file_suffix']}" for each in ("1", "folder/2")}
    manifest = "".join(f"{path}\n" for path in programs)
    publish(name, dict.fromkeys(programs.values(), program), manifest)
    dataset = published_dataset(name, tmp_path, SOURCE_COMPILERS.get(facts["language"]))
    env.datasets.add(dataset)
    uris = [f"{name}/{each}" for each in programs]
    assert list(dataset.benchmark_uris()) == uris
    if "manifest_urls" in facts:
        assert not dataset.installed and uris[-1] in dataset
    env.reset(benchmark=uris[-1])
    assert env.benchmark == uris[-1]
    before = env.observation["IrInstructionCount"]
    _, _, done, info = env.step(env.action_space["sroa"])
    assert not done, info
    assert 0 < env.observation["IrInstructionCount"] < before
    assert isinstance(env.benchmark, BenchmarkWithSource) == (facts["language"] != BITCODE)
    # As the published programs do not say how to run them.
    assert not env.benchmark.is_validatable()
    assert not env.benchmark.proto.HasField("dynamic_config")


@pytest.mark.parametrize("file", ["program.bc", "program.ll"])
def test_program_of_llvm_10(env, tmp_path, file):
    """Bitcode and text in which pointers have types: optimised, built and run."""
    (tmp_path / "input.txt").write_text("one 1\ntwo 2\n")
    benchmark = env.make_benchmark(LLVM10 / file)
    run = f"./a.out {tmp_path}/input.txt > output.txt && grep -qx 'sum 3' output.txt"
    env.reset(benchmark=with_dynamic_config(benchmark, run=run))
    before = env.observation["IrInstructionCount"]
    env.multistep(["sroa", "simplifycfg", "instcombine", "gvn"])
    assert env.observation["IrInstructionCount"] < before
    assert "ptr" in env.ir and "i8*" not in env.ir
    assert env.observation["Runtime"][0] > 0


DRIVER = b"""
#include <stdio.h>
#include <stdlib.h>
int add(int a, int b) { return a + b; }
int main(int argc, char **argv) {
  if (argc != 2) return 1;
  printf("%d", add(atoi(argv[1]), 3));
  return 0;
}
"""


def test_programs_that_drivers_run(env, publish, tmp_path):
    publish("benchmark://jotaibench-v0", {"add.c": DRIVER}, "add\n")
    dataset = JotaiBenchRunnableDataset(tmp_path)
    assert dataset.name == "benchmark://jotai-runnable-v0"
    assert (dataset.runnable, dataset.validatable) == ("Yes", "Yes")
    env.datasets.add(dataset)
    env.reset(benchmark="benchmark://jotai-runnable-v0/add")
    env.multistep(["sroa", "inline"])
    assert env.observation["Runtime"][0] > 0
    assert env.validate().okay()
