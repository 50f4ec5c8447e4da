import subprocess

import pytest

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.errors import SessionNotFound
from compiler_gym.util import llvm_tools
from tests.effort import sample
from tests.envs.llvm.tool_output import text_size

PROGRAMS = sample(["sha256", "regex", "sorting"], 2)
TARGETS = ("riscv64-linux-gnu", "aarch64-linux-gnu")


def env_for(shared_env, target, **kwargs):
    return LlvmEnv(service_connection=shared_env.service, target_triple=target, **kwargs)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_cross_code_size_is_that_of_clang(shared_env, tmp_path, target, program):
    with env_for(shared_env, target) as env:
        env.reset(benchmark=f"benchmark://kernels-v0/{program}")
        assert f'target triple = "{target}"' in env.ir
        size = env.observation["ObjectTextSizeOz"]
        assert size <= env.observation["ObjectTextSizeO0"]
        env.write_bitcode(tmp_path / "program.bc")
    # Clang gives functions these attributes when it compiles them with -Oz from source.
    attributes = ["-force-attribute=optsize", "-force-attribute=minsize"]
    level = "default<Oz>,forceattrs" if llvm_tools.llvm_version() < 23 else "forceattrs,default<O2>"
    optimise = [llvm_tools.opt_path(), f"-passes={level}", *attributes]
    subprocess.run([*optimise, tmp_path / "program.bc", "-o", tmp_path / "oz.bc"], check=True)
    options = ["-Oz", "-c", "-w", f"--target={target}", "-fPIC", "-Xclang", "-disable-llvm-passes"]
    command = [llvm_tools.clang_path(), *options, tmp_path / "oz.bc", "-o", tmp_path / "program.o"]
    subprocess.run(command, check=True)
    assert size == pytest.approx(text_size(tmp_path / "program.o"), rel=0.01)


def test_targets_differ(shared_env):
    sizes, cycles = set(), set()
    for target in (None, *TARGETS):
        with env_for(shared_env, target) as env:
            env.reset()
            sizes.add(env.observation["ObjectTextSizeBytes"])
            cycles.add(env.observation["CyclesEstimate"])
    assert len(sizes) == 3
    assert len(cycles) > 1


def test_target_holds_for_forks_and_further_episodes(shared_env):
    with env_for(shared_env, TARGETS[0]) as env:
        env.reset()
        env.step(env.action_space["mem2reg"])
        size = env.observation["ObjectTextSizeBytes"]
        with env.fork() as fork:
            assert fork.observation["ObjectTextSizeBytes"] == size
            fork.step(fork.action_space["simplifycfg"])
        env.reset()
        assert env.send_param("llvm.get_target_triple", "") == TARGETS[0]


def test_programs_for_other_targets_cannot_be_run(shared_env):
    with env_for(shared_env, TARGETS[0]) as env:
        env.reset()
        assert env.observation["IsRunnable"] is False
        assert env.observation["IsBuildable"] is False


def test_baseline_rewards(shared_env):
    with env_for(shared_env, TARGETS[1], reward_space="IrInstructionCountOz") as env:
        env.reset()
        env.send_param("llvm.apply_baseline_optimizations", "-Oz")
        assert env.reward["IrInstructionCountOz"] == pytest.approx(1)


def reward_of_mem2reg(env):
    return env.step(env.action_space["mem2reg"])[1]


def test_baselines_of_another_target(shared_env):
    """The same program has other baselines when the target is another."""
    target = ("llvm.set_target_triple", TARGETS[0])
    with env_for(shared_env, TARGETS[0], reward_space="ObjectTextSizeOz") as env:
        env.reset()
        expected = reward_of_mem2reg(env)
    with env_for(shared_env, None, reward_space="ObjectTextSizeOz") as env:
        env.reset()
        before = reward_of_mem2reg(env)
        env.reset()
        with env.fork() as fork:
            fork.send_param(*target)
            assert reward_of_mem2reg(fork) == expected != before
        assert reward_of_mem2reg(env) == before
        env.reset()
        env.send_param(*target)
        assert reward_of_mem2reg(env) == expected
        env.reset()
        assert reward_of_mem2reg(env) == before
        env.close()
        with pytest.raises(SessionNotFound):
            env.send_param(*target, resend_on_reset=True)
        env.reset()
        assert reward_of_mem2reg(env) == expected


@pytest.mark.parametrize("target", ["nosuch-linux-gnu", "riscv", "-"])
def test_unknown_target(shared_env, target):
    with (
        env_for(shared_env, target) as env,
        pytest.raises(ValueError, match=f'"{target}".*riscv64'),
    ):
        env.reset()


def test_target_cannot_change_in_an_episode(env):
    env.reset()
    env.step(env.action_space["mem2reg"])
    with pytest.raises(TypeError, match="before the first action"):
        env.send_param("llvm.set_target_triple", TARGETS[0])
    assert "x86_64" in env.ir
