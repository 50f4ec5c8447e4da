import pytest

from compiler_gym.datasets import Benchmark, BenchmarkSource
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_command, with_dynamic_config


@pytest.fixture
def benchmark():
    result = Benchmark.from_file_contents("benchmark://user-v0/x", b"bitcode")
    result.add_source(BenchmarkSource("x.c", b"source"))
    result.add_validation_callback(lambda env: None)
    return result


def test_everything_else_is_kept_and_the_original_unchanged(benchmark):
    runnable = with_dynamic_config(benchmark)
    assert runnable == benchmark
    assert runnable.proto.program.contents == b"bitcode"
    assert runnable.sources == benchmark.sources
    assert runnable.validation_callbacks() == benchmark.validation_callbacks()
    assert not benchmark.proto.HasField("dynamic_config")


def test_bad_commands():
    with pytest.raises(ValueError, match="blank"):
        make_command("  ")
    with pytest.raises(ValueError, match="positive"):
        make_command("x", timeout=0)
