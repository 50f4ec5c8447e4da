"""Vector environments of LLVM, beside single ones and beside those of gymnasium."""

import contextlib
import threading
from copy import deepcopy
from functools import cache, partial

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, iterate

import compiler_gym
from compiler_gym.envs.llvm.graph_tensors import NODE_WORDS, graph_tensors
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.vector import CompilerVectorEnv
from compiler_gym.wrappers import ActionMask, ObservationWrapper, RuntimePointEstimateReward
from tests.processes import descendants
from tests.vector.same_results import assert_same

ID = "llvm-autophase-ic-v0"
KERNELS = [f"benchmark://kernels-v0/{name}" for name in ("fft", "life", "sha256")]
COUNT = 3


def sync_env(count=COUNT, mode="NextStep", **kwargs):
    """Gymnasium's own vector environment of the same environments."""
    return gymnasium.make_vec(
        ID,
        num_envs=count,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        **kwargs,
    )


@cache
def number_of_actions():
    with compiler_gym.make(ID) as env:
        return env.action_space.n


class GymnasiumGraphs(ObservationWrapper):
    """Program graphs as values of gymnasium's own space."""

    def __init__(self, env):
        super().__init__(env)
        env.observation_space = "ProgramlArrays"

    @property
    def observation_space(self):
        return spaces.Graph(spaces.Discrete(len(NODE_WORDS)), spaces.Discrete(3))

    def convert_observation(self, observation):
        tensors = graph_tensors(observation)
        links = tensors["edge_index"].T.astype(np.int32)
        return spaces.GraphInstance(tensors["x"], tensors["edge_type"], links)


def random_actions(steps, count=COUNT, seed=0):
    return np.random.default_rng(seed).integers(number_of_actions(), size=(steps, count))


def play(envs, actions, **kwargs):
    results = [envs.reset(seed=5, **kwargs)]
    return results + [envs.step(row) for row in actions]


class TestResults:
    @pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
    def test_those_of_gymnasium(self, mode):
        actions = random_actions(12)
        arguments = {"max_episode_steps": 4, "benchmarks": KERNELS, "random_benchmarks": True}
        with (
            contextlib.closing(sync_env(mode=mode, **arguments)) as expected,
            compiler_gym.make_vec(ID, COUNT, autoreset_mode=mode, **arguments) as envs,
        ):
            assert_same(play(envs, actions), play(expected, actions))

    @pytest.mark.parametrize(
        "spaces",
        [
            {"observation_space": "Ir"},
            {"observation_space": "InstCountDict"},
            {"observation_space": "Inst2vecEmbeddingIndices"},
            {"observation_space": "ProgramlArrays"},
            {"observation_space": "IrInstructionCount", "reward_space": "ObjectTextSizeOz"},
            {"observation_space": None},
        ],
    )
    def test_other_spaces(self, spaces):
        actions = random_actions(5)
        arguments = {"max_episode_steps": 3, **spaces}
        with (
            contextlib.closing(sync_env(**arguments)) as expected,
            compiler_gym.make_vec(ID, COUNT, **arguments) as envs,
        ):
            assert envs.observation_space == expected.observation_space
            assert_same(play(envs, actions), play(expected, actions))

    @pytest.mark.parametrize("name", ["ProgramlArrays", "Inst2vecEmbeddingIndices"])
    def test_values_of_different_lengths(self, name):
        """Rows of ready environments and of the ends of episodes are those of single ones."""
        arguments = {"observation_space": name}
        with compiler_gym.make("llvm-ic-v0", **arguments) as env:
            env.reset(benchmark=KERNELS[2])
            expected = env.step("function(sroa)")[0]
        arguments |= {"max_episode_steps": 1, "autoreset_mode": "SameStep"}
        with compiler_gym.make_vec("llvm-ic-v0", COUNT, **arguments) as envs:
            before, _ = envs.reset(options={"benchmark": KERNELS})
            kept = deepcopy(before)
            envs.send(["function(sroa)"], [2])
            observations, *_, infos = envs.recv()
            assert_same(before, kept)
            assert_same(infos["final_obs"][0], expected)
            assert infos["env_id"].tolist() == [2]
            (row,) = iterate(batch_space(envs.single_observation_space, 1), observations)
            assert row in envs.single_observation_space
            rows = iterate(batch_space(envs.single_observation_space, COUNT), before)
            assert_same(row, [*rows][2])

    def test_graphs_of_gymnasium(self):
        arguments = {"wrappers": [GymnasiumGraphs], "max_episode_steps": 1}
        with (
            contextlib.closing(sync_env(**arguments)) as expected,
            compiler_gym.make_vec(ID, COUNT, **arguments) as envs,
        ):
            assert envs.observation_space == expected.observation_space
            for ours, theirs in zip(
                *(play(each, random_actions(2)) for each in (envs, expected)), strict=True
            ):
                assert ours[0] in envs.observation_space
                assert_same([*map(tuple, ours[0])], [*map(tuple, theirs[0])])

    def test_known_transitions(self):
        actions = random_actions(6)
        with (
            compiler_gym.make_vec(ID, COUNT, max_episode_steps=3) as plain,
            compiler_gym.make_vec(ID, COUNT, max_episode_steps=3, transition_cache=True) as envs,
        ):
            for was_known in (False, True):
                expected, results = play(plain, actions), play(envs, actions)
                assert results[1][4].pop("transition_was_known").all() == was_known
                del results[1][4]["_transition_was_known"]
                assert_same(results[1], expected[1])
                assert_same(results[-1][:4], expected[-1][:4])


