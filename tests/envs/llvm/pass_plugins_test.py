"""Passes of the project's own, and of plugins: here that of docs/guides/adding-a-pass.md."""

import pytest

import compiler_gym
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.errors import ServiceInitError
from compiler_gym.service import ConnectionOpts
from compiler_gym.util.runfiles_path import runfiles_path
from tests.envs.llvm.kernel_programs import SOME_KERNELS, kernel_uri


@pytest.fixture
def plugin():
    return runfiles_path("tests/llvm_service/MulToShift.so")


@pytest.mark.parametrize("kernel", SOME_KERNELS)
def test_own_passes_keep_programs_right_and_opt_repeats_them(env, kernel):
    env.reset(benchmark=kernel_uri(kernel), action_space="PassesWithParameters")
    names = ("sroa", "inline-threshold<500>", "simplifycfg", "merge-identical-blocks", "gvn")
    env.multistep([env.action_space[name] for name in names])
    assert env.commandline().count("-load-pass-plugin=") == 1
    assert env.commandline_to_actions(env.commandline()) == env.actions
    result = env.validate()
    assert result.benchmark_semantics_validated
    assert result.okay(), result


@pytest.mark.parametrize("names", ["", ":mul-to-shift"])
def test_a_plugin(plugin, names):
    with compiler_gym.make("llvm-v0", pass_plugins=[f"{plugin}{names}"]) as env:
        env.reset(benchmark=kernel_uri("huffman"))
        _, _, _, info = env.step(env.action_space["mul-to-shift"])
        assert not info["action_had_no_effect"]
        assert f"-load-pass-plugin={plugin}" in env.commandline()
        result = env.validate()
        assert result.okay(), result


def test_several_plugins(plugin):
    with LlvmEnv(pass_plugins=[f"{plugin}:", plugin]) as env:
        env.reset(benchmark=kernel_uri("huffman"))
        env.step(env.action_space["mul-to-shift"])
        assert env.validate().okay()


def test_invalid_plugins(tmp_path, env, plugin):
    broken = tmp_path / "broken.so"
    broken.write_text("This is not a library")
    with pytest.raises(ServiceInitError, match=r"broken\.so"):
        LlvmEnv(pass_plugins=[broken])

    with pytest.raises(FileNotFoundError, match="/nonexistent"):
        LlvmEnv(pass_plugins=["/nonexistent.so:a"])
    with pytest.raises(TypeError, match="list"):
        LlvmEnv(pass_plugins=str(plugin))
    with pytest.raises(ValueError, match="service"):
        LlvmEnv(service_connection=env.service, pass_plugins=[plugin])
    with pytest.raises(ValueError, match="service"):
        LlvmEnv(service="localhost:1", pass_plugins=[plugin])


def test_invalid_ir_of_a_pass_is_reported_at_once():
    broken = runfiles_path("tests/llvm_service/BrokenPasses.so")
    with LlvmEnv(pass_plugins=[broken], reward_space="IrInstructionCountO3") as env:
        env.reset(benchmark=kernel_uri("huffman"))
        # Only the last two actions of a step are judged, of LLVM's own passes.
        actions = ["erase-terminators", "dce", "dce", "dce"]
        _, reward, done, info = env.multistep([env.action_space[name] for name in actions])
        assert done
        assert reward <= 0
        assert (
            "After function(erase-terminators), LLVM's verifier rejects the module"
            in (info["error_details"])
        )


@pytest.mark.parametrize("is_shown", [False, True])
def test_output_of_a_pass_is_logged_or_shown(is_shown, capfd):
    broken = runfiles_path("tests/llvm_service/BrokenPasses.so")
    settings = ConnectionOpts(show_output=is_shown)
    with LlvmEnv(pass_plugins=[broken], connection_settings=settings) as env:
        for _ in range(2):
            env.reset(benchmark=kernel_uri("huffman"))
            env.step(env.action_space["chat"])
            env.step(env.action_space["mem2reg"])
        log = "\n".join(env.service.loglines())
    said = log, capfd.readouterr().err
    assert [text.count("looked at main") for text in said] == [0 if is_shown else 2, 2 * is_shown]
