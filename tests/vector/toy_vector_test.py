"""Vector environments of a toy service, whose actions take time, crash and hang."""

import contextlib
import gc
import importlib
import os
import signal
import sys
import threading

import gymnasium
import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError

import compiler_gym
from compiler_gym.service import ConnectionOpts
from compiler_gym.wrappers import (
    ActionMask,
    ActionWrapper,
    CompilerEnvWrapper,
    Counter,
    ObservationWrapper,
    RewardWrapper,
    TimeLimit,
    ValidateBenchmarkAfterEveryStep,
)
from tests.processes import descendants, is_running, wait_until
from tests.service.toy_service import make_toy_env, open_sessions

APPEND_A, NO_OP, END, FAIL, RESTRICT, SLEEP, HANG, CRASH = 3, 4, 5, 7, 9, 10, 11, 14
TEXTS = [f"benchmark://toy-v0/{name}" for name in ("hello", "alphabet", "empty")]


@pytest.fixture(params=["direct channel", "gRPC"])
def settings(request):
    return ConnectionOpts(direct_channel=request.param == "direct channel")


@pytest.fixture
def make(toy_id):
    """Makes vector environments whose episodes have begun, and closes them."""
    with contextlib.ExitStack() as stack:

        def make(count, **options):
            envs = stack.enter_context(compiler_gym.make_vec(toy_id, count, **options))
            envs.reset()
            return envs

        yield make


@pytest.fixture
def envs(make, settings):
    return make(3, observation_space="text", connection_settings=settings)


def sleep_for(envs, seconds: list[float]) -> None:
    """Says how long the action "sleep" takes in each environment."""
    for env, duration in zip(envs.envs, seconds, strict=True):
        env.send_param("toy.set_sleep_milliseconds", str(int(duration * 1000)))


def interrupt_when_asleep(envs) -> threading.Thread:
    """Presses Ctrl-C when the first and the last environment are at work, and waited for."""
    working_dir = envs.envs[0].service.service.working_dir
    steps = envs._steps

    def is_time() -> bool:
        is_waiting = {*steps.running} == {0, 2} and {*steps.ready} == {1}
        return is_waiting and (working_dir / "asleep").exists()

    def run() -> None:
        wait_until(is_time)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


class TestInformation:
    def test_of_each(self, make):
        envs = make(2, autoreset_mode="SameStep")
        assert [set(info) for info in envs.single_infos()] == [{"benchmark"}] * 2
        envs.step([END, NO_OP])
        ended, other = envs.single_infos()
        assert set(ended) == {"benchmark", "final_obs", "final_info"}
        assert ended["final_info"] == {"action_had_no_effect": True, "new_action_space": False}
        assert other == {"action_had_no_effect": True, "new_action_space": False}


class TestStableBaselines:
    """With the library: tests/examples/library_trainers_test.py."""

    def test_missing_stable_baselines3(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "stable_baselines3", None)
        monkeypatch.delitem(sys.modules, "compiler_gym.vector.stable_baselines", raising=False)
        with pytest.raises(ImportError, match=r"pip install 'compiler_gym\[sb3\]'"):
            importlib.import_module("compiler_gym.vector.stable_baselines")


@pytest.mark.filterwarnings("error")
class TestWithoutAnObservation:
    """Searches need none; whoever learns asks what there is to see."""

    @pytest.fixture
    def searched(self, toy_id):
        with compiler_gym.make_vec(toy_id, 2, observation_space=None) as envs:
            yield envs

    def test_searches_are_not_warned(self, searched):
        searched.reset(seed=1)
        _, rewards, *_ = searched.step([APPEND_A, NO_OP])
        assert rewards.tolist() == [6, 5]
        searched.send([APPEND_A, NO_OP])
        searched.recv(2)

    @pytest.mark.parametrize("name", ["observation_space", "single_observation_space"])
    def test_learners_are_warned_once(self, searched, name):
        with pytest.warns(UserWarning, match="observation_space="):
            assert getattr(searched, name).shape[-1] == 0
        assert getattr(searched, name).shape[-1] == 0
        searched.reset()

    def test_with_one_nobody_is_warned(self, envs):
        assert envs.single_observation_space == envs.envs[0].observation_space
        assert len(envs.observation_space.spaces) == 3


