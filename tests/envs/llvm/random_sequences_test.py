"""Random sequences of actions do no harm: passes that are right alone may not be so together.

Long runs make many more sequences.
"""

from copy import deepcopy

import numpy as np
import pytest

from compiler_gym.envs.llvm import LlvmEnv
from compiler_gym.errors import ValidationError
from compiler_gym.util.sequence_reducer import reduce_sequence
from tests.effort import effort
from tests.envs.llvm.kernel_programs import ACTION_SPACE, KERNELS, kernel_uri

pytestmark = pytest.mark.timeout(effort(300, 3600))

SEQUENCES = effort(12, 300)
MAX_LENGTH = 40


def find_errors(env: LlvmEnv, kernel: str, actions: list[int]) -> list[ValidationError]:
    """Applies actions to a program; finds crashes, wrong output, and differences to opt."""
    env.reset(benchmark=kernel_uri(kernel), action_space=ACTION_SPACE)
    _, _, done, info = env.multistep(actions)
    if done:
        return [ValidationError(info["error_type"], {"details": info["error_details"]})]
    result = env.validate()
    assert result.benchmark_semantics_validated
    assert result.okay() == (not result.errors)
    return result.errors


def describe(env: LlvmEnv, kernel: str, actions: list[int], errors: list[ValidationError]) -> str:
    """Describes a wrong sequence and the part of it that matters."""
    types = {error.type for error in errors}

    def is_wrong(part: list[int]) -> bool:
        return any(error.type in types for error in find_errors(env, kernel, part))

    reduced = reduce_sequence(actions, is_wrong)
    return (
        f"{kernel}: {errors}\nafter {env.action_space.to_string(actions)}\n"
        f"reduced to {env.action_space.to_string(reduced)}"
    )


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_random_sequence(env, seed):
    random = np.random.default_rng(seed)
    kernel = KERNELS[seed % len(KERNELS)]
    env.reset(benchmark=kernel_uri(kernel), action_space=ACTION_SPACE)
    length = random.integers(1, MAX_LENGTH, endpoint=True)
    actions = random.integers(env.action_space.n, size=length).tolist()
    errors = find_errors(env, kernel, actions)
    if errors:
        pytest.fail(describe(env, kernel, actions, errors))


def test_a_wrong_program_is_noticed_and_reduced(env, monkeypatch):
    """The check itself, with a pass that is made to look wrong."""
    env.reset(benchmark=kernel_uri(KERNELS[0]), action_space=ACTION_SPACE)
    actions = [env.action_space[name] for name in ("sroa", "gvn", "dce", "licm")]
    culprit = env.action_space["gvn"]
    right = env.validate()
    assert right.benchmark_semantics_validated

    def validate(self, state=None):
        result = deepcopy(right)
        if culprit in self.actions:
            result.errors.append(ValidationError("Wrong output", {}))
            result.benchmark_semantics_validation_failed = True
        return result

    monkeypatch.setattr(type(env), "validate", validate)
    errors = find_errors(env, KERNELS[0], actions)
    text = describe(env, KERNELS[0], actions, errors)
    assert text.endswith("-passes='module(function(gvn))' input.bc -o output.bc")
