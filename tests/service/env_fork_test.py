"""Forks of environments."""

import copy
import gc

import numpy as np
import pytest

from compiler_gym.envs.gymnasium_adapter import GymnasiumEnv
from compiler_gym.errors import ServiceError, SessionNotFound
from compiler_gym.service import ClientServiceCompilerEnv, ConnectionOpts
from compiler_gym.spaces import Reward
from compiler_gym.wrappers import Counter, TimeLimit
from tests.service.fake_service import FakeService
from tests.service.toy_service import (
    ToyDataset,
    kill_service,
    make_toy_env,
    open_sessions,
    text_benchmark,
)

UPPERCASE, REVERSE, ROTATE, APPEND_A, NO_OP = range(5)
RESTRICT, SLEEP = 9, 10


def test_same_state(env):
    env.multistep([APPEND_A, UPPERCASE])
    before = env.episode_walltime
    with env.fork() as fork:
        assert type(fork) is type(env)
        assert fork.observation["text"] == "HELLOA"
        assert fork.actions == env.actions
        assert fork.episode_reward == env.episode_reward == 6
        assert fork.benchmark == env.benchmark
        assert fork.observation_space == env.observation_space
        assert fork.reward_space == env.reward_space
        assert fork.action_space == env.action_space
        assert fork.state == env.state
        assert before < fork.episode_walltime < env.episode_walltime


def test_independence(env):
    with env.fork() as fork:
        fork.step(APPEND_A)
        assert env.actions == []
        assert env.observation["text"] == "hello"
        assert env.episode_reward == 0
        env.multistep([REVERSE, APPEND_A])
        assert fork.actions == [APPEND_A]
        assert fork.observation["text"] == "helloa"
        fork.observation_space = "length"
        fork.reward_space = None
        assert env.observation_space_spec == "text"
        assert env.reward_space == "length"


def test_copies(env):
    env.step(APPEND_A)
    with copy.deepcopy(env) as fork:
        assert fork.observation["text"] == "helloa"
    with pytest.raises(TypeError, match=r"env\.fork"):
        copy.copy(env)


def test_derived_observations():
    derived = {"id": "shout", "base_id": "text", "translate": lambda text: text + "!"}
    with make_toy_env(derived_observation_spaces=[derived], observation_space="shout") as env:
        env.reset()
        with env.fork() as fork:
            assert fork.step(APPEND_A)[0] == "helloa!"
            assert fork.observation["shout"] == "helloa!"


def test_new_action_space(env):
    size = env.action_space.n
    env.step(RESTRICT)
    with env.fork() as fork:
        assert fork.action_space.n == 5
        with pytest.raises(ValueError, match="range"):
            fork.step(SLEEP)
        fork.reset()
        assert fork.action_space.n == size
        assert env.action_space.n == 5


def samples(space):
    return [space.sample() for _ in range(20)]


def test_random_actions_are_the_same_and_independent(env):
    env.action_space.seed(3)
    samples(env.action_space)
    with env.fork() as fork:
        ours = samples(env.action_space)
        assert samples(fork.action_space) == ours
        env.action_space.seed(4)
        ours = samples(env.action_space)
        env.action_space.seed(4)
        fork.seed(5)
        assert samples(env.action_space) == ours
        assert samples(fork.action_space) != ours


def test_action_spaces_that_nobody_sampled_are_independent():
    with make_toy_env() as env:
        env.reset()
        with env.fork() as fork:
            for ours, theirs in zip(env.action_spaces, fork.action_spaces, strict=True):
                assert theirs == ours
                ours.seed(1)
                expected = samples(ours)
                ours.seed(1)
                theirs.seed(2)
                assert samples(ours) == expected
            assert any(space is fork.action_space for space in fork.action_spaces)


def end_by_failure(env):
    env.step(APPEND_A)
    kill_service(env)
    assert env.step(UPPERCASE)[2]


@pytest.mark.parametrize("end", [end_by_failure, ClientServiceCompilerEnv.close])
def test_fork_of_an_episode_that_has_ended(end):
    with make_toy_env(observation_space="text", reward_space="length") as env:
        env.reset(benchmark="benchmark://toy-v0/alphabet")
        end(env)
        before = env.state
        with env.fork() as fork:
            for each in (env, fork):
                assert not each.in_episode
                assert each.benchmark == "benchmark://toy-v0/alphabet"
            assert fork.actions == env.actions
            assert fork.state == env.state == before
            with pytest.raises(SessionNotFound):
                fork.step(APPEND_A)
            assert fork.reset() == env.reset() == "abcdefghijklmnopqrstuvwxyz"
            assert fork.actions == []


def test_session_parameters(env):
    env.send_param("toy.set_sleep_milliseconds", "3")
    with env.fork() as fork:
        assert fork.send_param("toy.get_sleep_milliseconds", "") == "3"
        fork.send_param("toy.set_sleep_milliseconds", "4", resend_on_reset=True)
        fork.reset()
        env.reset()
        assert fork.send_param("toy.get_sleep_milliseconds", "") == "4"
        assert env.send_param("toy.get_sleep_milliseconds", "") != "4"


def test_required_datasets():
    texts = {str(i): str(i) for i in range(50)}
    datasets = [ToyDataset("benchmark://numbers-v0", texts)]
    with make_toy_env(datasets=datasets, observation_space="text") as env:
        env.require_dataset("numbers-v0")
        env.seed(1)
        env.reset()
        with env.fork() as fork:
            ours = [env.reset() for _ in range(10)]
            assert [fork.reset() for _ in range(10)] == ours
            assert len(set(ours)) > 1