class TestProgramsThatDoNotCompile:
    @pytest.fixture
    def wrong(self, tmp_path):
        path = tmp_path / "wrong.ll"
        path.write_text("define nothing")
        return path.as_uri()

    def test_others_have_begun(self, wrong):
        with compiler_gym.make_vec(ID, COUNT) as envs:
            programs = [KERNELS[0], wrong, KERNELS[2]]
            with pytest.raises(BenchmarkInitError, match=f"Environment 1: .*{wrong}"):
                envs.reset(options={"benchmark": programs})
            with pytest.raises(ResetNeeded):
                envs.step([0] * COUNT)
            only = np.array([False, True, False])
            envs.reset(options={"benchmark": KERNELS[1], "reset_mask": only})
            envs.step([0] * COUNT)
            assert [str(env.benchmark) for env in envs.get_attr("compiler_env")] == KERNELS

    def test_all_are_named(self, wrong):
        with compiler_gym.make_vec(ID, COUNT) as envs:
            with pytest.raises(BenchmarkInitError) as error:
                envs.reset(options={"benchmark": [wrong, KERNELS[0], "benchmark://none-v0"]})
            first, second = str(error.value).split("\nEnvironment 2")
            assert first.startswith(f"Environment 0: Cannot use the benchmark {wrong}")
            assert "benchmark://none-v0" in second

    @pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
    def test_later_episodes(self, wrong, mode):
        programs = [KERNELS[0], KERNELS[1], KERNELS[2], wrong]
        with compiler_gym.make_vec(
            ID, 2, autoreset_mode=mode, max_episode_steps=1, benchmarks=programs
        ) as envs:
            envs.reset()
            with pytest.raises(BenchmarkInitError, match=f"Environment 1: .*{wrong}"):
                for _ in range(2):
                    envs.step([0, 0])
            envs.step([0, 0])  # The next one of the list.

    def test_no_other_program_is_named(self):
        unknown = "benchmark://kernels-v0/sha257"
        with compiler_gym.make_vec(ID, 2, benchmarks=[*KERNELS[:2], unknown]) as envs:
            envs.reset()
            with pytest.raises(LookupError) as error:
                envs.reset()
            assert str(error.value).startswith(f"Environment 0: There is no benchmark '{unknown}'")
            assert KERNELS[0] not in str(error.value)


class TestAutoreset:
    def test_disabled(self):
        actions = random_actions(3)
        with (
            contextlib.closing(sync_env(mode="Disabled", max_episode_steps=3)) as expected,
            compiler_gym.make_vec(
                ID, COUNT, autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=3
            ) as envs,
        ):
            assert_same(play(envs, actions), play(expected, actions))
            with pytest.raises(gymnasium.error.ResetNeeded, match="reset_mask"):
                envs.step(actions[0])
            for mask in ([True, False, True], [False, True, False]):
                options = {"reset_mask": np.array(mask)}
                assert_same(envs.reset(options=options), expected.reset(options=dict(options)))
            assert_same(envs.step(actions[0]), expected.step(actions[0]))