class TestFailures:
    def test_time_limit(self, envs):
        # Enough for the others, however busy the machine is.
        observations, rewards, terminated, truncated, infos = envs.step([APPEND_A, HANG, NO_OP], 2)
        assert observations == ("helloa", "hello", "hello")
        assert rewards[1] == 0
        assert not terminated.any()
        assert truncated.tolist() == [False, True, False]
        assert infos["error_type"][1] == "TimeoutError"
        assert envs.step([APPEND_A] * 3)[0] == ("helloaa", "hello", "helloa")

    def test_refused_action(self, envs):
        envs.step([RESTRICT, NO_OP, NO_OP])
        with pytest.raises(ValueError, match="Action 7"):
            envs.step([FAIL, APPEND_A, APPEND_A])
        assert envs.step([APPEND_A] * 3)[0][0] == "helloa"


class TestActions:
    @pytest.mark.parametrize(
        ("actions", "error", "text"),
        [
            ([0, 1], ValueError, "3 actions"),
            ([0, 1, 100], ValueError, "range"),
            ([0, -1, 1], ValueError, "range"),
            ([0.5, 1, 1], TypeError, "integers"),
            ([True, False, True], TypeError, "integers"),
            ([[0, 1, 2]], ValueError, "shape"),
            (["append-a", "no-op", "nothing"], ValueError, "nothing"),
            (["append-a", "no-op", 7], ValueError, "'7'"),
        ],
    )
    def test_mistakes(self, make, actions, error, text):
        envs = make(3, observation_space="text")
        with pytest.raises(error, match=text):
            envs.step(actions)
        assert envs.step([APPEND_A] * 3)[0] == ("helloa",) * 3

    def test_other_action_spaces(self, make):
        envs = make(2, observation_space="text", action_space="Append")
        assert envs.step(("!", "?"))[0] == ("hello!", "hello?")
        envs.send(["a"], [1])
        assert envs.recv()[0] == ("hello?a",)


class TestAsynchronous:
    def test_fast_ones_do_not_wait(self, envs):
        sleep_for(envs, [1000, 0, 0])
        envs.send([SLEEP, APPEND_A, APPEND_A])
        for _ in range(5):
            ids = []
            while len(ids) < 2:
                observations, rewards, terminated, truncated, infos = envs.recv()
                ids += infos["env_id"].tolist()
                rows = len(infos["env_id"])
                assert len(observations) == len(rewards) == len(terminated) == len(truncated)
                assert infos["action_had_no_effect"].shape == (rows,)
            assert sorted(ids) == [1, 2]
            envs.send([APPEND_A, APPEND_A], ids)
        envs.recv(min_ready=2)
        for env in envs.envs[1:]:
            assert env.observation["text"] == "hello" + 6 * "a"
        envs.reset()  # Does not wait for the other.

    def test_rows(self, toy_id):
        with compiler_gym.make_vec(toy_id, 3) as envs:
            envs.reset(options={"benchmark": TEXTS})
            envs.send([APPEND_A, APPEND_A], [2, 0])
            observations, rewards, *_, infos = envs.recv(min_ready=2)
            row = dict(zip(infos["env_id"].tolist(), range(2), strict=True))
            assert (rewards[row[0]], rewards[row[2]]) == (6, 1)
            assert (observations[row[0]].sum(), observations[row[2]].sum()) == (6, 1)
            _, infos = envs.reset(options={"benchmark": TEXTS[1]})
            assert infos["benchmark"].tolist() == TEXTS[1:2] * 3

    def test_next_step(self, envs):
        envs.send([END, APPEND_A, APPEND_A])
        envs.recv(min_ready=3)
        envs.send([APPEND_A] * 2, [0, 1])
        observations, rewards, *_, infos = envs.recv(min_ready=2)
        row = infos["env_id"].tolist().index(0)
        assert observations[row] == "hello"
        assert rewards[row] == 0
        assert infos["_benchmark"].tolist() == [number == 0 for number in infos["env_id"]]

    def test_mistakes(self, envs):
        with pytest.raises(ValueError, match="wait for 1"):
            envs.recv()
        envs.send([NO_OP], [1])
        with pytest.raises(AlreadyPendingCallError, match="Environment 1"):
            envs.send([NO_OP], [1])
        with pytest.raises(AlreadyPendingCallError, match="recv"):
            envs.step([NO_OP] * 3)
        with pytest.raises(ValueError, match="wait for 2"):
            envs.recv(min_ready=2)
        with pytest.raises(ValueError, match="max_ready=0"):
            envs.recv(max_ready=0)
        envs.recv()
        for number in (3, -1):
            with pytest.raises(IndexError, match=rf"from 0 to 2, got \[{number}\]"):
                envs.send([NO_OP], [number])
        with pytest.raises(TypeError, match="float"):
            envs.send([NO_OP], [0.5])
        with pytest.raises(ValueError, match="different"):
            envs.send([NO_OP, NO_OP], [1, 1])

    def test_reset_of_those_that_make_steps(self, envs):
        sleep_for(envs, [1000, 1000, 0])
        envs.send([SLEEP, SLEEP, APPEND_A])
        envs.reset(options={"reset_mask": np.array([True, False, False])})
        assert envs.recv()[4]["env_id"].tolist() == [2]
        envs.reset()
        assert envs.step([APPEND_A] * 3)[0] == ("helloa",) * 3


