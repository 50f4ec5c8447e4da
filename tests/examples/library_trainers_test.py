"""Trainers whose libraries are large, run briefly by tools/test_examples.sh."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster
from sb3_contrib import QRDQN, TRPO, MaskablePPO, RecurrentPPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy as evaluate_masked
from stable_baselines3 import A2C, DQN, PPO
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


def test_graphs_of_pytorch_geometric(tmp_path):
    page = (EXAMPLES.parent / "docs/environments/observations.md").read_text()
    script = re.search(r"^```python pyg\n(.*?)^```$", page, re.M | re.S)[1]
    command = [sys.executable, "-c", script + "\nassert graph.validate()"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "torch.Size([1, 32])\n"


def test_recipes_of_the_guide(tmp_path):
    guide = (EXAMPLES.parent / "docs/guides/learning.md").read_text()
    script = re.search(r"^```python recipes\n(.*?)^```$", guide, re.M | re.S)[1]
    command = [sys.executable, "-c", script.replace("30, 14_400", "3, 24")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^(\w+): [\d.]+% of IrInstructionCountOz", done.stdout, re.M)
    assert names == ["recurrent", "masked", "normalised"]


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

    def cut_short(self, envs, seen):
        """Checks that a step truncates all episodes, and blames no action."""
        _, rewards, ended, infos = envs.step(np.array([0, 0]))
        assert (rewards.tolist(), ended.tolist()) == ([0, 0], [True, True])
        for info, observation in zip(infos, seen, strict=True):
            assert info["TimeLimit.truncated"]
            assert (info["terminal_observation"] == observation).all()
            assert "Reproducer" not in info["error_details"]
        assert not envs.step(np.array([0, 0]))[2].any()
        return infos

    def test_a_kill_cuts_episodes_short(self, envs):
        seen = envs.reset().copy()
        service = envs.get_attr("service")[0].service
        os.kill(service.pid, signal.SIGKILL)
        assert service.exit_code(wait_seconds=100) is not None
        self.cut_short(envs, seen)

    def test_ctrl_c_cuts_episodes_short(self, envs, monkeypatch):
        seen = envs.reset().copy()

        def step(actions):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(envs.envs, "step", step)
            envs.step(np.array([0, 0]))
        infos = self.cut_short(envs, seen)
        assert {info["error_type"] for info in infos} == {"SessionLost"}

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
