"""Environments that remember where actions lead."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from compiler_gym.service.session.session import Session
from compiler_gym.service.session.transition_cache import DEFAULT_BYTES
from compiler_gym.spaces import Reward
from tests.service.toy_service import HELLO, kill_service, make_toy_env, open_sessions

UPPERCASE, REVERSE, ROTATE, APPEND_A, NO_OP, END = range(6)
THROW, RESTRICT, SLEEP, CRASH = 8, 9, 10, 14
HARMLESS = [UPPERCASE, REVERSE, ROTATE, APPEND_A, NO_OP]


@pytest.fixture(scope="module")
def plain():
    with make_toy_env(benchmark=HELLO, observation_space="text", reward_space="length") as env:
        yield env


@pytest.fixture
def env(plain):
    with make_toy_env(
        benchmark=HELLO,
        observation_space="text",
        reward_space="length",
        service_connection=plain._sessions.connection,
        transition_cache=True,
    ) as env:
        yield env
    plain._sessions.connection.transitions = None


def walk(env, actions):
    env.reset()
    return [env.step(action) for action in actions]


def without_news(results):
    """The results of steps without what only a cache tells."""
    return [
        (*rest, {key: value for key, value in info.items() if key != "transition_was_known"})
        for *rest, info in results
    ]


def known(results):
    return [info["transition_was_known"] for *_, info in results]


def test_nothing_is_asked_of_the_service_while_all_is_known(env):
    walk(env, [APPEND_A, REVERSE])
    env.reset()
    before = open_sessions(env.service)
    walk(env, [APPEND_A, REVERSE])
    assert open_sessions(env.service) == before
    assert env.observation["text"] == "aolleh"


@pytest.mark.parametrize("seed", range(5))
def test_equals_an_environment_without(env, plain, seed):
    chosen = random.Random(seed)
    for _ in range(30):
        plain.reset()
        env.reset()
        for _ in range(chosen.randrange(6)):
            actions = chosen.choices([*HARMLESS[:3], RESTRICT, THROW], k=chosen.randrange(3))
            spaces = chosen.choice([["text"], ["length", "histogram"], ["text", "text"], []])
            results = []
            for each in plain, env:
                try:
                    result = each.multistep(actions, observation_spaces=spaces, reward_spaces=[])
                except Exception as error:
                    result = [type(error), str(error), False, {}]
                results.append(result)
            one, other = results
            np.testing.assert_equal(without_news([one]), without_news([other]))
            if one[2]:
                break
            assert plain.observation["text"] == env.observation["text"]
            assert plain.action_space == env.action_space
        assert plain.in_episode == env.in_episode
        assert plain.actions == env.actions
    assert env.transitions.stats.hits > 20


def test_varying_observations_are_computed_each_time(env):
    walk(env, [APPEND_A])
    walk(env, [APPEND_A])
    first = env.observation["counter"]
    assert env.observation["counter"] == first + 1
    *_, info = env.step(REVERSE, observation_spaces=["text", "counter"])
    assert not info["transition_was_known"]
    env.reset()
    env.step(APPEND_A)
    *_, info = env.step(REVERSE, observation_spaces=["text"])
    assert info["transition_was_known"]
    *_, info = env.step(NO_OP, observation_spaces=["text", "counter"])
    env.reset()
    env.multistep([APPEND_A])
    env.step(REVERSE)
    *_, info = env.step(NO_OP, observation_spaces=["text", "counter"])
    assert not info["transition_was_known"]


def test_observations_of_a_reward_do_not_make_a_step_unknown(env):
    class Asking(Reward):
        def update(self, actions, observations, observation_view):
            return float(observation_view["counter"])

    env.reward.add_space(Asking(name="asking"))
    walk(env, [APPEND_A])
    env.reset()
    *_, info = env.step(APPEND_A, reward_spaces=["asking"])
    assert info["transition_was_known"]


def test_recovers(env):
    env.recover = True
    for _ in range(2):
        env.reset()
        env.step(APPEND_A)
        *_, done, info = env.step(CRASH)
        assert not done
        assert info["recovered"]
    assert env.step(REVERSE)[0] == "aolleh"


def test_after_a_refusal_in_the_middle_nothing_is_assumed(env):
    for _ in range(2):
        env.reset()
        with pytest.raises(ValueError, match="Not an action"):
            env.multistep([APPEND_A, RESTRICT, SLEEP])
        observation, *_, info = env.step(REVERSE)
        assert observation == "aolleh"
        assert not info["transition_was_known"]


def test_an_observation_that_fails_does_not_hide_the_action(env):
    for _ in range(2):
        env.reset()
        env.step(APPEND_A)
        with pytest.raises(TypeError, match="needs another text"):
            env.step(APPEND_A, observation_spaces=["failing"])
        assert env.observation["text"] == "helloaa"
        assert env.actions == [APPEND_A, APPEND_A]
        assert env.step(REVERSE)[0] == "aaolleh"
        with env.fork() as fork:
            assert fork.observation["text"] == "aaolleh"
    assert walk(env, [APPEND_A, APPEND_A, REVERSE])[-1][0] == "aaolleh"


def test_an_observation_that_fails_does_not_hide_a_new_action_space(plain):
    plain.reset()
    with pytest.raises(TypeError, match="needs another text"):
        plain.multistep([APPEND_A, APPEND_A, RESTRICT], observation_spaces=["failing"])
    assert plain.action_space.n == 5
    assert plain.actions == [APPEND_A, APPEND_A, RESTRICT]


def test_parameters_make_transitions_unknown(env):
    walk(env, [APPEND_A])
    env.reset()
    env.send_param("toy.set_sleep_milliseconds", "1")
    assert not env.step(APPEND_A)[3]["transition_was_known"]
    assert env.step(REVERSE)[0] == "aolleh"
    # Nor are those of the next episodes, if they begin with the parameter.
    env.send_param("toy.set_sleep_milliseconds", "1", resend_on_reset=True)
    assert known(walk(env, [APPEND_A])) == [False]
    assert known(walk(env, [APPEND_A])) == [True]


@pytest.mark.parametrize("is_known", [False, True])
def test_forks_share_the_known_transitions(env, is_known):
    for _ in range(1 + is_known):
        results = walk(env, [APPEND_A, REVERSE])
    assert known(results) == [is_known] * 2
    with env.fork() as fork:
        assert fork.transitions is env.transitions
        one = fork.step(ROTATE)
        assert one[0] == "olleha"
        assert env.step(NO_OP)[0] == "aolleh"
        assert without_news([env.step(ROTATE)])[0][:3] == one[:3]
    walk(env, [APPEND_A, REVERSE])
    assert env.step(ROTATE)[3]["transition_was_known"]


@pytest.fixture
def clock(monkeypatch):
    """A clock by which the action "sleep" takes a second, and nothing else takes time."""
    clock = SimpleNamespace(now=0.0)
    step = Session.step

    def timed_step(self, actions, *args):
        clock.now += sum(action.int64_value == SLEEP for action in actions)
        return step(self, actions, *args)

    time = SimpleNamespace(perf_counter=lambda: clock.now)
    monkeypatch.setattr(Session, "step", timed_step)
    monkeypatch.setattr("compiler_gym.service.session.cached_session.time", time)


@pytest.mark.usefixtures("clock")
def test_slow_states_are_copied_rather_than_repeated(env):
    # Each of these comes to the same state, which takes a while, for something unknown.
    for actions in [REVERSE], [ROTATE], [UPPERCASE, REVERSE], [UPPERCASE, ROTATE]:
        results = walk(env, [SLEEP, *actions])
        assert not known(results)[-1]
    stats = env.transitions.stats
    assert stats.snapshots == 1
    repeated = stats.repeated_seconds
    assert walk(env, [SLEEP, APPEND_A])[-1][0] == "helloa"
    assert stats.repeated_seconds == repeated > 0
    before = open_sessions(env.service)
    env.transitions.close()
    env.reset()
    assert open_sessions(env.service) < before


@pytest.mark.usefixtures("clock")
def test_snapshots_end_with_the_connection(caplog):
    env = make_toy_env(benchmark=HELLO, observation_space="text", transition_cache=True)
    for actions in [APPEND_A], [REVERSE], [ROTATE]:
        walk(env, [SLEEP, *actions])
    stats = env.transitions.stats
    assert stats.snapshots
    env.close()
    assert stats.snapshots == 0
    assert not caplog.records


def test_memory_of_the_cache_is_bounded(plain):
    with make_toy_env(benchmark=HELLO, observation_space="text", transition_cache=100_000) as env:
        largest = 0
        for i in range(120):
            walk(env, [HARMLESS[i // 5**k % 5] for k in range(4)])
            largest = max(largest, env.transitions.stats.size)
        assert 50_000 < largest <= 110_000
        assert env.transitions.stats.states < 100
        results = walk(env, [HARMLESS[119 // 5**k % 5] for k in range(4)])
        assert known(results) == [True] * 4


def test_a_service_that_was_lost_is_no_loss():
    with make_toy_env(benchmark=HELLO, observation_space="text", transition_cache=True) as env:
        walk(env, [APPEND_A])
        kill_service(env)
        env.reset()
        assert env.step(APPEND_A)[0] == "helloa"
        assert env.step(REVERSE)[0] == "aolleh"
        assert env.transitions.max_bytes == DEFAULT_BYTES
