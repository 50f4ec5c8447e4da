import pytest

from compiler_gym.datasets import Benchmark, BenchmarkSource
from compiler_gym.envs.llvm.benchmarks.dynamic_config import make_command, with_dynamic_config
from compiler_gym.service.proto import Command


@pytest.fixture
def benchmark():
    result = Benchmark.from_file_contents("benchmark://user-v0/x", b"bitcode")
    result.add_source(BenchmarkSource("x.c", b"source"))
    result.add_validation_callback(lambda env: None)
    return result


def text(command):
    return " ".join(command.argument)


def test_everything_else_is_kept_and_the_original_unchanged(benchmark):
    runnable = with_dynamic_config(benchmark)
    assert runnable == benchmark
    assert runnable.proto.program.contents == b"bitcode"
    assert runnable.sources == benchmark.sources
    assert runnable.validation_callbacks() == benchmark.validation_callbacks()
    assert not benchmark.proto.HasField("dynamic_config")


def test_all_arguments(benchmark):
    config = with_dynamic_config(
        benchmark,
        build="$CC $IN -o a.out",
        run="./a.out <  in > out",
        pre_run=["make-input > in", "sync"],
        post_run=["cmp out expected"],
        infiles=["in"],
        outfiles=["out"],
        env={"SEED": "1"},
        timeout=7,
    ).proto.dynamic_config
    assert text(config.run_cmd) == "./a.out <  in > out"
    assert list(config.run_cmd.infile) == ["in"]
    assert list(config.run_cmd.outfile) == ["out"]
    assert [text(command) for command in config.pre_run_cmd] == ["make-input > in", "sync"]
    assert [text(command) for command in config.post_run_cmd] == ["cmp out expected"]
    commands = [config.build_cmd, config.run_cmd, *config.pre_run_cmd, *config.post_run_cmd]
    assert all(dict(command.env) == {"SEED": "1"} for command in commands)
    assert all(command.timeout_seconds == 7 for command in commands)


def test_command_messages_are_taken_as_they_are(benchmark):
    command = Command(argument=["./mine"], timeout_seconds=3)
    config = with_dynamic_config(benchmark, run=command, infiles=["in"]).proto.dynamic_config
    assert config.run_cmd == command


def test_without_a_run_command(benchmark):
    config = with_dynamic_config(benchmark, run=None).proto.dynamic_config
    assert config.HasField("build_cmd")
    assert not config.HasField("run_cmd")


def test_bad_commands():
    with pytest.raises(ValueError, match="blank"):
        make_command("  ")
    with pytest.raises(ValueError, match="must be positive, not 0"):
        make_command("x", timeout=0)
