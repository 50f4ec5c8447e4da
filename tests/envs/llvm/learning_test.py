import copy

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import compiler_gym
from compiler_gym.datasets.parts import TEST_KERNELS
from compiler_gym.envs import GymnasiumEnv
from compiler_gym.util import llvm_tools
from compiler_gym.wrappers import AutophaseNorm, LastActions
from tests.effort import sample

# The default observation and reward of each environment of compiler_gym.make().
SPACES = {
    "llvm-v0": (None, None),
    "llvm-ic-v0": (None, "IrInstructionCountOz"),
    "llvm-codesize-v0": (None, "ObjectTextSizeOz"),
    "llvm-autophase-ic-v0": ("Autophase", "IrInstructionCountOz"),
    "llvm-autophase-codesize-v0": ("Autophase", "ObjectTextSizeOz"),
    "llvm-ir-ic-v0": ("Ir", "IrInstructionCountOz"),
    "llvm-ir-codesize-v0": ("Ir", "ObjectTextSizeOz"),
    "llvm-pieces-ic-v0": ("Autophase", "IrInstructionCountOz"),
    "llvm-inline-v0": ("InlineFeatures", "ObjectTextSizeNorm"),
    "llvm-regalloc-v0": ("EvictionFeatures", "ObjectTextSizeNorm"),
    "llvm-inline-regalloc-v0": ("DecisionFeatures", "ObjectTextSizeNorm"),
}
# The checker takes actions without looking at the mask, and these refuse some.
WITH_MASK = ("llvm-regalloc-v0", "llvm-inline-regalloc-v0")


def test_ids():
    ids = [id for id in compiler_gym.COMPILER_GYM_ENVS if id.startswith("llvm-")]
    assert sorted(ids) == sorted(SPACES)


@pytest.mark.parametrize("id", sample([id for id in SPACES if id not in WITH_MASK], 3))
@pytest.mark.filterwarnings("error")
def test_checker_of_gymnasium(id):
    with gymnasium.make(id) as env:
        check_env(env)


class TestWhatIsLearntFrom:
    @pytest.mark.parametrize("id", SPACES)
    def test_every_environment_has_an_observation_and_a_reward(self, id):
        observation, reward = SPACES[id]
        with compiler_gym.make(id) as classic:
            assert classic.observation_space_spec == observation
            assert classic.reward_space == reward
        with gymnasium.make(id) as env:
            assert env.observation_space_spec == (observation or "Autophase")
            assert env.reward_space == (reward or "IrInstructionCountOz")
            observation, _ = env.reset()
            assert observation in env.observation_space
            assert len(observation) > 0
            if "mem2reg" in env.action_space.names:
                assert env.step(env.action_space["mem2reg"])[1] > 0

    def test_none_gives_a_warning(self):
        with gymnasium.make("llvm-v0", observation_space=None, reward_space=None) as env:
            with pytest.warns(UserWarning, match="observation_space="):
                assert env.reset()[0].shape == (0,)
            action = env.action_space["gvn"]
            with pytest.warns(UserWarning, match="reward_space="):
                assert env.step(action)[1] == 0

    @pytest.mark.filterwarnings("error")
    def test_warnings_are_given_once_and_not_without_need(self):
        with compiler_gym.make("llvm-v0") as classic:
            env = GymnasiumEnv(classic)
            with pytest.warns(UserWarning, match="no default observation"):
                env.reset()
            env.reset()
            # What is asked for by name is not nothing.
            env.step(env.action_space["gvn"], reward_spaces=["IrInstructionCount"])
            env.reward_space = "IrInstructionCount"
            env.step(env.action_space["gvn"])


