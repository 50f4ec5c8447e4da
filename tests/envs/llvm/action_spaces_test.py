"""The action spaces besides PassesAll, and the user's macros."""

import subprocess

import pytest

import compiler_gym
from compiler_gym.compat.legacy_actions import LEGACY_ACTIONS
from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.util import llvm_tools
from tests.envs.llvm.game_program import game_program
from tests.envs.llvm.kernel_programs import SOME_KERNELS, kernel_uri

# --------------------------------------------------------------------------------------------------
# PassesLLVM.


def test_passes_of_llvm_alone(env):
    with compiler_gym.make("llvm-v0", action_space="PassesLLVM") as env:
        everything, *_, of_llvm = env.action_spaces
        # The same numbers, and all but those that need our plugin.
        assert of_llvm.flags == everything.flags[: of_llvm.n]
        assert not any("plugin" in item.option for item in of_llvm.items)
        own = everything.items[of_llvm.n :]
        assert all("compiler_gym-llvm-passes" in item.option for item in own)
        assert own
        env.reset(benchmark=game_program())
        assert env.action_space == of_llvm
        env.multistep(["sroa", "gvn", of_llvm.n - 1])
        assert "plugin" not in env.commandline()
        with pytest.raises(ValueError, match="PassesLLVM"):
            env.step(of_llvm.n)
        with env.fork() as fork:
            assert fork.action_space.name == "PassesLLVM"
            fork.step("dse")
            assert fork.actions == [*env.actions, fork.action_space["dse"]]
        state = env.state
        env.reset()
        env.apply(state)
        assert env.state == state
        env.reset(action_space="PassesAll")
        assert env.action_space.n == everything.n


# --------------------------------------------------------------------------------------------------
# Pipelines.


@pytest.mark.parametrize("kernel", SOME_KERNELS)
def test_the_baseline_is_an_action(env, kernel):
    env.reset(benchmark=kernel_uri(kernel), action_space="Pipelines")
    marked = "mark-for-size<Oz>,default<O2>"  # From LLVM 23 on.
    oz = marked if marked in env.action_space.names else "default<Oz>"
    pipelines = {"O3": "default<O3>", "Oz": oz}
    expected = {level: env.observation[f"IrInstructionCount{level}"] for level in pipelines}
    for level, count in expected.items():
        env.reset(benchmark=kernel_uri(kernel))
        env.step(env.action_space[pipelines[level]])
        assert env.observation["IrInstructionCount"] == count


@pytest.mark.parametrize(
    "names", [["default<O3>"], ["module-simplification-stage<Oz>", "inliner-stage<O2>"]]
)
def test_a_pipeline_and_stages_equal_opt(env, names):
    env.reset(benchmark=game_program(), action_space="Pipelines")
    env.multistep([env.action_space[name] for name in names])
    result = env.validate()
    assert result.okay(), result
    assert ("-load-pass-plugin=" in env.commandline()) == ("stage" in names[0])


def test_an_episode_that_has_ended_is_told_in_its_own_action_space():
    with compiler_gym.make("llvm-v0") as env:
        env.reset(action_space="PassesAll")
        env.step(env.action_space["sroa"])
        actions, commandline, state = env.actions, env.commandline(), env.state
        env.close()
        env.action_space = "Legacy124"
        assert env.action_space.name == "Legacy124"
        assert env.commandline() == commandline
        assert env.state == state
        assert env.commandline_to_actions(commandline) == actions
        env.reset()
        env.step(env.action_space["-sroa"])
        assert env.actions != actions
        assert "sroa" in env.commandline()


# --------------------------------------------------------------------------------------------------
# Legacy124.


def test_the_actions_of_the_former_release():
    names = list(LEGACY_ACTIONS)
    assert len(names) == 124
    known = {0: "add-discriminators", 39: "gvn", 53: "instcombine", 103: "mem2reg", 111: "sroa"}
    assert {index: names[index] for index in known} == known
    assert names[-1] == "mergereturn"
    assert {name for name, pipeline in LEGACY_ACTIONS.items() if pipeline is None} == {
        "barrier",
        "loop-reroll",
        "prune-eh",
    }


def test_opt_accepts_them_all():
    gone = {"function(mergereturn)"} if llvm_tools.llvm_version() >= 23 else set()
    pipelines = ",".join(each for each in LEGACY_ACTIONS.values() if each and each not in gone)
    command = [llvm_tools.opt_path(), f"-passes=module({pipelines})", "-disable-output"]
    subprocess.run(
        command, input="define i32 @main() {\n  ret i32 0\n}\n", text=True, check=True, timeout=250
    )


def test_legacy_actions_are_those_of_the_table(env):
    env.reset(action_space="Legacy124")
    assert env.action_space.names == [f"-{name}" for name in LEGACY_ACTIONS]
    for name, pipeline in zip(LEGACY_ACTIONS, env.action_space.pipelines, strict=True):
        assert pipeline in ("", LEGACY_ACTIONS[name])
    assert sum(not pipeline for pipeline in env.action_space.pipelines) < 50


