"""The base of wrappers, around the toy environment."""

import copy
from collections import Counter

import numpy as np
import pytest

from compiler_gym.datasets import Datasets
from compiler_gym.envs import CompilerEnv
from compiler_gym.errors import SessionNotFound
from compiler_gym.service import ClientServiceCompilerEnv
from compiler_gym.wrappers import CompilerEnvWrapper
from tests.service.toy_service import ToyDataset, make_toy_env

APPEND_A, NO_OP, FAIL = 3, 4, 7
ALPHABET = "benchmark://toy-v0/alphabet"


@pytest.fixture
def env():
    with make_toy_env(observation_space="text", reward_space="length") as env:
        yield env


@pytest.fixture
def wrapped(env):
    return CompilerEnvWrapper(env)


class Counting(CompilerEnvWrapper):
    """Counts calls, as wrappers of users do: by way of ``super()``."""

    def __init__(self, env):
        super().__init__(env)
        self.counts = Counter()

    def reset(self, *args, **kwargs):
        self.counts["reset"] += 1
        return super().reset(*args, **kwargs)

    def step(self, action, **kwargs):
        self.counts["step"] += 1
        return super().step(action, **kwargs)

    def fork(self):
        self.counts["fork"] += 1
        return super().fork()

    def render(self, mode="human"):
        self.counts["render"] += 1
        return super().render(mode)

    def close(self):
        self.counts["close"] += 1
        super().close()


def public(*classes: type) -> set[str]:
    """Returns the public names that classes define themselves."""
    return {name for cls in classes for name in vars(cls) if not name.startswith("_")}


def test_everything_of_an_environment_is_defined():
    assert public(*CompilerEnv.__mro__) <= public(CompilerEnvWrapper)
    assert issubclass(CompilerEnvWrapper, CompilerEnv)


class TestMethods:
    def test_super(self, env):
        wrapped = Counting(env)
        assert wrapped.reset(benchmark=ALPHABET) == "abcdefghijklmnopqrstuvwxyz"
        assert wrapped.step(APPEND_A)[0] == "abcdefghijklmnopqrstuvwxyza"
        assert wrapped.render("ansi") == "abcdefghijklmnopqrstuvwxyza"
        wrapped.fork().close()
        with wrapped:
            assert env.in_episode
        assert not env.in_episode
        assert wrapped.counts == {"reset": 1, "step": 1, "render": 1, "fork": 1, "close": 1}

    def test_overrides_may_take_fewer_arguments(self, env):
        class Bare(CompilerEnvWrapper):
            def reset(self):
                return self.env.reset()

            def multistep(self, actions, observation_spaces=None, reward_spaces=None):
                return self.env.multistep(actions, observation_spaces, reward_spaces)

        wrapped = CompilerEnvWrapper(Bare(env))
        assert wrapped.reset() == "hello"
        assert wrapped.step(APPEND_A)[:2] == ("helloa", 6)

    def test_several_actions_given_to_step(self, wrapped):
        wrapped.reset()
        with pytest.deprecated_call():
            assert wrapped.step([APPEND_A, APPEND_A])[0] == "helloaa"

    def test_states(self, env, wrapped):
        wrapped.reset()
        wrapped.step(APPEND_A)
        assert wrapped.state == env.state
        assert wrapped.commandline() == "append-a"
        assert wrapped.commandline_to_actions("append-a no-op") == [APPEND_A, NO_OP]
        state = wrapped.state
        wrapped.reset()
        wrapped.apply(state)
        assert wrapped.actions == [APPEND_A]
        assert wrapped.validate().okay()
        assert wrapped.validate(state).okay()

    def test_seed(self, wrapped):

        def sample(seed):
            assert wrapped.seed(seed) == [seed]
            return [wrapped.action_space.sample() for _ in range(20)]

        assert sample(1) == sample(1) != sample(2)

    def test_require_dataset(self, wrapped):
        wrapped.require_dataset("toy-v0")
        wrapped.require_datasets(["benchmark://toy-v0"])
        with pytest.raises(LookupError):
            wrapped.require_dataset("no-such-v0")

    def test_methods_of_the_class_inside(self, env, wrapped):
        with pytest.raises(SessionNotFound):
            wrapped.send_param("key", "value")
        assert wrapped.service is env.service


