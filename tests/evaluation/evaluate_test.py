import threading
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import compiler_gym
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.tuning.policies.policy import Levels, Policy
from compiler_gym.wrappers import (
    ActionMask,
    AutophaseNorm,
    CompilerEnvWrapper,
    ConstrainedCommandline,
)
from tests.processes import descendants, is_running, kill_all, wait_until

SHA256, JSON = (f"benchmark://kernels-v0/{name}" for name in ("sha256", "json"))
PASSES = ("sroa", "early-cse", "simplifycfg")


@pytest.fixture(scope="module", name="env")
def fixture_env():
    with compiler_gym.make("llvm-autophase-ic-v0") as env:
        yield env


def number_of(env, name):
    return env.action_space[name]


def test_function(env):
    numbers = iter([number_of(env, name) for name in PASSES])
    seen = []

    def policy(observation):
        seen.append(observation.shape)
        return next(numbers)

    result = compiler_gym.evaluate(policy, benchmarks=[SHA256], max_episode_steps=len(PASSES))
    (row,) = result.rows
    env.reset(benchmark=SHA256)
    costs = [env.observation["IrInstructionCount"]]
    for name in PASSES:
        env.step(number_of(env, name))
        costs.append(env.observation["IrInstructionCount"])
    assert (row.unoptimised, row.final, row.best) == (costs[0], costs[-1], min(costs))
    assert row.baseline == env.observation["IrInstructionCountOz"]
    assert row.actions == tuple(number_of(env, name) for name in PASSES)
    assert (row.stopped, seen) == ("", [(56,)] * len(PASSES))
    assert result.final == row.final_ratio == row.final / row.baseline
    assert result.compiler_version == env.compiler_version.partition("\n")[0]


def test_programs_of_the_user(tmp_path):
    """A folder and files; in single and vector environments, those of gymnasium, evaluations."""
    paths = [tmp_path / "ic" / name for name in ("one.c", "three.ll", "two.cc")]
    paths[0].parent.mkdir()
    paths[0].write_text("int one(int n) { return n; }")
    paths[1].write_text("define i32 @three() { ret i32 3 }")
    paths[2].write_text("int two(int n) { return n + n; }")
    of_files = [f"file://{path}" for path in paths]
    of_dataset = [f"benchmark://ic-v0/{path.name}" for path in paths]
    with compiler_gym.make("llvm-autophase-ic-v0", benchmark=paths[1]) as env:
        env.reset()
        assert str(env.benchmark) == of_files[1]
        assert env.observation["IrInstructionCount"] == 1
    for benchmarks, uris in (
        (compiler_gym.dataset(tmp_path / "ic"), of_dataset),
        (paths, of_files),
    ):
        options = {"id": "llvm-autophase-ic-v0", "benchmarks": benchmarks}
        with compiler_gym.make_vec(num_envs=2, **options) as envs:
            assert [*envs.reset(seed=1)[1]["benchmark"]] == uris[:2]
        with gymnasium.make(**options) as env:
            assert [env.reset()[1]["benchmark"] for _ in range(4)] == [*uris, uris[0]]
        result = compiler_gym.evaluate(
            lambda observation: 0, benchmarks=benchmarks, max_episode_steps=1
        )
        assert [row.benchmark for row in result.rows] == uris


class Model:
    """A model as those of Stable-Baselines3: draws actions, or takes its favourite."""

    def __init__(self, favourite):
        self.favourite = favourite

    def set_random_seed(self, seed):
        self.rng = np.random.default_rng(seed)

    def predict(self, observation, deterministic=False):
        assert observation.dtype == np.int64
        action = self.favourite if deterministic else self.rng.integers(100)
        return np.array(action), None


def test_model_by_seed_and_deterministic(env):
    model = Model(number_of(env, "sroa"))
    options = {"benchmarks": [SHA256, JSON], "max_episode_steps": 2}
    drawn = compiler_gym.evaluate(model, seeds=(1, 2), **options)
    again = compiler_gym.evaluate(model, seeds=(1, 2), **options)
    assert drawn == again
    assert [(row.benchmark, row.seed) for row in drawn.rows] == [
        (SHA256, 1), (SHA256, 2), (JSON, 1), (JSON, 2),
    ]  # fmt: skip
    # Else the mean over programs would be the luck of one sequence.
    assert len({row.actions for row in drawn.rows}) == 4
    common = compiler_gym.evaluate(model, seeds=(1, 2), common_random_numbers=True, **options)
    assert common.rows[0].actions == common.rows[2].actions != common.rows[1].actions
    low, high = drawn.interval()
    assert low <= drawn.final <= high
    greedy = compiler_gym.evaluate(model, deterministic=True, **options)
    assert {row.actions for row in greedy.rows} == {(model.favourite,) * 2}
    assert greedy.interval() is None


