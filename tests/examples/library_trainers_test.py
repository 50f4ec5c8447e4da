"""Trainers whose libraries are large, run briefly by tools/test_examples.sh."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster
from sb3_contrib import QRDQN, TRPO, MaskablePPO, RecurrentPPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy as evaluate_masked
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor

import compiler_gym
from compiler_gym.envs import GymnasiumEnv
from compiler_gym.evaluation import load_policy
from compiler_gym.vector.stable_baselines import StableBaselinesVecEnv
from compiler_gym.wrappers import ActionMask, AutophaseNorm, TimeLimit

EXAMPLES = Path(__file__).absolute().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import rllib_ppo  # noqa: E402

SHOWN = r"4800 steps: ([\d.]+)% of what -Oz saves, ([\d.]+)% in the best of 5"


@pytest.mark.parametrize("name", ["cleanrl_ppo", "rllib_ppo", "sb3_ppo"])
def test_learns(name):
    """Passes at random save half as much as -Oz."""
    command = [sys.executable, EXAMPLES / f"{name}.py", "--steps", "4800"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    once, best = re.search(f"^{SHOWN}$", done.stdout, re.M).groups()
    assert 75 < float(once) < float(best)


def test_script_of_the_guide_learns(tmp_path):
    guide = (EXAMPLES.parent / "docs/guides/learning.md").read_text()
    script = re.search(r"^```python train.py\n(.*?)^```$", guide, re.M | re.S)[1]
    command = [sys.executable, "-c", script.replace("14_400", "4_800")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    untrained, trained = re.findall(r"^\w+: ([\d.]+)% ", done.stdout, re.M)
    assert float(trained) < 120 < float(untrained)
    assert (tmp_path / "ppo.zip").exists()


def test_rllib_learns_on_while_a_runner_is_lost():
    """Its environment runners are on two nodes. One is killed, and comes back."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ray.init(cluster.address, log_to_driver=False, runtime_env={"working_dir": str(EXAMPLES)})
    algorithm = rllib_ppo.config(seed=0, runners=2).build_algo()
    group = algorithm.env_runner_group

    def place(_):
        return ray.get_runtime_context().get_node_id(), os.getpid()

    (_, victim), (_, other) = before = group.foreach_env_runner(place, local_env_runner=False)
    assert len({node for node, _ in before}) == 2
    os.kill(victim, signal.SIGKILL)
    steps = [algorithm.train()["num_env_steps_sampled_lifetime"]]
    while group.num_healthy_remote_workers() < 2:
        steps.append(algorithm.train()["num_env_steps_sampled_lifetime"])
    assert steps[0] >= 480
    assert group.num_remote_worker_restarts() == 1
    after = group.foreach_env_runner(place, local_env_runner=False)
    assert other in {pid for _, pid in after}
    assert victim not in {pid for _, pid in after}
    algorithm.stop()
    ray.shutdown()
    cluster.shutdown()