def test_programs_are_taken_in_the_order_of_environments(make):
    envs = make(2, benchmarks=TEXTS, autoreset_mode="SameStep", max_episode_steps=1)
    sleep_for(envs, [0.5, 0])
    envs.step([SLEEP, SLEEP])
    programs = [str(env.benchmark) for env in envs.get_attr("compiler_env")]
    assert programs == [TEXTS[2], TEXTS[0]]


def test_unknown_autoreset_mode(toy_id, monkeypatch):
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with pytest.raises(ValueError, match=r"'Same'.*'SameStep'"):
        compiler_gym.make_vec(toy_id, autoreset_mode="Same")
    gc.collect()
    assert ignored == []


class TestInterrupt:
    @pytest.mark.parametrize("call", ["step", "recv"])
    def test_no_result_is_lost(self, envs, call):
        sleep_for(envs, [1000, 0, 1000])
        thread = interrupt_when_asleep(envs)
        with pytest.raises(KeyboardInterrupt):
            if call == "step":
                envs.step([SLEEP, APPEND_A, SLEEP])
            else:
                envs.send([SLEEP, APPEND_A, SLEEP])
                envs.recv(min_ready=3)
        thread.join()
        (envs.envs[0].service.service.working_dir / "released").touch()
        observations, _, terminated, truncated, infos = envs.recv(min_ready=3)
        assert sorted(infos["env_id"]) == [0, 1, 2]
        assert sorted(observations) == ["hello", "hello", "helloa"]
        assert not (terminated | truncated).any()
        assert envs.step([APPEND_A] * 3)[0] == ("helloa", "helloaa", "helloa")


class TestClose:
    def test_nothing_is_left(self, toy_id):
        envs = compiler_gym.make_vec(toy_id, 3)
        envs.reset()
        pid = envs.envs[0].service.service.pid
        processes = [pid, *descendants(pid)]
        sleep_for(envs, [1000, 1000, 1000])
        envs.send([SLEEP, HANG, CRASH])
        envs.close()
        envs.close()
        wait_until(lambda: not any(map(is_running, processes)))
        with pytest.raises(ClosedEnvironmentError):
            envs.step([NO_OP] * 3)
        with pytest.raises(ClosedEnvironmentError):
            envs.reset()

    def test_descriptors(self, toy_id, settings):
        def play():
            with compiler_gym.make_vec(toy_id, 3, connection_settings=settings) as envs:
                for _ in range(3):
                    envs.reset()
                    envs.step([APPEND_A, NO_OP, CRASH])
            gc.collect()

        def count():
            return len(os.listdir("/proc/self/fd"))

        play()
        before = count()
        for _ in range(2):
            play()
        # gRPC closes some a little later.
        wait_until(lambda: count() <= before + 2)

    def test_deleted(self, toy_id):
        envs = compiler_gym.make_vec(toy_id, 2)
        envs.reset()
        pid = envs.envs[0].service.service.pid
        del envs
        gc.collect()
        wait_until(lambda: not is_running(pid))

    def test_sessions(self, toy_id):
        """Episodes that have ended have no session any more."""
        with compiler_gym.make_vec(toy_id, 3) as envs:
            for _ in range(5):
                envs.reset()
                envs.step([APPEND_A, END, NO_OP])
                envs.step([APPEND_A, NO_OP, NO_OP])
            wait_until(lambda: open_sessions(envs.envs[0].service) <= 3)