class TestProperties:
    def test_reading(self, env, wrapped):
        wrapped.reset()
        names = public(*CompilerEnv.__mro__) - {"episode_walltime"}
        properties = [name for name in names if not callable(getattr(CompilerEnv, name))]
        assert len(properties) > 20
        for name in properties:
            assert getattr(wrapped, name) == getattr(env, name), name
        wrapped = CompilerEnvWrapper(env)
        wrapped.reset()
        assert 0 < wrapped.episode_walltime < env.episode_walltime

    @pytest.mark.parametrize(
        ("name", "value", "read"),
        [
            ("observation_space", "counter", "observation_space_spec"),
            ("observation_space_spec", "counter", "observation_space_spec"),
            ("reward_space", "counter", "reward_space"),
            ("reward_space_spec", "counter", "reward_space_spec"),
            ("benchmark", ALPHABET, "benchmark"),
            ("spec", "a specification", "spec"),
            ("recover", True, "recover"),
        ],
    )
    def test_setting(self, env, name, value, read):
        wrapped = CompilerEnvWrapper(CompilerEnvWrapper(env))
        setattr(wrapped, name, value)
        assert getattr(env, read) == getattr(wrapped, read) == value

    def test_setting_in_an_episode(self, env, wrapped):
        wrapped.action_space = "Append"
        wrapped.reset()
        assert env.action_space.name == "Append"
        wrapped.episode_reward = 7
        assert env.episode_reward == 7

    def test_setting_objects(self, env, wrapped):
        wrapped.datasets = [ToyDataset("benchmark://other-v0")]
        assert isinstance(env.datasets, Datasets)
        assert list(wrapped.datasets) == ["benchmark://other-v0"]
        view = copy.copy(env.observation)
        wrapped.observation = view
        assert env.observation is view
        view = copy.copy(env.reward)
        wrapped.reward = view
        assert env.reward is view

    # Names that wrappers for 0.2.5 use; the environment inside has read-only properties.
    @pytest.mark.parametrize(
        "name", ["action_spaces", "benchmarks", "metadata", "service", "transitions", "versions"]
    )
    def test_own_attributes_replace_read_only_properties(self, env, name):
        class Owner(CompilerEnvWrapper):
            def __init__(self, env):
                super().__init__(env)
                setattr(self, name, ["mine"])

        wrapped = CompilerEnvWrapper(Owner(env))
        assert getattr(wrapped, name) == ["mine"] != getattr(env, name)
        wrapped.reset()
        with wrapped.fork() as fork:
            assert getattr(fork, name) == ["mine"]

    def test_setting_asks_no_property(self, env):
        asked = []

        class Asking(ClientServiceCompilerEnv):
            @property
            def costly(self):
                asked.append("costly")

        env.__class__ = Asking
        wrapped = CompilerEnvWrapper(env)
        wrapped.mine = 1
        wrapped.recover = True
        wrapped.costly = 2
        assert wrapped.costly == 2
        assert not asked

    def test_own_attributes(self, env):
        inner = Counting(env)
        outer = Counting(inner)
        outer.reset()
        inner.note, outer.note = "inner", "outer"
        outer.counts["reset"] += 10
        assert (inner.counts["reset"], outer.counts["reset"]) == (1, 11)
        assert (inner.note, outer.note) == ("inner", "outer")
        assert not hasattr(env, "note")

    def test_private_attributes_are_own(self, wrapped):
        assert not hasattr(wrapped, "_sessions")
        wrapped._sessions = "mine"
        assert wrapped.reset() == "hello"

    def test_attributes_of_wrappers_inside_are_read(self, env):
        inner = Counting(env)
        assert CompilerEnvWrapper(inner).counts is inner.counts
        with pytest.raises(AttributeError, match="no_such"):
            _ = CompilerEnvWrapper(inner).no_such

    def test_property_that_fails_is_not_that_of_the_environment(self, env):
        class Mistaken(CompilerEnvWrapper):
            @property
            def reward_range(self):
                return self.mistyped

        with pytest.raises(AttributeError, match="mistyped"):
            _ = Mistaken(env).reward_range


class Remembering(CompilerEnvWrapper):
    """Has state of several kinds, some of which refers to the environment."""

    def __init__(self, env):
        super().__init__(env)
        self.rng = np.random.default_rng(0)
        self.seen = {"words": ["one"]}
        self.same = self.seen["words"]
        self.proper = env.unwrapped
        self.listener = self.on_step

    def on_step(self):
        return self


class TestFork:
    def test_state_is_its_own(self, env):
        wrapped = Remembering(Counting(env))
        wrapped.reset()
        with wrapped.fork() as fork:
            assert type(fork) is Remembering
            assert type(fork.env) is Counting
            assert fork.seen == wrapped.seen
            fork.same.append("two")
            fork.counts["step"] += 1
            assert fork.seen == {"words": ["one", "two"]}
            assert wrapped.seen == {"words": ["one"]}
            assert wrapped.counts == {"reset": 1, "fork": 1}
            assert fork.rng.random() == wrapped.rng.random()
            fork.step(APPEND_A)
            assert (wrapped.actions, fork.actions) == ([], [APPEND_A])

    def test_references_to_the_environment(self, env):
        wrapped = Remembering(Counting(env))
        wrapped.reset()
        with copy.deepcopy(wrapped) as fork:
            assert fork.proper is fork.unwrapped is not env
            assert fork.listener() is fork

    def test_an_episode_that_has_ended_stays_as_it_is(self, env):
        wrapped = Counting(env)
        wrapped.reset()
        wrapped.step(FAIL)
        assert not wrapped.in_episode
        with wrapped.fork() as fork:
            assert not wrapped.in_episode
            assert not fork.in_episode
            assert fork.actions == wrapped.actions == [FAIL]
            assert wrapped.counts == {"reset": 1, "step": 1, "fork": 1}

    def test_fork_attribute_can_share_a_value(self, env):
        class Logging(Remembering):
            def __init__(self, env):
                super().__init__(env)
                self.log = (line for line in ())

            def fork_attribute(self, name, value, memo):
                return value if name == "log" else super().fork_attribute(name, value, memo)

        wrapped = Logging(env)
        with wrapped.fork() as fork:
            assert fork.log is wrapped.log
            assert fork.seen is not wrapped.seen

    def test_an_attribute_that_cannot_be_copied_fails_the_fork(self, env, wrapped, monkeypatch):
        wrapped.log = (line for line in ())
        forks = []
        fork_of_env = ClientServiceCompilerEnv.fork
        monkeypatch.setattr(
            ClientServiceCompilerEnv,
            "fork",
            lambda self: forks.append(fork_of_env(self)) or forks[-1],
        )
        with pytest.raises(TypeError, match=r"CompilerEnvWrapper\.log.*fork_attribute"):
            wrapped.fork()
        assert [fork.in_episode for fork in forks] == [False]
        assert env.in_episode