class TestWrappers:
    @pytest.mark.parametrize("make", [compiler_gym.make, gymnasium.make])
    def test_wrappers_are_put_around_in_their_order(self, make):
        """Inside of the limit of steps, as in vector environments."""
        env = make(
            "llvm-autophase-ic-v0",
            max_episode_steps=2,
            benchmarks="kernels-v0",
            wrappers=[AutophaseNorm, lambda env: LastActions(env, 1)],
        )
        with env:
            assert env.observation_space.shape == (56 + env.action_space.n,)
            result = env.reset()
            observation = result if make is compiler_gym.make else result[0]
            assert observation in env.observation_space
            assert str(env.unwrapped.benchmark).startswith("benchmark://kernels-v0/")
            env.step(env.action_space["mem2reg"])
            *_, is_over, info = env.step(env.action_space["mem2reg"])
            assert is_over
            assert info.get("TimeLimit.truncated", True)

    def test_failing_trainer_leaves_no_process(self):
        made = []

        def fail(env):
            env.reset()
            made.append(env.service)
            raise ValueError("No")

        with pytest.raises(ValueError, match="No"):
            compiler_gym.make("llvm-autophase-ic-v0", wrappers=[fail])
        assert made[0].closed


class TestCopies:
    def test_deepcopy_is_a_fork(self):
        with gymnasium.make("llvm-autophase-ic-v0", max_episode_steps=3) as env:
            env.reset()
            env.step(env.action_space["mem2reg"])
            with copy.deepcopy(env) as clone:
                assert clone.actions == env.actions
                action = env.action_space["gvn"]
                np.testing.assert_array_equal(clone.step(action)[0], env.step(action)[0])
                # Of the three steps that an episode has.
                assert clone.step(action)[3]

    def test_processes(self):
        envs = gymnasium.make_vec(
            "llvm-autophase-ic-v0",
            num_envs=2,
            vectorization_mode="async",
            vector_kwargs={"context": "spawn"},
            max_episode_steps=2,
        )
        try:
            assert isinstance(envs, gymnasium.vector.AsyncVectorEnv)
            observations, info = envs.reset(seed=1)
            assert observations in envs.observation_space
            assert len(set(info["benchmark"])) == 1
            with compiler_gym.make("llvm-autophase-ic-v0") as env:
                env.reset()
                actions = [env.action_space["mem2reg"], env.action_space["gvn"]]
            observations, rewards, *_ = envs.step(np.array(actions))
            assert observations in envs.observation_space
            assert rewards[0] > 0
            assert envs.step(np.array(actions))[3].all()
        finally:
            envs.close()


class TestObservations:
    def test_checker_of_graphs(self):
        arguments = {"benchmark": "kernels-v0/fft", "observation_space": "Programl"}
        with gymnasium.make("llvm-v0", **arguments) as env:
            first, second = (env.reset(seed=1)[0] for _ in range(2))
            assert first == second and first is not second and hash(first) == hash(second)
            assert env.step(env.unwrapped.action_space["sroa"])[0] != first
            check_env(env.unwrapped, skip_render_check=True, skip_close_check=True)

    def test_lost_session(self):
        values = {
            "Ir": "",
            "IrSha1": "0" * 40,
            "Bitcode": np.zeros(0, np.int8),
            "BitcodeFile": "",
            "Ir2vec": np.zeros(75 if llvm_tools.llvm_version() >= 22 else 0),
            "Runtime": np.zeros(0),
        }
        with gymnasium.make("llvm-v0") as env:
            for name, value in values.items():
                env.reset()
                env.observation_space = name
                observation = env.step(env.action_space["gvn"], timeout=1e-6)[0]
                assert observation in env.observation_space
                np.testing.assert_array_equal(observation, value)
                env.observation_space = "Autophase"


KERNELS = [f"benchmark://kernels-v0/{name}" for name in ("fft", "life", "sha256")]


def visits(env, count, **kwargs):
    """The programs of the next episodes, of which the first may be seeded."""
    visited = [env.reset(**kwargs)[1]["benchmark"]]
    visited += [env.reset()[1]["benchmark"] for _ in range(count - 1)]
    return visited


