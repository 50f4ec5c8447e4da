"""Spaces, benchmarks and parameters of environments."""

import warnings

import pytest

from compiler_gym.datasets import Benchmark, BenchmarkUri, Datasets
from compiler_gym.errors import SessionNotFound
from compiler_gym.service import ClientServiceCompilerEnv
from compiler_gym.service.proto import Event
from compiler_gym.service.proto.py_converters import ServiceMessageConverters
from compiler_gym.spaces import NamedDiscrete, Reward
from compiler_gym.views import RewardView
from tests.service.toy_service import HELLO, ToyDataset, make_toy_env, text_benchmark, toy_service

APPEND_A, NO_OP = 3, 4


@pytest.mark.parametrize("kind", ["observation", "reward", "action"])
@pytest.mark.parametrize("names", [["text", "length"], ("length",)])
def test_several_names_of_spaces(env, kind, names):
    with pytest.raises(TypeError, match=f"one {kind} space"):
        setattr(env, f"{kind}_space", names)
    with pytest.raises(TypeError, match=f"one {kind} space"):
        env.reset(**{f"{kind}_space": names})


@pytest.mark.parametrize(
    ("kind", "name", "near"),
    [
        ("observation", "histogran", "histogram"),
        ("reward", "lenght", "length"),
        ("action", "Edits", "Edit"),
    ],
)
def test_unknown_space(env, kind, name, near):
    before = getattr(env, f"{kind}_space")
    with pytest.raises(LookupError, match=f"'{name}'.*{near}"):
        setattr(env, f"{kind}_space", name)
    assert getattr(env, f"{kind}_space") == before


class Constant(Reward):
    def __init__(self, value: float = 1, name: str = "constant"):
        super().__init__(name=name, min=0, max=10)
        self.value = value
        self.benchmarks = []

    def reset(self, benchmark, observation_view):
        self.benchmarks.append(str(benchmark))

    def update(self, actions, observations, observation_view):
        return self.value


class TestObservationSpace:
    def test_set_spec(self, env):
        env.observation_space = env.observation.spaces["length"]
        assert env.step(NO_OP)[0] == 5
        env.observation_space_spec = "text"
        assert env.step(NO_OP)[0] == "hello"


class TestRewardSpace:
    def test_a_new_reward_space_resets_the_episode_reward(self, env):
        env.step(APPEND_A)
        assert env.episode_reward == 6
        env.reward_space = "counter"
        assert env.episode_reward == 0
        env.reward_space = None
        assert env.episode_reward is None
        env.reward_space = "length"
        assert env.episode_reward == 0

    def test_object(self, env):
        reward = Constant()
        env.reward_space = reward
        assert env.reward_space is reward
        assert env.reward.spaces["constant"] is reward
        assert env.reward_range == (0, 10)
        assert reward.benchmarks == [HELLO]
        assert env.step(NO_OP)[1] == 1
        env.reset(reward_space="constant")
        assert reward.benchmarks == [HELLO] * 2
        with pytest.warns(UserWarning, match="constant"):
            env.reward_space = Constant(2)
        assert env.step(NO_OP)[1] == 2
        env.reward_space = "length"
        del env.reward.spaces["constant"]

    def test_view_can_be_replaced(self):
        with make_toy_env(rewards=[Constant(3)], reward_space="constant") as env:
            env.reset()
            env.reward = RewardView([Constant(4, "other")], env.observation)
            assert env.reward_space is None
            env.reward_space = "other"
            assert env.step(NO_OP)[1] == 4


class TestActionSpace:
    def test_set_in_an_episode(self, env):
        with pytest.warns(UserWarning, match=r"Edit.*Append"):
            env.action_space = "Append"
        assert env.action_space.name == "Edit"
        assert env.step(APPEND_A)[0] == "helloa"
        env.reset()
        assert env.action_space.name == "Append"
        assert env.step("!")[0] == "hello!"

    def test_set_between_episodes(self):
        with make_toy_env(observation_space="text") as env:
            env.action_space = "Append"
            assert env.action_space.name == "Append"
            env.action_space = None
            assert env.action_space.name == "Edit"
            env.action_space = env.action_spaces[1]
            env.reset()
            assert env.step("!")[0] == "hello!"

    def test_converters(self, env):
        size = int(env.action_space.n)

        def reversed_names(proto):
            names = list(reversed(proto.space.named_discrete.name))
            return NamedDiscrete(names or ["x"], name=proto.name)

        converters = ServiceMessageConverters(
            action_space_converter=reversed_names,
            action_converter=lambda action: Event(int64_value=size - 1 - action),
        )
        with make_toy_env(service_message_converters=converters, observation_space="text") as env:
            env.reset()
            assert env.step(env.action_space["append-a"])[0] == "helloa"
            assert env.actions == [size - 1 - APPEND_A]


