"""Environments of two LLVMs in one process. The second one is the same service by another name."""

import os
import subprocess
import sys

import gymnasium
import pytest

import compiler_gym
from compiler_gym.cli.app import program_command
from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import find_service_binary, find_service_file

OTHER = 97
SERVICE = "compiler_gym-llvm-service"
_FILES = ("compiler_gym-confine", "compiler_gym-llvm-passes.so", "compiler_gym-program-starter.so")
SOURCE = "int f(int x) { int y = x * 3; return y + x; }"


@pytest.fixture
def other(monkeypatch, tmp_path):
    """The folder of another LLVM, as pip installs it."""
    folder = tmp_path / "path" / f"compiler_gym_llvm{OTHER}"
    folder.mkdir(parents=True)
    for name in (SERVICE, *_FILES):
        (folder / name).symlink_to(find_service_file(name))
    (folder / "bin").symlink_to(llvm_tools.clang_prefix() / "bin")
    (folder / "llvm_prefix.txt").write_text(f"{llvm_tools.clang_prefix()}\n{OTHER}.1.4\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


def test_side_by_side(other):
    with (
        compiler_gym.make("llvm-v0", reward_space="IrInstructionCount") as one,
        compiler_gym.make("llvm-v0", reward_space="IrInstructionCount", llvm_version=OTHER) as two,
    ):
        assert one.service.endpoint == find_service_binary(SERVICE)
        assert two.service.endpoint == other / SERVICE
        benchmark = two.make_benchmark_from_source(SOURCE, lang="c")
        for env in (one, two):
            env.reset(benchmark=benchmark)
            env.step(env.action_space["sroa"])
        assert one.state == two.state
        with two.fork() as fork:
            assert fork.service.endpoint == other / SERVICE


def test_programs_are_compiled_by_the_same_llvm(other, monkeypatch):
    used = []

    def note(name):
        used.append(llvm_tools.llvm_version())
        return found(name)

    found = llvm_tools.tool_path
    monkeypatch.setattr(llvm_tools, "tool_path", note)
    with compiler_gym.make("llvm-v0", llvm_version=str(OTHER)) as env:
        env.reset(benchmark=env.make_benchmark_from_source(SOURCE, lang="c"))
        assert used and {*used} == {OTHER}
        used.clear()
        env.write_object(os.devnull)
        assert used and {*used} == {OTHER}
        used.clear()
        env.reset(benchmark="generator://llvm-stress-v0/1")
        env.validate()
        assert {*used} <= {OTHER}


def test_vector_and_gymnasium_environments(other):
    with compiler_gym.make_vec("llvm-v0", 2, llvm_version=OTHER) as vector:
        endpoints = {env.service.endpoint for env in vector.envs}
        assert endpoints == {other / SERVICE}
    env = gymnasium.make("llvm-v0", llvm_version=OTHER)
    assert env.unwrapped.service.endpoint == other / SERVICE
    env.close()


def test_wrong_versions():
    with pytest.raises(ValueError, match="expected a version of LLVM such as 22, got 'banana'"):
        compiler_gym.make("llvm-v0", llvm_version="banana")
    with pytest.raises(EnvironmentNotSupported, match=rf"compiler_gym\[llvm{OTHER}\]"):
        compiler_gym.make("llvm-v0", llvm_version=OTHER)
    with pytest.raises(ValueError, match="leave out one of them"):
        compiler_gym.make("llvm-v0", service="localhost:1", llvm_version=OTHER)


@pytest.mark.parametrize("words", [("--llvm", "{}", "lock", "diff"), ("lock", "diff", "--llvm={}")])
def test_option_of_every_command(other, words, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_LLVM_VERSION", "")
    command = program_command()
    with pytest.raises(FileNotFoundError):  # Of the lock file.
        words = [word.format(OTHER) for word in words]
        command.main([*words, "none", "none"], standalone_mode=False)
    assert llvm_tools.llvm_version() == OTHER


def test_a_command_and_its_children(other):
    path = os.pathsep.join([str(other.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "compiler_gym", "doctor", "--llvm", str(OTHER)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f" {other / 'bin' / 'clang'}" in done.stdout, done