class TestBenchmarks:
    def test_iterator(self):
        with gymnasium.make("llvm-ic-v0", benchmarks=(uri for uri in KERNELS[:2])) as env:
            assert visits(env, 2) == KERNELS[:2]
            with pytest.raises(StopIteration):
                env.reset()

    @pytest.mark.parametrize("name", ["kernels-v0", "benchmark://kernels-v0"])
    def test_dataset(self, name):
        with gymnasium.make("llvm-ic-v0", benchmarks=name) as env:
            expected = list(env.datasets[name].benchmark_uris())
            assert visits(env, len(expected) + 1) == [*expected, expected[0]]

    @pytest.mark.parametrize("benchmarks", [KERNELS, "kernels-v0"], ids=["list", "dataset"])
    def test_random(self, benchmarks):
        with gymnasium.make("llvm-v0", benchmarks=benchmarks, random_benchmarks=True) as env:
            first = visits(env, 8, seed=1)
            assert visits(env, 8, seed=1) == first
            assert visits(env, 8, seed=2) != first
            assert len(set(first)) > 1
            env.reset(seed=5)
            with env.fork() as fork:
                assert visits(fork, 4) == visits(env, 4)

    @pytest.mark.parametrize("make", [gymnasium.make, compiler_gym.make])
    def test_part_and_size(self, make):
        with compiler_gym.make("llvm-v0") as env:
            programs = [env.datasets.benchmark(f"kernels-v0/{name}") for name in TEST_KERNELS]
        sizes = {str(each.uri): len(each.proto.program.contents) for each in programs}
        low, *_, high = sorted(sizes.values())[:4]
        expected = [uri for uri, size in sizes.items() if size <= high]
        arguments = {"benchmarks": "kernels-v0", "part": "test", "max_size": high}
        with make("llvm-v0", **arguments) as env:
            found = []
            for _ in expected:
                env.reset()
                found.append(str(env.unwrapped.benchmark))
            assert found == expected
        with gymnasium.make(
            "llvm-v0", balance="package", random_benchmarks=True, **arguments
        ) as env:
            first = visits(env, 12, seed=1)
            assert visits(env, 12, seed=1) == first
            assert {*first} == {*expected}
        with compiler_gym.make_vec("llvm-v0", 2, min_size=low + 1, **arguments) as envs:
            fitting = [uri for uri in expected if sizes[uri] > low]
            assert [*envs.reset()[1]["benchmark"]] == fitting[:2]

    @pytest.mark.parametrize(
        ("kwargs", "error", "text"),
        [
            ({"part": "test"}, TypeError, "part: expected benchmarks="),
            ({"benchmarks": KERNELS, "part": "test"}, TypeError, "part: expected .* a dataset"),
            ({"benchmarks": "kernels-v0", "part": "dev"}, ValueError, "'dev'"),
            ({"benchmarks": "kernels-v0", "balance": "file"}, ValueError, "package.*'file'"),
            ({"benchmarks": "csmith-v0", "balance": "package"}, ValueError, "balance=None"),
            ({"benchmarks": KERNELS, "benchmark": KERNELS[0]}, TypeError, "either benchmark"),
            ({"random_benchmarks": True}, TypeError, "benchmarks="),
            ({"benchmarks": []}, ValueError, "no benchmarks"),
            ({"benchmarks": 3}, TypeError, "not a int"),
            ({"benchmarks": "kernel-v0"}, LookupError, "kernels-v0"),
        ],
    )
    def test_mistakes(self, kwargs, error, text):
        with pytest.raises(error, match=text):
            compiler_gym.make("llvm-ic-v0", **kwargs)


class TestSpacesOfDictionaries:
    @pytest.mark.parametrize(
        ("name", "size"), [("AutophaseDict", 56), ("InstCountDict", 70), ("InstCountNormDict", 69)]
    )
    def test_flatten(self, name, size):
        with gymnasium.make("llvm-ic-v0", observation_space=name) as env:
            flat = gymnasium.wrappers.FlattenObservation(env)
            assert isinstance(flat.observation_space, gymnasium.spaces.Box)
            assert flat.observation_space.shape == (size,)
            observation, _ = flat.reset()
            assert observation in flat.observation_space
            values = env.observation[name]
            keys = env.observation_space.spaces
            np.testing.assert_array_equal(observation, [values[key] for key in keys])
            assert flat.step(env.action_space["mem2reg"])[0] in flat.observation_space
