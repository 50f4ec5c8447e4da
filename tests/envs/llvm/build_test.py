"""Object files and executables of the program as it is."""

import subprocess

import pytest

from compiler_gym.envs.llvm import make_benchmark
from compiler_gym.envs.llvm.benchmarks.dynamic_config import (
    BUILD_COMMAND,
    UNCONFINED,
    with_dynamic_config,
)
from compiler_gym.errors import BenchmarkInitError, SessionNotFound
from tests.envs.llvm.kernel_programs import kernel_uri
from tests.envs.llvm.tool_output import text_size

ACTIONS = ("sroa", "instcombine", "simplifycfg")


@pytest.mark.parametrize("kernel", ["json", "sha256", "containers"])
def test_object_has_the_observed_size(env, tmp_path, kernel):
    env.reset(benchmark=kernel_uri(kernel))
    for action in (None, *ACTIONS):
        if action:
            env.step(env.action_space[action])
        path = env.write_object(tmp_path / "program.o")
        assert text_size(path) == env.observation["ObjectTextSizeBytes"]
    # Code for speed is larger, unless functions are marked.
    plain = env.write_object(tmp_path / "plain.o", for_size=False)
    assert text_size(plain) > text_size(path)


def test_functions_that_must_be_inlined_are_inlined_in_the_object(env, tmp_path):
    source = tmp_path / "program.c"
    source.write_text(
        "__attribute__((always_inline)) static int f(int x) { return x * 12345 % 67; }\n"
        "int main(int argc, char **argv) { return f(f(f(argc))); }\n"
    )
    env.reset(benchmark=make_benchmark(source))
    path = env.write_object(tmp_path / "program.o")
    assert text_size(path) == env.observation["ObjectTextSizeBytes"]
    assert text_size(path) == env.observation["ObjectTextSizeO0"]


def test_marked_functions_are_compiled_for_size(env, tmp_path):
    env.reset(benchmark=kernel_uri("json"), action_space="Pipelines")
    env.step(env.action_space["clang<Oz>"])
    path = env.write_object(tmp_path / "program.o", for_size=False)
    assert text_size(path) == env.observation["ObjectTextSizeOz"]


def test_the_executable_is_that_of_the_benchmark(env, tmp_path):
    env.reset(benchmark=kernel_uri("sha256"))
    env.step(env.action_space["sroa"])
    path = env.write_executable(tmp_path / "sha256")
    validators = env.benchmark.validation_callbacks()
    (runs,) = (each.runs for each in validators if hasattr(each, "runs"))
    for run in runs:
        output = subprocess.run([path], stdin=run.stdin.open("rb"), capture_output=True, check=True)
        assert output.stdout == run.expected_stdout.read_bytes()


def test_a_program_without_a_build_command_is_linked(env, tmp_path, small):
    env.reset(benchmark=small)
    before = subprocess.run([env.write_executable(tmp_path / "small")]).returncode
    env.multistep([env.action_space[action] for action in ACTIONS])
    assert subprocess.run([env.write_executable(tmp_path / "small")]).returncode == before


def test_the_build_command_is_confined(env, tmp_path, small):
    (tmp_path / "secret.txt").write_text("text")
    # The command does not name the file, but a pattern.
    read = f"cat {tmp_path}/secre* && {BUILD_COMMAND}"
    env.reset(benchmark=with_dynamic_config(small, read))
    with pytest.raises(BenchmarkInitError, match="secre"):
        env.write_executable(tmp_path / "program")
    env.reset(benchmark=with_dynamic_config(small, read, env=UNCONFINED))
    assert env.write_executable(tmp_path / "program").stat().st_mode & 0o100
    env.reset(benchmark=with_dynamic_config(small, f"ln -s {tmp_path}/secret.txt a.out"))
    with pytest.raises(BenchmarkInitError, match=r"did not make the file a\.out"):
        env.write_executable(tmp_path / "other")


def test_failed_build_has_a_reason(env, tmp_path):
    source = tmp_path / "program.c"
    source.write_text("int f(int x) { return x + 1; }\n")
    env.reset(benchmark=make_benchmark(source))
    with pytest.raises(BenchmarkInitError, match="main"):
        env.write_executable(tmp_path / "program")
    assert text_size(env.write_object(tmp_path / "program.o")) > 0
    env.close()
    for write in (env.write_executable, env.write_object):
        with pytest.raises(SessionNotFound):
            write(tmp_path / "other")
    assert not (tmp_path / "other").exists()