class TestArrays:
    @pytest.mark.parametrize("copy", [True, False])
    def test_copy(self, toy_id, copy):
        with compiler_gym.make_vec(toy_id, 2, copy=copy) as envs:
            first, _ = envs.reset()
            one = envs.step([APPEND_A, NO_OP])
            two = envs.step([APPEND_A, NO_OP])
            assert (first is two[0]) is not copy
            assert (one[0] is two[0]) is not copy
            assert [old is new for old, new in zip(one[1:4], two[1:4], strict=True)] == [
                not copy
            ] * 3
            assert two[0].sum(axis=1).tolist() == [7, 5]
            if copy:
                assert one[0].sum(axis=1).tolist() == [6, 5]
                assert one[1].tolist() == [6, 5]

    @pytest.mark.filterwarnings("ignore:.*is for the episode that the next")
    def test_attributes(self, envs):
        assert envs.get_attr("benchmark") == tuple(envs.call("benchmark"))
        envs.set_attr("benchmark", TEXTS)
        assert envs.reset()[0] == ("hello", "abcdefghijklmnopqrstuvwxyz", "")
        with pytest.raises(ValueError, match="3 values"):
            envs.set_attr("benchmark", TEXTS[:2])
        assert envs.call("commandline") == ("", "", "")


class TestOptions:
    @pytest.mark.parametrize(
        ("kwargs", "error", "text"),
        [
            ({"num_envs": 0}, ValueError, "num_envs"),
            ({"num_envs": 1.5}, TypeError, "float"),
            ({"max_episode_steps": 0}, ValueError, "max_episode_steps"),
            ({"benchmarks": TEXTS, "benchmark": TEXTS[0]}, TypeError, "either benchmark"),
        ],
    )
    def test_of_make_vec(self, toy_id, kwargs, error, text):
        with pytest.raises(error, match=text):
            compiler_gym.make_vec(toy_id, **kwargs)

    @pytest.mark.parametrize(
        ("kwargs", "error", "text"),
        [
            ({"options": {"observation_space": "text"}}, ValueError, "observation_space"),
            ({"options": {"reset_mask": [True] * 3}}, TypeError, "reset_mask"),
            ({"options": {"reset_mask": np.ones(3)}}, TypeError, "reset_mask"),
            ({"options": {"reset_mask": np.zeros(3, bool)}}, ValueError, "true somewhere"),
            ({"options": {"reset_mask": np.ones(2, bool)}}, ValueError, r"\(3,\)"),
            ({"options": {"benchmark": TEXTS[:2]}}, ValueError, "3 benchmarks"),
            ({"seed": [1, 2]}, ValueError, "3 seeds"),
        ],
    )
    def test_of_reset(self, toy_id, kwargs, error, text):
        with compiler_gym.make_vec(toy_id, 3) as envs, pytest.raises(error, match=text):
            envs.reset(**kwargs)

    def test_seeds_of_numpy(self, make):
        envs, drawn = make(2), []
        for seed in (5, np.int64(5)):
            envs.reset(seed=seed)
            drawn.append([each.random() for each in (envs.np_random, envs.envs[1].np_random)])
        assert drawn[0] == drawn[1]

    def test_time_limit_of_reset(self, make, settings):
        settings.init_max_attempts = 1
        envs = make(2, connection_settings=settings)
        service = envs.envs[0].service.service
        processes = descendants(service.pid)
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(OSError, match="time limit"):
                envs.reset(options={"timeout": 0.2})
        finally:
            for pid in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        envs.reset()
        assert envs.step([APPEND_A] * 2)[1].tolist() == [6, 6]

    def test_registered_limit(self, register_for_test):
        register_for_test(
            "limited-v0", entry_point="tests.service.toy_service:make_toy_env", max_episode_steps=2
        )
        for make_vec in (compiler_gym.make_vec, gymnasium.make_vec):
            with make_vec("limited-v0", num_envs=2) as envs:
                envs.reset()
                assert not envs.step([NO_OP] * 2)[3].any()
                assert envs.step([NO_OP] * 2)[3].all()
        with compiler_gym.make_vec("limited-v0", 1, max_episode_steps=-1) as envs:
            envs.reset()
            assert not any(envs.step([NO_OP])[3].any() for _ in range(3))


