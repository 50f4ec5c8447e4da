import concurrent.futures
import csv
import itertools
import json
import math
import sys
import threading
from concurrent.futures import Future

import pytest

import compiler_gym
from compiler_gym.envs.llvm import LlvmEnv, make_benchmark_from_source
from compiler_gym.random_search import (
    RandomAgentWorker,
    RandomSearchProgressLogEntry,
    random_search,
    replay_actions_from_logs,
)
from compiler_gym.spaces import Discrete
from compiler_gym.wrappers import CompilerEnvWrapper, Counter
from tests.processes import wait_until
from tests.service.toy_service import HELLO, make_toy_env

APPEND_A, HANG = 3, 11
PROGRAM = """
int sum(int n) {
  int result = 0;
  for (int i = 0; i < n; ++i) result += i * i;
  return result;
}
"""


class ToyActions(CompilerEnvWrapper):
    """The toy environment with a single action."""

    action_space = Discrete(1)
    value = APPEND_A

    def multistep(self, actions, *args, **kwargs):
        return super().multistep([self.value for _ in actions], *args, **kwargs)


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def program():
    return make_benchmark_from_source(PROGRAM, lang="c")


@pytest.fixture(scope="module")
def make_env(program):
    seeds = itertools.count()
    with LlvmEnv() as first:
        connection = first.service

        def make():
            env = LlvmEnv(
                benchmark=program, reward_space="IrInstructionCount", service_connection=connection
            )
            env.seed(next(seeds))
            return env

        yield make


@pytest.fixture
def until_found(monkeypatch, tmp_path):
    """Ends searches as soon as they have found something, rather than when their time is over."""
    progress = tmp_path / "random_search_progress.csv"

    def wait(jobs, **_):
        wait_until(lambda: progress.read_text().count("\n") > 1 or any(map(Future.done, jobs)))
        return concurrent.futures.wait(jobs, timeout=0)

    monkeypatch.setattr(sys.modules[RandomAgentWorker.__module__], "wait", wait)


@pytest.mark.usefixtures("until_found")
def test_llvm(make_env, tmp_path):
    with compiler_gym.random_search(make_env, tmp_path, nproc=2) as env:
        assert env.episode_reward > 0
        metadata = json.loads((tmp_path / "random_search.json").read_text())
        assert metadata["reward"] == "IrInstructionCount"
        assert metadata["benchmark"] == str(env.benchmark)
        assert metadata["patience"] == env.action_space.n
        assert metadata["best_reward"] == env.episode_reward
        actions = (tmp_path / "random_search_best_actions.txt").read_text().split()
        assert list(map(int, actions)) == env.actions
        commandline = (tmp_path / "random_search_best_actions_commandline.txt").read_text()
        assert commandline == env.commandline() + "\n"
        assert (tmp_path / "optimized.bc").read_bytes() == env.observation["Bitcode"].tobytes()
        assert env.validate().okay()

        progress = read_csv(tmp_path / "random_search_progress.csv")
        columns = "runtime_seconds total_episode_count total_step_count num_passes reward"
        assert list(progress[0]) == columns.split()
        rewards = [float(row["reward"]) for row in progress]
        assert rewards == sorted(set(rewards))
        assert rewards[-1] == env.episode_reward
        assert int(progress[-1]["num_passes"]) == len(env.actions)
        assert float(progress[-1]["runtime_seconds"]) <= metadata["runtime_seconds"]

        replay = read_csv(tmp_path / "random_search_best_actions_replay.csv")
        assert [int(row["action"]) for row in replay] == env.actions
        assert float(replay[-1]["total_reward"]) == env.episode_reward
        assert sum(float(row["reward"]) for row in replay) == env.episode_reward


@pytest.mark.usefixtures("until_found")
def test_results_are_used_again(make_env, tmp_path):
    with random_search(make_env, tmp_path, nproc=1) as env:
        state = env.state
    made = []

    def make_and_count():
        made.append(Counter(make_env()))
        return made[-1]

    with random_search(make_and_count, tmp_path, skip_done=True) as env:
        assert env.state == state
        assert made == [env]
    with random_search(make_and_count, tmp_path, nproc=1) as env:
        assert made[2].counters["step"] > 0


def test_patience(make_env, tmp_path):
    """An episode ends after as many actions without a reward better than all before."""
    episodes = []

    class EnoughError(Exception):
        pass

    class Recording(CompilerEnvWrapper):
        rewards = ()

        def reset(self, *args, **kwargs):
            if self.rewards:
                episodes.append(self.rewards)
            if len(episodes) == 5:
                raise EnoughError
            self.rewards = []
            return super().reset(*args, **kwargs)

        def step(self, action, **kwargs):
            result = super().step(action, **kwargs)
            self.rewards.append(self.episode_reward)
            return result

    with pytest.raises(EnoughError):
        random_search(lambda: Recording(make_env()), tmp_path, None, patience=3, nproc=1)
    best = 0
    for rewards in episodes:
        actions_in_vain = 0
        for reward in rewards:
            assert actions_in_vain < 3
            actions_in_vain = 0 if reward > best else actions_in_vain + 1
            best = max(best, reward)
        assert actions_in_vain == 3