def test_grpo_makes_two_updates():
    """A tiny random model, each token of which is a call of a tool, gets verified rewards."""
    done = subprocess.run([sys.executable, EXAMPLES / "grpo.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"^update (\d): reward ([\d.]+) ", done.stdout, re.M)
    assert [number for number, _ in shown] == ["1", "2"]
    assert any(0 < float(reward) < 2 for _, reward in shown)


def test_maskable_ppo_takes_our_masks():
    """It never chooses an action that is known to have no effect."""
    env = TimeLimit(ActionMask(compiler_gym.make("llvm-autophase-ic-v0")), max_episode_steps=30)
    env = GymnasiumEnv(env)
    model = MaskablePPO("MlpPolicy", env, n_steps=30, batch_size=30, seed=0)
    model.learn(60)
    observation, _ = env.reset()
    masked = 0
    for _ in range(20):
        masks = env.action_masks()
        masked += (~masks).sum()
        action, _ = model.predict(observation, action_masks=masks)
        assert masks[action]
        observation, *_ = env.step(action)
    assert masked > 0
    env.close()


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("kind", [PPO, A2C, DQN, TRPO, QRDQN, RecurrentPPO, MaskablePPO])
def test_models_play_as_in_their_own_evaluation(kind, deterministic, tmp_path):
    """Saved models of each algorithm take the same actions, with masks and state."""
    options = {"max_episode_steps": 12, "wrappers": [AutophaseNorm, ActionMask]}
    program = "benchmark://kernels-v0/sha256"
    env = gymnasium.make("llvm-autophase-ic-v0", benchmark=program, **options)
    model = kind("MlpLstmPolicy" if kind is RecurrentPPO else "MlpPolicy", env, seed=0)
    for parameter in model.policy.parameters():
        parameter.data *= 5  # So that actions depend on what the model sees.
    model.save(tmp_path / "model.zip")
    played = []

    def note(values, _):
        played.append(int(values["actions"][0]))

    model.set_random_seed(0)
    env.action_space.seed(0)
    judge = evaluate_masked if kind is MaskablePPO else evaluate_policy
    arguments = {"n_eval_episodes": 1, "deterministic": deterministic, "warn": False}
    judge(model, env, callback=note, **arguments)
    env.close()
    result = compiler_gym.evaluate(
        load_policy(str(tmp_path / "model.zip")),
        benchmarks=[program],
        deterministic=deterministic,
        common_random_numbers=True,
        **options,
    )
    assert list(result.rows[0].actions) == played


def children(pids: list[int]) -> list[int]:
    paths = [path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for path in paths for child in path.read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


class KillAfter(BaseCallback):
    """Kills processes after a step of a rollout, and keeps what the next step gave.

    Args:
        step: The number of the step.
        depth: 0 for the service, 1 for its fork server, 2 for the sessions.
    """

    def __init__(self, step: int, depth: int):
        super().__init__()
        self._step = step
        self._depth = depth

    def _on_step(self) -> bool:
        if self.n_calls == self._step:
            self.before = self.locals["new_obs"].copy()
            self._kill()
        elif self.n_calls == self._step + 1:
            self.rewards = self.locals["rewards"].tolist()
            self.dones = self.locals["dones"].tolist()
            self.infos = self.locals["infos"]
        return True

    def _kill(self) -> None:
        generations = [[self.training_env.get_attr("service")[0].service.pid]]
        for _ in range(2):
            generations.append(children(generations[-1]))
        assert all(generations)
        for pid in generations[self._depth]:
            os.kill(pid, signal.SIGKILL)
        # The kernel ends those below.
        while any(is_running(pid) for each in generations[self._depth :] for pid in each):
            time.sleep(0.01)


class PressCtrlC(BaseCallback):
    """Presses Ctrl-C in the step after a step of a rollout, whose sessions stand still.

    Args:
        step: The number of the step.
        steps: The environment or vector environment whose ``step()`` the trainer calls.
        service: The process of the service.
    """

    def __init__(self, step: int, steps: Any, service: int):
        super().__init__()
        self._step = step
        self._steps = steps
        self._service = service

    def _on_step(self) -> bool:
        if self.n_calls == self._step:
            self.before = self.locals["new_obs"].copy()
            stopped = children(children([self._service]))
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            begun = threading.Event()
            step = self._steps.step

            def begin(*args):
                self._steps.step = step
                begun.set()
                return step(*args)

            self._steps.step = begin
            self.thread = threading.Thread(target=self._press_after, args=(begun, stopped))
            self.thread.start()
        return True

    @staticmethod
    def _press_after(begun: threading.Event, stopped: list[int]) -> None:
        begun.wait()
        time.sleep(0.3)  # The step ends in no case.
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


class FirstStep(BaseCallback):
    """Keeps what the first step gave."""

    def _on_step(self) -> bool:
        if self.n_calls == 1:
            self.rewards = self.locals["rewards"].tolist()
            self.dones = self.locals["dones"].tolist()
            self.infos = self.locals["infos"]
        return True


class TestStableBaselines:
    @pytest.fixture
    def envs(self):
        envs = compiler_gym.make_vec(
            "llvm-autophase-ic-v0",
            2,
            max_episode_steps=3,
            autoreset_mode="SameStep",
            wrappers=[AutophaseNorm],
        )
        vec = StableBaselinesVecEnv(envs)
        yield vec
        vec.close()

    def test_steps_and_ends(self, envs):
        envs.seed(1)
        first = envs.reset()
        assert first.shape == (2, 56)
        assert all(info["benchmark"] for info in envs.reset_infos)
        mem2reg = envs.action_space["mem2reg"]
        for steps in (1, 2, 3):
            observations, rewards, ended, infos = envs.step(np.array([mem2reg] * 2))
            assert rewards.dtype == np.float32
            assert ended.tolist() == [steps == 3] * 2
            assert [info["TimeLimit.truncated"] for info in infos] == [steps == 3] * 2
            assert ["terminal_observation" in info for info in infos] == [steps == 3] * 2
            assert infos[0]["action_had_no_effect"] == (steps > 1)
        assert (observations == first).all()
        assert (infos[0]["terminal_observation"] != first[0]).any()

    def test_further_trainers(self, envs):
        envs.reset()
        assert envs.get_attr("benchmark") == [envs.envs.envs[0].benchmark] * 2
        assert envs.env_method("commandline", indices=1) == [envs.envs.envs[1].commandline()]
        envs.set_attr("reward_space", "ObjectTextSizeOz", indices=[0])
        names = [space.name for space in envs.get_attr("reward_space")]
        assert names == ["ObjectTextSizeOz", "IrInstructionCountOz"]
        assert envs.env_is_wrapped(AutophaseNorm) == [True, True]
        assert envs.env_is_wrapped(ActionMask, indices=0) == [False]
        with pytest.raises(ValueError, match="benchmarks="):
            envs.set_options({"benchmark": "benchmark://kernels-v0/fft"})

    def test_algorithms_take_it(self, envs):
        monitored = VecMonitor(envs)
        model = PPO("MlpPolicy", monitored, n_steps=6, batch_size=12, seed=0)
        model.learn(24)
        assert {info["l"] for info in model.ep_info_buffer} == {3}

    @pytest.mark.parametrize("position", [0, 1, 2], ids=["first", "middle", "last"])
    @pytest.mark.parametrize("depth", [0, 1, 2], ids=["service", "fork server", "sessions"])
    def test_kills_cut_episodes_short(self, envs, depth, position):
        """No action is to blame, and learning goes on."""
        model = PPO("MlpPolicy", envs, n_steps=6, batch_size=12, seed=0)
        kill = KillAfter(3 + position, depth)
        model.learn(24, callback=kill)
        assert kill.rewards == [0, 0]
        assert kill.dones == [True, True]
        for info, before in zip(kill.infos, kill.before, strict=True):
            assert info["TimeLimit.truncated"]
            assert (info["terminal_observation"] == before).all()
            assert "Reproducer" not in info["error_details"]
        assert model.num_timesteps == 24

    @pytest.mark.parametrize("position", [0, 1, 2], ids=["first", "middle", "last"])
    @pytest.mark.parametrize("count", [None, 1, 2], ids=["single", "vector of 1", "vector of 2"])
    def test_ctrl_c_cuts_episodes_short(self, count, position):
        """Learning can go on without a reset, and no action is to blame."""
        id, kwargs = "llvm-autophase-ic-v0", {"max_episode_steps": 3, "wrappers": [AutophaseNorm]}
        if count is None:
            env = gymnasium.make(id, **kwargs)
            steps = env.unwrapped
            service = steps.service
        else:
            steps = compiler_gym.make_vec(id, count, autoreset_mode="SameStep", **kwargs)
            env = StableBaselinesVecEnv(steps)
            service = steps.envs[0].service
        model = PPO("MlpPolicy", env, n_steps=6, batch_size=6, seed=0)
        press = PressCtrlC(3 + position, steps, service.service.pid)
        with pytest.raises(KeyboardInterrupt):
            model.learn(60, callback=press)
        press.thread.join()
        first = FirstStep()
        model.learn(24, callback=first, reset_num_timesteps=False)
        count = count or 1
        assert first.rewards == [0] * count
        assert first.dones == [True] * count
        for info, before in zip(first.infos, press.before, strict=True):
            assert info["TimeLimit.truncated"]
            assert (info["terminal_observation"] == before).all()
            assert info["error_type"] == "SessionLost"
            assert "Ctrl-C" in info["error_details"]
        env.close()

    @pytest.mark.parametrize(
        ("id", "mode", "text"),
        [
            ("llvm-autophase-ic-v0", "NextStep", 'autoreset_mode="SameStep"'),
            ("llvm-ic-v0", "SameStep", "observation_space="),
        ],
    )
    def test_environments_without_observation(self, id, mode, text):
        with (
            compiler_gym.make_vec(id, 2, autoreset_mode=mode) as envs,
            pytest.raises(ValueError, match=text),
        ):
            StableBaselinesVecEnv(envs)

    def test_a_limit_can_be_an_end(self):
        envs = compiler_gym.make_vec(
            "llvm-autophase-ic-v0", 1, max_episode_steps=1, autoreset_mode="SameStep"
        )
        vec = StableBaselinesVecEnv(envs, limit_is_an_end=True)
        vec.reset()
        _, _, ended, infos = vec.step(np.array([0]))
        assert ended.all()
        assert not infos[0]["TimeLimit.truncated"]
        vec.close()