class TestGymnasium:
    def test_make_vec(self):
        arguments = {"max_episode_steps": 2, "benchmark": KERNELS[0]}
        with gymnasium.make_vec(ID, num_envs=2, **arguments) as envs:
            assert type(envs) is CompilerVectorEnv
            spec = envs.spec
        with gymnasium.make_vec(spec) as envs:
            assert type(envs) is CompilerVectorEnv
            assert repr(envs) == f"CompilerVectorEnv({ID}, num_envs=2)"
            envs.reset(seed=1)
            actions = random_actions(2, 2)
            assert not envs.step(actions[0])[3].any()
            assert envs.step(actions[1])[3].all()

    def test_statistics(self):
        actions = random_actions(6, 2)
        with compiler_gym.make_vec(ID, 2, max_episode_steps=2) as envs:
            wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
            wrapped.reset(seed=1)
            rewards = [wrapped.step(row) for row in actions[:2]]
            infos = rewards[1][4]
            assert infos["_episode"].all()
            assert infos["episode"]["l"].tolist() == [2, 2]
            total = rewards[0][1] + rewards[1][1]
            np.testing.assert_allclose(infos["episode"]["r"], total)


class TestWrappers:
    @pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
    def test_action_masks(self, mode):
        """Batched ``info`` has rows for the keys that a wrapper adds on resets and steps."""
        with compiler_gym.make_vec(
            ID, 2, mode, wrappers=[ActionMask], benchmark=KERNELS[0], max_episode_steps=3
        ) as envs:
            shape = (2, envs.single_action_space.n)
            idle = envs.single_action_space["function(div-rem-pairs)"]
            _, infos = envs.reset()
            assert infos["action_mask"].shape == shape
            assert infos["action_mask"].all()
            *_, infos = envs.step([idle, idle])
            assert infos["action_had_no_effect"].all()
            assert infos["action_mask"].shape == shape
            assert not infos["action_mask"][:, idle].any()
            for _ in range(3 if mode == "NextStep" else 2):  # Into the next episode.
                *_, infos = envs.step([idle, idle])
            assert infos["action_mask"].all()
            assert infos["benchmark"].tolist() == [KERNELS[0]] * 2

    @pytest.mark.parametrize(
        "convert", [lambda seen: seen / 3, lambda seen: seen[:1], lambda seen: seen[:9]]
    )
    def test_observations_of_another_space_are_refused(self, convert):
        """As by gymnasium: to round or to repeat them would be wrong in silence."""

        class Undeclared(ObservationWrapper):
            def convert_observation(self, observation):
                return convert(observation)

        with (
            compiler_gym.make_vec(ID, 2, wrappers=[Undeclared]) as envs,
            pytest.raises(
                TypeError, match=r"expected observations of shape \(56,\) and type int64"
            ),
        ):
            envs.reset()

    def test_numbers_of_a_smaller_type(self):
        class Shorter(ObservationWrapper):
            def convert_observation(self, observation):
                return observation.astype(np.int16)

        with compiler_gym.make_vec(ID, 2, wrappers=[Shorter]) as envs:
            observations, _ = envs.reset()
            assert observations.dtype == np.int64 and observations[0, 51] > 0


class TestProcesses:
    def test_one_service(self):
        """All sessions are of one service, and there are neither Python processes nor threads."""
        with compiler_gym.make_vec(ID, 4) as envs:
            envs.reset()
            envs.step(random_actions(1, 4)[0])
            services = {env.service.service.pid for env in envs.envs}
            assert len(services) == 1
            threads = threading.active_count()
            envs.step(random_actions(1, 4)[0])
            assert threading.active_count() == threads
            (pid,) = services
            processes = [pid, *descendants(pid)]
            assert len(processes) >= 5
        with compiler_gym.make(ID) as env:
            env.reset()
            assert threading.active_count() <= threads


LOGGING = """
#include <fcntl.h>
#include <unistd.h>
int main() {
  int file = open("LOG", O_WRONLY | O_CREAT | O_APPEND, 0644);
  write(file, "(", 1);
  usleep(50000);
  write(file, ")", 1);
}
"""


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_one_measurement_at_a_time(tmp_path, mode):
    """Programs that run at the same time would share the processor."""
    log = tmp_path / "log"
    (tmp_path / "program.c").write_text(LOGGING.replace("LOG", str(log)))
    program = compiler_gym.benchmark(tmp_path / "program.c", confined=False)
    with compiler_gym.make_vec(
        "llvm-v0",
        COUNT,
        benchmark=program,
        autoreset_mode=mode,
        max_episode_steps=2,
        wrappers=[partial(RuntimePointEstimateReward, runtime_count=1, warmup_count=0)],
    ) as envs:
        envs.reset(seed=1)
        for _ in range(4):
            envs.step(["sroa"] * COUNT)
    assert log.read_text() == "()" * (len(log.read_text()) // 2)
    assert log.read_text().count("(") > 3 * COUNT