class TestBenchmark:
    def test_set_in_an_episode(self, env):
        with pytest.warns(UserWarning, match=r"env\.reset") as recorded:
            env.benchmark = "benchmark://toy-v0/empty"
        assert recorded[0].filename == __file__
        assert env.benchmark == HELLO
        assert env.reset() == ""
        assert env.benchmark == "benchmark://toy-v0/empty"

    @pytest.mark.parametrize(
        "benchmark",
        [
            "benchmark://toy-v0/alphabet",
            "toy-v0/alphabet",
            BenchmarkUri.from_string("benchmark://toy-v0/alphabet"),
            text_benchmark("a", "benchmark://toy-v0/alphabet"),
        ],
    )
    def test_set_between_episodes(self, benchmark):
        with make_toy_env() as env, warnings.catch_warnings():
            warnings.simplefilter("error")
            env.benchmark = benchmark
            assert isinstance(env.benchmark, Benchmark)
            assert env.benchmark == "benchmark://toy-v0/alphabet"
            env.reset()
            assert env.benchmark == "benchmark://toy-v0/alphabet"


class TestDatasets:
    def test_set(self, env):
        datasets = env.datasets
        assert isinstance(datasets, Datasets)
        env.datasets = [ToyDataset("benchmark://others-v0", {"a": "b"})]
        assert env.reset(benchmark="benchmark://others-v0/a") == "b"
        with pytest.raises(LookupError):
            env.reset(benchmark=HELLO)
        env.datasets = datasets

    def test_first_benchmark_is_that_of_the_new_datasets(self):
        with make_toy_env(observation_space="text") as env:
            assert env.reset() == "hello"
            env.datasets = [ToyDataset("benchmark://others-v0", {"a": "b"})]
            assert env.reset() == "b"

    def test_benchmarks_are_bounded_and_installed(self):
        class Endless(ToyDataset):
            def benchmark_uris(self):
                number = 0
                while True:
                    yield f"{self.name}/{number}"
                    number += 1

        class Absent(Endless):
            installed = False

        datasets = [Endless("generator://endless-v0"), Absent("benchmark://absent-v0")]
        with make_toy_env(datasets=datasets) as env:
            assert env.benchmarks == [f"generator://endless-v0/{i}" for i in range(1000)]


class TestRequireDatasets:
    @pytest.fixture
    def env(self):
        numbers = {str(i): str(i) for i in range(100)}
        datasets = [ToyDataset(), ToyDataset("benchmark://numbers-v0", numbers)]
        with make_toy_env(datasets=datasets, observation_space="text") as env:
            yield env

    def test_explicit_benchmark_is_kept(self, env):
        env.benchmark = HELLO
        env.require_dataset("numbers-v0")
        assert [env.reset() for _ in range(5)] == ["hello"] * 5

    def test_default_benchmark_is_not(self, env):
        with make_toy_env(
            benchmark=HELLO, datasets=env.datasets, observation_space="text"
        ) as other:
            other.require_dataset("numbers-v0")
            assert other.benchmark is None
            assert other.reset().isdigit()
            assert str(other.benchmark).startswith("benchmark://numbers-v0/")

    def test_installs(self, env):
        installed = []

        class Installable(ToyDataset):
            def install(self):
                installed.append(self.name)

        env.datasets = [Installable("benchmark://a-v0"), Installable("benchmark://b-v0")]
        env.require_dataset("a-v0")
        assert installed == ["benchmark://a-v0"]


class TestParameters:
    def test_forgotten_by_reset(self, env):
        env.send_param("toy.set_sleep_milliseconds", "7")
        env.reset()
        assert env.send_param("toy.get_sleep_milliseconds", "") != "7"

    def test_resend_on_reset(self):
        with make_toy_env(observation_space="text") as env:
            with pytest.raises(SessionNotFound):
                env.send_param("toy.set_sleep_milliseconds", "7", resend_on_reset=True)
            assert env.reset() == "hello"
            assert env.send_param("toy.get_sleep_milliseconds", "") == "7"
            env.send_param("toy.set_sleep_milliseconds", "8", resend_on_reset=True)
            for _ in range(2):
                env.reset()
                assert env.send_param("toy.get_sleep_milliseconds", "") == "8"

    @pytest.mark.parametrize(
        ("key", "value"), [("no.such.key", ""), ("toy.set_sleep_milliseconds", "soon")]
    )
    def test_refused(self, env, key, value):
        with pytest.raises(ValueError, match=f"{key}|{value}"):
            env.send_param(key, value)
        assert env.in_episode


def test_arguments_by_position():
    with ClientServiceCompilerEnv(
        toy_service(), [Constant()], [ToyDataset()], HELLO, "text", "constant", "Append"
    ) as env:
        assert env.reset() == "hello"
        assert env.step("!")[:2] == ("hello!", 1)
