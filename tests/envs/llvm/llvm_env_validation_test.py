from dataclasses import replace

import numpy as np
import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.errors import ServiceError
from tests.envs.llvm.kernel_programs import SOME_KERNELS

USEFUL = ["sroa", "inline", "instcombine", "simplifycfg", "gvn", "licm", "loop-vectorize"]


@pytest.mark.parametrize("name", SOME_KERNELS)
def test_built_in_program_is_valid(env, name):
    """As it is, after useful passes, and after random ones."""
    random = np.random.default_rng(len(name)).integers(env.action_space.n, size=20).tolist()
    for actions in ([], [env.action_space[name] for name in USEFUL], random):
        env.reset(benchmark=f"benchmark://kernels-v0/{name}", reward_space="IrInstructionCountOz")
        env.multistep(actions)
        result = env.validate()
        assert result.okay(), (result, result.errors)
        assert result.reward_validated
        assert result.benchmark_semantics_validated


def test_second_input_is_validated_too(env):
    env.reset(benchmark="benchmark://kernels-v0/sha256?dataset=1")
    result = env.validate()
    assert result.okay()
    assert result.benchmark_semantics_validated


def test_wrong_output_is_noticed(env, tmp_path):
    (tmp_path / "expected.txt").write_text("something else")
    benchmark = env.datasets.benchmark("benchmark://kernels-v0/sha256")
    like_opt, validator = benchmark.validation_callbacks()
    runs = [replace(run, expected_stdout=tmp_path / "expected.txt") for run in validator.runs]
    callbacks = [like_opt, replace(validator, runs=runs)]
    env.reset(benchmark=Benchmark(benchmark.proto, validation_callbacks=callbacks))
    result = env.validate()
    assert result.benchmark_semantics_validation_failed
    assert [error.type for error in result.errors] == ["Wrong output"] * 2


def test_unavailable_program_is_reported(env):
    """As where LLVM's verifier rejects the module after passes that broke it."""

    def validate(env):
        raise ServiceError("LLVM's verifier rejects the module")

    proto = env.datasets.benchmark("benchmark://kernels-v0/sha256").proto
    env.reset(benchmark=Benchmark(proto, validation_callbacks=[validate]))
    result = env.validate()
    assert result.benchmark_semantics_validation_failed
    (error,) = result.errors
    assert "verifier rejects the module" in error.data["details"]
