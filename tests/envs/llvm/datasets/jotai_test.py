"""The programs of Jotai, run by their drivers."""

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.envs.llvm.datasets import JotaiBenchRunnableDataset

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


def test_runnable_program(publish, tmp_path):
    publish("benchmark://jotaibench-v0", {"add.c": DRIVER}, "add\n")
    dataset = JotaiBenchRunnableDataset(tmp_path)
    assert dataset.name == "benchmark://jotai-runnable-v0"
    assert (dataset.runnable, dataset.validatable) == ("Yes", "Yes")
    with LlvmEnv() as env:
        env.datasets.add(dataset)
        env.reset(benchmark="benchmark://jotai-runnable-v0/add")
        env.multistep(["sroa", "inline"])
        assert env.observation["Runtime"][0] > 0
        assert env.validate().okay()