class MaskedModel:
    """A model that plays the first allowed action. Its first argument has the name of another."""

    def __init__(self):
        self.calls = []

    def predict(self, state, deterministic=False, *, episode_start, action_masks):
        del state, deterministic
        self.calls.append((episode_start.tolist(), np.flatnonzero(~action_masks).tolist()))
        return np.flatnonzero(action_masks)[0]


class CountingModel:
    def __init__(self):
        self.calls = []

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        del observation, deterministic
        self.calls.append((episode_start.tolist(), state))
        return np.array(3), (state or 0) + 1


def test_masks_and_state():
    options = {"benchmarks": [SHA256, JSON], "max_episode_steps": 4}

    def few(env):
        return ConstrainedCommandline(env, ["mem2reg", "div-rem-pairs", "instsimplify"])

    model = MaskedModel()
    compiler_gym.evaluate(model, wrappers=[few, ActionMask], **options)
    # The second mem2reg has no effect, and neither has div-rem-pairs.
    one = [([True], []), ([False], []), ([False], [0]), ([False], [0, 1])]
    assert model.calls == one * 2
    with pytest.raises(ValueError, match="wrappers="):
        compiler_gym.evaluate(model, **options)
    model = CountingModel()
    compiler_gym.evaluate(model, **options)
    assert model.calls == [([True], None), ([False], 1), ([False], 2), ([False], 3)] * 2


def test_policy_for_whole_episodes(env):
    policy = Policy((PASSES,), {})
    rows = []
    result = compiler_gym.evaluate(
        policy, benchmarks=[JSON], on_episode=lambda row, total: rows.append((row, total))
    )
    env.reset(benchmark=JSON)
    choice = policy.play(env)
    assert result.rows[0].final == choice.cost
    assert rows == [(result.rows[0], 1)]


def test_a_level_is_recorded_by_name(env):
    policy = Policy((PASSES[:1],), {}, levels=True)
    first, second = compiler_gym.evaluate(policy, benchmarks=[JSON, SHA256]).rows
    assert {first.actions, second.actions} <= {*Levels.of(env).all}
    assert first.final <= first.baseline and second.final <= second.baseline


def test_a_dataset_by_its_name(env):
    result = compiler_gym.evaluate(lambda _: 0, benchmarks="kernels-v0", max_episode_steps=1)
    assert [row.benchmark for row in result.rows] == [*env.datasets["kernels-v0"].benchmark_uris()]


def test_a_part_of_a_dataset(env):
    part = [*env.datasets["kernels-v0"].benchmark_uris("test")]
    for dataset in ("kernels-v0", env.datasets["kernels-v0"]):
        result = compiler_gym.evaluate(
            lambda _: 0, part="test", benchmarks=dataset, max_episode_steps=1
        )
        assert [row.benchmark for row in result.rows] == part


def test_a_dataset_without_an_end(env):
    with pytest.raises(ValueError, match="with an end, got generator://csmith-v0"):
        compiler_gym.evaluate(len, benchmarks=env.datasets["csmith-v0"])


class Drawing:
    """A policy with random numbers, and an environment that no other process can have."""

    def __init__(self):
        self.env = threading.Lock()
        self.rng = np.random.default_rng()

    def get_env(self):
        return self.env

    def save(self, file):
        file.write(b"nothing")

    @classmethod
    def load(cls, file):
        assert file.read() == b"nothing"
        return cls()

    def set_random_seed(self, seed):
        self.rng = np.random.default_rng(seed)

    def predict(self, observation, deterministic=False):
        return self.rng.integers(len(observation))


def test_jobs(tmp_path):
    """Several processes play the same episodes, with and without checks, and say what failed."""
    broken = tmp_path / "broken.bc"
    broken.write_bytes(b"no bitcode")
    seen = []
    arguments = {
        "benchmarks": [JSON, broken, SHA256],
        "seeds": (3, 4),
        "max_episode_steps": 5,
        "wrappers": [lambda env: AutophaseNorm(env)],
    }
    one, *several = (
        compiler_gym.evaluate(Drawing(), **arguments, **more)
        for more in (
            {},
            {"jobs": 2, "on_episode": lambda row, total: seen.append((row.seed, total))},
            {"jobs": 2, "check": True},
        )
    )
    assert several[0] == one and [*one.failed] == [f"file://{broken}"]
    assert seen == [(3, 6), (4, 6)] * 2
    assert {row.output for row in several[1].rows} == {"right"}
    assert [replace(row, output="not checked") for row in several[1].rows] == [*one.rows]


