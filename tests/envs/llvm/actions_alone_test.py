"""Every action, applied alone to built-in programs, does no harm.

Long runs take all programs, and build and run every distinct result. They also apply each action
after the passes that come first in LLVM's own pipelines: most loop passes find nothing to do while
every variable is in memory. Quick runs take a sample of programs and results.
"""

from dataclasses import dataclass, field
from random import Random

import pytest

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.errors import ServiceError
from tests.effort import IS_LONG, effort
from tests.envs.llvm.kernel_programs import ACTION_SPACE, SOME_KERNELS, kernel_uri, output_errors

pytestmark = pytest.mark.timeout(effort(300, 3600))

RESULTS_TO_RUN = 4
"""Number of distinct results of each program that quick runs build and run."""

# Names of actions in the order in which they are applied.
Actions = tuple[str, ...]

FIRST_PASSES = (
    "sroa",
    "early-cse<memssa>",
    "simplifycfg",
    "instcombine",
    "loop-simplify",
    "loop-rotate",
)
PREPARATIONS: list[Actions] = effort([()], [(), FIRST_PASSES])


@dataclass
class Outcomes:
    """The results of the actions on a program.

    Attributes:
        failures: What went wrong, by what was applied.
        distinct: For the hash of each program that an action has made what was applied first that
            made it.
    """

    failures: dict[Actions, str] = field(default_factory=dict)
    distinct: dict[str, Actions] = field(default_factory=dict)


@pytest.fixture(scope="module")
def module_env(shared_env):
    with LlvmEnv(service_connection=shared_env.service, action_space=ACTION_SPACE) as env:
        yield env


@pytest.fixture(scope="module")
def outcomes_of(module_env):
    """A function that tries every action on a program, once however often it is called."""
    known = {}

    def outcomes(kernel: str) -> Outcomes:
        if kernel not in known:
            known[kernel] = try_each_action(module_env, kernel)
        return known[kernel]

    return outcomes


def apply(env: LlvmEnv, kernel: str, actions: Actions) -> tuple[bool, dict]:
    """Begins an episode, and returns whether the last action has ended it, and its information."""
    *first, last = (env.action_space[name] for name in actions)
    env.reset(benchmark=kernel_uri(kernel))
    env.multistep(first)
    _, _, done, info = env.step(last)
    return done, info


def try_each_action(env: LlvmEnv, kernel: str) -> Outcomes:
    outcomes = Outcomes()
    for preparation in PREPARATIONS:
        for name in env.action_space.names:
            actions = (*preparation, name)
            done, info = apply(env, kernel, actions)
            if done:
                outcomes.failures[actions] = info["error_details"]
            elif not info["action_had_no_effect"]:
                try:
                    # A program is verified before it leaves the service.
                    env.observation["Bitcode"]
                    outcomes.distinct.setdefault(env.ir_sha1, actions)
                except ServiceError as error:
                    outcomes.failures[actions] = str(error)
    return outcomes


def chosen(kernel: str, distinct: list[Actions]) -> list[Actions]:
    """Chooses those whose results are run."""
    return distinct if IS_LONG else Random(kernel).sample(distinct, RESULTS_TO_RUN)


def test_no_action_is_left_out(module_env):
    pipelines = {space.name: set(space.pipelines) for space in module_env.action_spaces}
    assert set(pipelines) == {
        "PassesAll",
        "PassesWithParameters",
        "Legacy124",
        "Pipelines",
        "PassesLLVM",
    }
    assert pipelines["PassesAll"] < pipelines[ACTION_SPACE]
    assert pipelines["Legacy124"] - {""} < pipelines[ACTION_SPACE]


@pytest.mark.parametrize("kernel", SOME_KERNELS)
def test_leaves_a_valid_program(outcomes_of, kernel):
    assert outcomes_of(kernel).failures == {}


@pytest.mark.parametrize("kernel", SOME_KERNELS)
def test_leaves_the_output_unchanged(module_env, outcomes_of, kernel):
    to_run = chosen(kernel, list(outcomes_of(kernel).distinct.values()))
    assert to_run
    wrong = {}
    for actions in to_run:
        apply(module_env, kernel, actions)
        errors = output_errors(module_env)
        if errors:
            wrong[actions] = errors
    assert wrong == {}
