"""Trainers whose libraries are large, run briefly by tools/test_examples.sh."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from sb3_contrib import MaskablePPO

import compiler_gym
from compiler_gym.envs import GymnasiumEnv
from compiler_gym.wrappers import ActionMask, TimeLimit

EXAMPLES = Path(__file__).absolute().parents[2] / "examples"
SHOWN = r"4800 steps: ([\d.]+)% of what -Oz saves, ([\d.]+)% in the best of 5"


@pytest.mark.parametrize("name", ["rllib_ppo", "sb3_ppo"])
def test_learns(name):
    """Passes at random save half as much as -Oz."""
    command = [sys.executable, EXAMPLES / f"{name}.py", "--steps", "4800"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    once, best = re.search(f"^{SHOWN}$", done.stdout, re.M).groups()
    assert 75 < float(once) < float(best)


def test_maskable_ppo_takes_our_masks():
    """What it chooses is not known to do nothing."""
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