def test_jobs_that_cannot_be_done(tmp_path):
    broken, lock = tmp_path / "broken.bc", threading.Lock()
    broken.write_bytes(b"no bitcode")
    with pytest.raises(TypeError, match=r"jobs: expected a policy .* can be sent"):
        compiler_gym.evaluate(lambda _: lock, benchmarks=[SHA256], jobs=2)
    with pytest.raises(RuntimeError, match=f"{SHA256}: ZeroDivisionError"):
        compiler_gym.evaluate(lambda _: 1 // 0, benchmarks=[SHA256, JSON], jobs=2)
    with pytest.raises(BenchmarkInitError):
        compiler_gym.evaluate(len, benchmarks=[broken], jobs=2)


def test_a_policy_that_plays_another_program():
    class Other:
        def play(self, env):
            env.reset(benchmark=JSON)

    with pytest.raises(ValueError, match=f"an episode of {SHA256}, got one of {JSON}"):
        compiler_gym.evaluate(Other(), benchmarks=[SHA256])


def test_program_that_cannot_be_compiled(tmp_path):
    broken = tmp_path / "broken.bc"
    broken.write_bytes(b"no bitcode")
    uris = [f"benchmark://file-v0{broken}", SHA256]
    result = compiler_gym.evaluate(lambda seen: 0, benchmarks=uris, max_episode_steps=1)
    assert [row.benchmark for row in result.rows] == [SHA256]
    assert [*result.failed] == uris[:1]
    assert "1 programs failed" in str(result)
    with pytest.raises(BenchmarkInitError):
        compiler_gym.evaluate(lambda seen: 0, benchmarks=uris[:1], max_episode_steps=1)


@pytest.mark.parametrize(
    "wrong", ["benchmark://kernels-v0/sha257", "benchmark://kernels-v1", "file:///not/there.c"]
)
def test_names_are_checked_before_the_first_episode(wrong):
    with pytest.raises((LookupError, FileNotFoundError), match=wrong.removeprefix("file://")):
        compiler_gym.evaluate(pytest.fail, benchmarks=[SHA256, wrong])


def test_rows_outlive_a_program_that_is_lost_later(tmp_path):
    lost = tmp_path / "lost.ll"
    lost.write_text("define void @f() { ret void }")
    options = {"benchmarks": [SHA256, lost], "max_episode_steps": 1}
    result = compiler_gym.evaluate(lambda _: lost.unlink(missing_ok=True) or 0, **options)
    assert [row.benchmark for row in result.rows] == [SHA256]
    assert "lost.ll" in result.failed[lost.as_uri()]


class EndingService(CompilerEnvWrapper):
    """Ends the service before a step, or behind one so that its cost cannot be observed."""

    is_behind = False

    def step(self, *args, **kwargs):
        result = self.env.step(*args, **kwargs) if self.is_behind else None
        service = self.env.service.connection.process.pid
        pids = [service, *descendants(service)]
        kill_all(pids)
        wait_until(lambda: not any(map(is_running, pids)))
        return result or self.env.step(*args, **kwargs)


@pytest.mark.parametrize("is_behind", [False, True])
def test_the_last_cost_before_a_crash_counts(is_behind, monkeypatch):
    monkeypatch.setattr(EndingService, "is_behind", is_behind)
    result = compiler_gym.evaluate(
        lambda seen: 0, benchmarks=[SHA256], max_episode_steps=3, wrappers=[EndingService]
    )
    (row,) = result.rows
    assert row.stopped and row.final == row.unoptimised


def test_own_costs():
    result = compiler_gym.evaluate(
        lambda seen: 0,
        "llvm-v0",
        reward_space="ObjectTextSizeBytes",
        cost="IrInstructionCount",
        baseline="IrInstructionCountO3",
        benchmarks=[SHA256],
        max_episode_steps=1,
        observation_space="Autophase",
    )
    assert (result.cost, result.baseline) == ("IrInstructionCount", "IrInstructionCountO3")
    assert result.rows[0].baseline > 0


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (3, {}, "got int"),
        (len, {"part": "tests"}, "'tests'"),
        (len, {"reward_space": "IrInstructionCount"}, "baseline"),
        (len, {"benchmarks": []}, "program"),
        (len, {"benchmarks": "csmith-v0"}, "csmith-v0"),
        (len, {"benchmarks": SHA256}, "sha256"),
        (len, {"max_episode_steps": -1}, "-1"),
        (len, {"cost": "IrInstructionCount"}, "baseline=None"),
        (len, {"baseline": "IrInstructionCountOz"}, "cost=None"),
        (len, {"benchmarks": "kernels-v0", "part": "tests"}, "'tests'"),
        (len, {"benchmarks": [SHA256], "part": "test"}, "part: expected"),
        (len, {"benchmarks": [SHA256], "count": 3}, "count: expected"),
        (len, {"benchmarks": [SHA256, JSON, SHA256]}, "different programs, got .*sha256"),
        (len, {"seeds": [1, 2, 1]}, "different seeds, got 1"),
        (len, {"seeds": []}, "one seed"),
        (len, {"seeds": 3}, "got 3"),
        (len, {"jobs": 0}, "jobs of at least 1"),
        (len, {"cost": "Ir", "baseline": "IrInstructionCount"}, "a number, got Ir, str"),
        (len, {"seeds": ["1"]}, "integers as seeds"),
    ],
)
def test_wrong_arguments(policy, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compiler_gym.evaluate(policy, **{"max_episode_steps": 1} | options)