class Shouting(ObservationWrapper):
    def convert_observation(self, observation):
        return observation.upper()


class Shifted(ActionWrapper):
    def action(self, action):
        return action - 1


class Doubled(RewardWrapper):
    def convert_reward(self, reward):
        return 2 * reward


class Twice(CompilerEnvWrapper):
    """Knows nothing of steps that are made at the same time."""

    def multistep(self, actions, *args, **kwargs):
        return super().multistep([*actions, *actions], *args, **kwargs)


class TestWrappers:
    def test_divided_steps(self, make):
        wrappers = [Shouting, Shifted, Doubled, lambda env: TimeLimit(env, 2)]
        envs = make(2, observation_space="text", wrappers=wrappers)
        sleep_for(envs, [0, 1000])
        envs.send([APPEND_A + 1, SLEEP + 1])
        observations, rewards, *_, infos = envs.recv()
        assert infos["env_id"].tolist() == [0]
        assert observations == ("HELLOA",)
        assert rewards.tolist() == [12]
        (envs.envs[0].service.service.working_dir / "released").touch()
        assert envs.recv()[0] == ("HELLO",)
        assert envs.step([NO_OP + 1] * 2)[3].all()
        assert envs.envs[0].episode_reward == 12

    @pytest.mark.filterwarnings("ignore:Twice overrides")
    def test_entry_points_that_wrap(self, register_for_test):
        register_for_test("wrapped-v0", entry_point=make_wrapped_env)
        with compiler_gym.make_vec("wrapped-v0", 2) as envs:
            envs.reset()
            assert envs.step([APPEND_A] * 2)[0] == ("helloaa",) * 2


def make_wrapped_env(**kwargs):
    return Twice(make_toy_env(observation_space="text", **kwargs))


class TwiceWithMask(ActionMask):
    """Derives from a class with begin_multistep(), which lacks the changes of this class."""

    def multistep(self, actions, *args, **kwargs):
        return super().multistep([*actions, *actions], *args, **kwargs)


class TestStepsThatBegin:
    @pytest.mark.parametrize("wrapper", [Twice, TwiceWithMask])
    def test_wrapper_that_prevents_it(self, toy_id, wrapper):
        with pytest.warns(UserWarning, match=wrapper.__name__):
            envs = compiler_gym.make_vec(toy_id, 2, wrappers=[Counter, wrapper, Counter])
        with envs:
            envs.reset()
            assert envs.step([APPEND_A] * 2)[1].tolist() == [7, 7]

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(
        "wrap",
        [ActionMask, Counter, ValidateBenchmarkAfterEveryStep, lambda env: TimeLimit(env, 9)],
    )
    def test_wrappers_of_the_package(self, make, wrap):
        envs = make(2, wrappers=[wrap, wrap], observation_space="text")
        sleep_for(envs, [60, 0])
        envs.send([SLEEP, APPEND_A])  # Does not wait.
        observations, rewards, *_, infos = envs.recv()
        assert infos["env_id"].tolist() == [1]
        assert (observations, rewards.tolist()) == (("helloa",), [6])