def test_legacy_actions_by_environment_variable(monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_ACTION_SPACE", "Legacy124")
    with compiler_gym.make("llvm-ic-v0") as env:
        assert env.action_space.names[103] == "-mem2reg"
        env.action_space = "Pipelines"
        env.action_space = None
        assert env.action_space.name == "Legacy124"
        with env.fork() as fork:
            assert fork.action_space.name == "Legacy124"
    with compiler_gym.make("llvm-ic-v0", action_space="Pipelines") as env:
        assert env.action_space.name == "Pipelines"
    monkeypatch.setenv("COMPILER_GYM_ACTION_SPACE", "Legacy123")
    with pytest.raises(ValueError, match=r"COMPILER_GYM_ACTION_SPACE=Legacy123: .*Legacy124"):
        compiler_gym.make("llvm-ic-v0")


def test_numbers_of_legacy_actions_in_another_space():
    with compiler_gym.make("llvm-v0") as env:
        env.reset()
        with pytest.raises(ValueError, match=r"123 .*COMPILER_GYM_ACTION_SPACE=Legacy124"):
            env.step(123)
        with pytest.raises(ValueError, match=r"'Pipelines'$"):
            env.reset(action_space="Pipelines")
            env.step(123)


def test_macros_of_legacy_actions(env):
    env.reset(benchmark=game_program(), action_space="Legacy124")
    tidy = env.action_space.with_macros({"tidy": ["-mem2reg", "gvn"]})
    env.action_space = tidy.with_macros({"more": ["tidy", "-dce", "-barrier"]})
    env.reset()
    assert env.action_space.names[123:] == ["-mergereturn", "tidy", "more"]
    assert env.action_space.flags[:2] == ["-add-discriminators", "-adce"]
    env.step("more")
    by_macro, commandline = env.observation["IrSha1"], env.commandline()
    env.reset(action_space="Legacy124")
    env.multistep(["-mem2reg", "-gvn", "-dce"])
    assert env.observation["IrSha1"] == by_macro
    assert env.commandline() == commandline


def test_a_legacy_action_without_a_pass_does_nothing(env):
    env.reset(benchmark=game_program(), action_space="Legacy124")
    before = env.observation["IrSha1"]
    for name in ("barrier", "loop-reroll", "prune-eh", "newgvn", "attributor"):
        _, _, done, info = env.step(env.action_space[name])
        assert not done
        assert info["action_had_no_effect"]
        assert env.action_space.descriptions[env.action_space[name]].startswith("Does nothing: ")
    assert env.observation["IrSha1"] == before
    assert "-passes" not in env.commandline()
    _, _, _, info = env.step(env.action_space["-mem2reg"])
    assert not info["action_had_no_effect"]
    assert env.validate().okay()


def test_legacy_actions_have_the_effect_of_todays_passes(env):
    env.reset(benchmark=game_program(), action_space="Legacy124")
    env.multistep([env.action_space[name] for name in ("sroa", "instsimplify", "licm", "die")])
    legacy = env.observation["IrSha1"]
    # Where two old names stand for one pass, the first of them is as good.
    assert env.commandline_to_actions(env.commandline()) == [
        env.action_space[name] for name in ("sroa", "constprop", "licm", "dce")
    ]
    env.reset(benchmark=game_program(), action_space="PassesAll")
    env.multistep([env.action_space[name] for name in ("sroa", "instsimplify", "licm", "dce")])
    assert env.observation["IrSha1"] == legacy


# --------------------------------------------------------------------------------------------------
# Macros.


def with_macros(env: LlvmEnv) -> None:
    env.reset(benchmark=game_program(), action_space="PassesAll")
    env.action_space = env.action_space.with_macros(
        {"tidy": ["sroa", "instcombine", "simplifycfg"], "more": ["tidy", "gvn"]}
    )
    env.reset(reward_space="IrInstructionCount")


def test_a_macro_is_its_actions(env):
    with_macros(env)
    tidy, more = env.action_space["tidy"], env.action_space["more"]
    _, reward, done, info = env.step(tidy)
    assert not done
    assert not info["action_had_no_effect"]
    assert reward > 0
    env.multistep([more, env.action_space["dce"]])
    assert env.actions == [tidy, more, env.action_space["dce"]]
    by_macros, commandline, state = env.observation["IrSha1"], env.commandline(), env.state
    assert env.validate().okay()

    env.reset(action_space="PassesAll")
    assert env.action_space.expansions == {}
    names = ["sroa", "instcombine", "simplifycfg"] * 2 + ["gvn", "dce"]
    env.multistep([env.action_space[name] for name in names])
    assert env.observation["IrSha1"] == by_macros
    assert env.commandline() == commandline
    assert env.state == state

    env.reset()
    env.apply(state)
    assert env.observation["IrSha1"] == by_macros


def test_macros_survive_forks_and_resets(env):
    with_macros(env)
    more = env.action_space["more"]
    env.step(more)
    with env.fork() as fork:
        assert fork.observation["IrSha1"] == env.observation["IrSha1"]
        fork.step(fork.action_space["tidy"])
        assert fork.actions == [more, fork.action_space["tidy"]]
        assert env.actions == [more]
        assert fork.validate().okay()
    env.reset()
    assert env.action_space["more"] == more
    with pytest.raises(ValueError, match="not in the range"):
        env.step(env.action_space.n)


def test_macros_of_another_space_are_refused(env):
    env.reset(action_space="Pipelines")
    macros = env.action_space.with_macros({"both": ["default<O1>", "default<O3>"]})
    macros.name = "PassesAll"
    with pytest.raises(LookupError, match="another action space"):
        env.action_space = macros