def test_action_that_hangs(tmp_path):
    class Hanging(ToyActions):
        value = HANG

    def make():
        return Hanging(make_toy_env(benchmark=HELLO, reward_space="length"))

    with random_search(make, tmp_path, total_runtime=1, nproc=1) as env:
        assert env.actions == []


@pytest.mark.usefixtures("until_found")
def test_environment_without_a_program_to_write(tmp_path):
    def make():
        return ToyActions(make_toy_env(benchmark=HELLO, reward_space="length"))

    with random_search(make, tmp_path, nproc=1) as env:
        assert env.observation["text"].startswith("helloa")
        assert not (tmp_path / "optimized.bc").exists()


def test_workers_end(make_env, tmp_path):
    with random_search(make_env, tmp_path, total_runtime=0.2, nproc=3):
        names = [thread.name for thread in threading.enumerate()]
        assert not [name for name in names if name.startswith("random_search")]


def test_worker_that_fails(make_env, tmp_path):
    made = []

    def make():
        made.append(None)
        if len(made) > 1:
            raise RuntimeError("No more environments")
        return make_env()

    with pytest.raises(RuntimeError, match="No more environments"):
        random_search(make, tmp_path, total_runtime=100, nproc=1)


@pytest.mark.parametrize("values", [{"nproc": 0}, {"total_runtime": 0}, {"patience": -1}])
def test_wrong_numbers(make_env, values, tmp_path):
    with pytest.raises(ValueError, match="positive"):
        random_search(make_env, tmp_path, **values)
    with pytest.raises(ValueError, match="reward space"):
        random_search(lambda: make_toy_env(benchmark=HELLO), tmp_path)


def test_random_agent_worker(make_env):
    worker = RandomAgentWorker(make_env, patience=5)
    assert worker.alive and worker.best_returns == -math.inf
    worker.start()
    wait_until(lambda: worker.total_episode_count >= 2 and worker.best_returns > 0)
    worker.alive = False
    worker.join(60)
    assert not worker.is_alive()
    assert worker.total_environment_count == 1
    assert worker.total_step_count >= worker.total_episode_count * 5
    with make_env() as env:
        env.reset()
        env.multistep(worker.best_actions)
        assert env.episode_reward == worker.best_returns
        assert env.commandline() == worker.best_commandline


def test_random_agent_worker_counts_complete_episodes(make_env):
    class StopsInThirdStep(CompilerEnvWrapper):
        def step(self, action, **kwargs):
            result = super().step(action, **kwargs)
            worker.alive = len(self.actions) < 3
            return result

    worker = RandomAgentWorker(lambda: StopsInThirdStep(make_env()), patience=5)
    worker.run()
    assert (worker.total_step_count, worker.total_episode_count) == (3, 0)


@pytest.mark.usefixtures("until_found")
def test_progress_log_entry(make_env, tmp_path):
    entry = RandomSearchProgressLogEntry(1.5, 2, 30, 4, 0.25)
    assert entry.to_csv() == "1.5,2,30,4,0.25"
    assert RandomSearchProgressLogEntry.from_csv("1.5,2,30,4,0.25\n") == entry
    with pytest.raises(ValueError, match=r"runtime_seconds,.*'1,2'"):
        RandomSearchProgressLogEntry.from_csv("1,2")
    with random_search(make_env, tmp_path, nproc=1) as env:
        reward = env.episode_reward
    header, *lines = (tmp_path / "random_search_progress.csv").read_text().splitlines()
    assert header.split(",") == list(RandomSearchProgressLogEntry._fields)
    assert RandomSearchProgressLogEntry.from_csv(lines[-1]).reward == reward


@pytest.mark.usefixtures("until_found")
def test_replay_actions_from_logs(make_env, tmp_path, capsys):
    benchmark = "benchmark://kernels-v0/fft"

    def make():
        env = make_env()
        env.benchmark = benchmark
        return env

    with random_search(make, tmp_path, nproc=1) as env:
        actions, reward = env.actions, env.episode_reward
        files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        env.reset(benchmark="benchmark://kernels-v0/json")
        replay_actions_from_logs(env, tmp_path)
        assert (str(env.benchmark), env.actions) == (benchmark, actions)
        assert env.episode_reward == reward
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == ["step", "action", "had_effect", "reward", "total_reward"]
        assert [int(line.split()[1]) for line in lines[2:]] == actions
        replay_actions_from_logs(env, tmp_path, benchmark="benchmark://kernels-v0/json")
        assert str(env.benchmark) == "benchmark://kernels-v0/json"