class Remembering(Reward):
    """Remembers values in ways that a shallow copy shares."""

    def __init__(self):
        super().__init__(name="remembering", observation_spaces=["length"])

    def reset(self, benchmark, observation_view):
        self.benchmark = benchmark
        self.values = []
        self.array = np.zeros(1)

    def update(self, actions, observations, observation_view):
        self.values.append(observations[0])
        self.array[0] += 1
        return float(sum(self.values))


def test_forks_copy_the_state_of_rewards(env):
    env.reset(reward_space=Remembering())
    env.step(APPEND_A)
    with env.fork() as fork:
        assert fork.reward_space is not env.reward_space
        assert fork.reward_space is fork.reward.spaces["remembering"]
        assert fork.step(APPEND_A)[1] == 6 + 7
        assert env.reward_space.values == [6]
        assert env.reward_space.array == [1]
        assert fork.reward_space.array == [2]
        assert fork.reward_space.benchmark is env.reward_space.benchmark
        assert env.step(NO_OP)[1] == 6 + 6
    env.reward_space = "length"
    del env.reward.spaces["remembering"]


def test_a_subclass_can_take_part():
    class Subclass(ClientServiceCompilerEnv):
        def __init__(self, note, **kwargs):
            super().__init__(**kwargs)
            self.note = note
            self.parent = None

        def init_fork(self, parent):
            self.parent = parent

    from tests.service.toy_service import toy_service

    with (
        Subclass("kept", service=toy_service(), datasets=[ToyDataset()]) as env,
        env.fork() as fork,
    ):
        assert (type(fork), fork.note, fork.parent) == (Subclass, "kept", env)


class TestReplay:
    """Forks where the service cannot fork sessions."""

    @pytest.fixture
    def service(self):
        with FakeService() as service:
            service.can_fork = False
            yield service

    @pytest.fixture
    def env(self, service):
        with ClientServiceCompilerEnv(
            service.address, observation_space="total", reward_space="total"
        ) as env:
            env.reset(benchmark=text_benchmark("10"))
            yield env

    def test_same_state(self, env, service):
        env.step(1)
        env.step(2)
        with env.fork() as fork:
            assert "ForkSession" in service.calls
            assert fork.observation["total"] == 13
            assert fork.actions == [1, 2]
            assert fork.episode_reward == env.episode_reward == 13
            assert fork.step(2)[:2] == env.step(2)[:2] == (15, 2)
            assert fork.episode_reward == env.episode_reward == 15

    def test_rewards_asked_for_by_name_count(self, env):
        env.step(1)
        env.multistep([2], reward_spaces=[])
        with env.fork() as fork:
            assert fork.reward["total"] == env.reward["total"] == 2

    def test_parameters(self, env, service):
        env.send_param("a", "1", resend_on_reset=True)
        env.send_param("a", "2")
        env.send_param("b", "3")
        with env.fork():
            params = [session.params for session in service.sessions.values()]
        assert params == [{"a": "2", "b": "3"}] * 2

    def test_failure_leaves_no_session(self, env, service):
        import grpc

        env.step(1)
        service.failures["Step"] = [(grpc.StatusCode.DATA_LOSS, "broken")]
        with pytest.raises(ServiceError, match="broken"):
            env.fork()
        assert len(service.sessions) == 1
        assert env.step(1)[0] == 12


class TestRewardsThatCannotBeCopied:
    class Unable(Reward):
        def __init__(self):
            super().__init__("unable", observation_spaces=["length"])
            self.values = (i for i in range(9))  # Generators cannot be copied.

        def update(self, actions, observations, observation_view):
            return float(observations[0])

    @pytest.fixture(params=["direct", "grpc"])
    def env(self, request):
        opts = ConnectionOpts(direct_channel=request.param == "direct")
        with make_toy_env(
            observation_space="text", rewards=[self.Unable()], connection_settings=opts
        ) as env:
            env.reset()
            yield env

    @pytest.mark.parametrize("method", ["fork", "validate", "sibling"])
    def test_parent_goes_on(self, env, method):
        env.step(APPEND_A)
        with pytest.raises(TypeError, match="generator"):
            getattr(env, method)()
        gc.collect()
        assert env.step(APPEND_A)[0] == "helloaa"
        assert open_sessions(env.service) == 1
        assert not env.service.is_shared


class TestRewardsThatKeepTheEnvironment:
    class Keeping(Reward):
        def __init__(self):
            super().__init__("keeping", observation_spaces=["length"])
            self.env = None

        def update(self, actions, observations, observation_view):
            return float(len(self.env.actions))

    @pytest.mark.parametrize(
        "keep",
        [
            lambda env: env,
            Counter,
            lambda env: TimeLimit(Counter(env), 9),
            GymnasiumEnv,
            lambda env: GymnasiumEnv(Counter(env)),
        ],
    )
    def test_fork(self, keep):
        reward = self.Keeping()
        with make_toy_env(rewards=[reward], reward_space="keeping") as env:
            reward.env = keep(env)
            env.reset()
            env.step(APPEND_A)
            with env.fork() as fork:
                assert type(fork.reward_space.env) is type(reward.env)
                kept = fork.reward_space.env
                assert getattr(kept, "compiler_env", kept).unwrapped is fork
                assert fork.step(APPEND_A)[1] == 2
                assert env.actions == [APPEND_A]
            assert env.validate().okay()
