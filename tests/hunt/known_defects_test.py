"""Tests that the installed LLVM still has the defects listed in the policy of actions."""

import re

import pytest

from compiler_gym.envs.llvm import LlvmEnv, make_benchmark
from compiler_gym.hunt.failures import Kind, Limits, compare_results, run_passes
from compiler_gym.hunt.reproducer import UNSTABLE_RUNS
from compiler_gym.util import llvm_tools
from compiler_gym.util.runfiles_path import runfiles_path

DEFECTS = sorted(runfiles_path("llvm_service/actions/defects").glob("*.ll"))
POLICY = runfiles_path("llvm_service/actions/policy.yaml")
# What comes of these is as right in any order.
ONLY_AN_ORDER = {"dfa-jump-threading", "loop-simplify", "loop-unroll-full"}
HEADING = re.compile(r"; ([a-z ]+): (\S+)\n; (\S.*)\n")


def failure_of(path, passes, folder):
    """Returns the failure of a command in several runs, if there is one."""
    first, again = folder / "first.bc", folder / "again.bc"
    failure = run_passes(llvm_tools.opt_path(), [passes], path, first, Limits())
    for _ in range(UNSTABLE_RUNS):
        failure = failure or run_passes(llvm_tools.opt_path(), [passes], path, again, Limits())
        failure = failure or compare_results(first, again)
    return failure


@pytest.mark.parametrize("path", DEFECTS, ids=lambda path: path.stem)
def test_defect_is_still_there(path, tmp_path):
    kind, passes, _ = HEADING.match(path.read_text()).groups()
    failure = failure_of(path, passes, tmp_path)
    if failure is None:
        version = llvm_tools.tool_version(llvm_tools.opt_path()).splitlines()[0]
        pytest.skip(f"{version} does not have the defect of {path.name} any more: take it out")
    assert failure.kind is Kind(kind)


def test_all_defects_are_in_passes_that_the_policy_knows():
    """They are no actions, or the module is verified after them, or only an order differs."""
    text = POLICY.read_text()
    known = text[text.index("\nexclude:") : text.index("\nspell:")]
    assert len(DEFECTS) >= 12
    for path in DEFECTS:
        name = re.search(r"\(([\w-]+)[<)]", path.read_text())[1]
        is_known = re.search(rf"[\[ ,]{name}[\],]", known) or name in ONLY_AN_ORDER
        assert is_known, name


@pytest.mark.parametrize(
    ("name", "action"),
    [("scalarizer", "function(scalarizer<load-store>)"), ("attributor-light", "attributor-light")],
)
def test_action_that_breaks_a_module_fails(name, action):
    with LlvmEnv() as env:
        env.action_space = "PassesWithParameters"
        env.reset(benchmark=make_benchmark(DEFECTS[0].with_name(f"{name}-broken-module.ll")))
        _, _, done, info = env.step(env.action_space[action])
        if not done:
            pytest.skip("This LLVM does not have the defect any more")
        assert f"After {action}" in info["error_details"]
        assert "LLVM's verifier rejects the module" in info["error_details"]
