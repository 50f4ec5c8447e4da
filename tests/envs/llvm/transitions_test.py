"""Steps that are answered from what is known equal those that are made, whatever is forgotten."""

import numpy as np
import pytest

from compiler_gym.envs.llvm import LlvmEnv
from tests.effort import effort, sample
from tests.envs.llvm.kernel_programs import kernel_uri

pytestmark = pytest.mark.timeout(effort(300, 3600))

EPISODES = effort(25, 2000)
STEPS = 12
SPACES = {"observation_space": "Autophase", "reward_space": "IrInstructionCountOz"}


def without_news(result):
    *rest, info = result
    return [*rest, {key: info[key] for key in info if key != "transition_was_known"}]


@pytest.fixture(params=["kept", "fresh"])
def pair(request, shared_env):
    """An environment without a cache, and one with."""
    shared_env.service.transitions = None
    arguments = {"service_connection": shared_env.service, "analyses": request.param, **SPACES}
    with LlvmEnv(**arguments) as plain, LlvmEnv(transition_cache=True, **arguments) as cached:
        yield plain, cached


@pytest.mark.parametrize("kernel", sample(["sha256", "huffman"], 1))
def test_equals_an_environment_without(pair, kernel):
    plain, cached = pair
    random = np.random.default_rng(0)
    favourites = random.integers(plain.action_space.n, size=STEPS)
    for _ in range(EPISODES):
        for env in pair:
            env.reset(benchmark=kernel_uri(kernel))
        for favourite in favourites[: random.integers(1, STEPS + 1)]:
            action = favourite if random.random() < 0.9 else random.integers(plain.action_space.n)
            one, other = (without_news(env.step(int(action))) for env in pair)
            np.testing.assert_equal(one, other)
        assert plain.ir_sha1 == cached.ir_sha1
        assert plain.state == cached.state
    assert cached.transitions.stats.hits > EPISODES


def test_with_fresh_analyses_all_ways_to_a_program_are_one(shared_env):
    shared_env.service.transitions = None
    with LlvmEnv(
        service_connection=shared_env.service, analyses="fresh", transition_cache=True, **SPACES
    ) as env:
        names = env.action_space.names
        nothing, sroa, cse = (
            names.index(each) for each in ("globaldce", "function(sroa)", "function(early-cse)")
        )
        env.reset(benchmark=kernel_uri("huffman"))
        env.multistep([sroa, cse])
        env.reset()
        *_, info = env.step(nothing)
        assert info["action_had_no_effect"]
        *_, info = env.multistep([sroa, cse])
        assert info["transition_was_known"]


def test_observations_of_the_last_action_are_not_shared(shared_env):
    shared_env.service.transitions = None
    with LlvmEnv(
        service_connection=shared_env.service, analyses="fresh", transition_cache=True
    ) as env:
        sroa = env.action_space["sroa"]
        env.reset(benchmark=kernel_uri("huffman"))
        env.step(sroa)
        env.step(sroa, observation_spaces=["PassStats"])
        for _ in range(2):
            env.reset()
            for changed in (True, False):
                (stats,), *_ = env.step(sroa, observation_spaces=["PassStats"])
                assert stats["changed"] == changed


@pytest.mark.parametrize("seed", range(3))
def test_the_command_line_repeats_fresh_analyses(shared_env, seed):
    random = np.random.default_rng(seed)
    with LlvmEnv(service_connection=shared_env.service, analyses="fresh") as env:
        env.reset(benchmark=kernel_uri("huffman"))
        env.multistep([int(random.integers(env.action_space.n)) for _ in range(20)])
        env.step(env.action_space.sample())
        command = env.commandline()
        assert command.count("invalidate<all>") == 21
        assert env.commandline_to_actions(command) == env.actions
        with env.fork() as fork:
            assert fork.commandline() == command
        result = env.validate()  # Compares with opt, too.
        assert result.okay(), result


def test_wrong_arguments(env):
    with pytest.raises(ValueError, match="not 'new'"):
        LlvmEnv(analyses="new")
    env.reset()
    with pytest.raises(ValueError, match='"kept" or "fresh", not "new"'):
        env.send_param("llvm.set_analyses", "new")
    assert env.send_param("llvm.get_analyses", "") == "kept"
    with pytest.raises(ValueError, match='made with analyses="fresh"'):
        env.commandline_to_actions("module(function(sroa),invalidate<all>)")
