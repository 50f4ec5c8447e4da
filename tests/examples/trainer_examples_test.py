"""Tests of the trainers' shared code, and of the trainer without further dependencies."""

import re
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import compiler_gym
from tests.processes import run_interpreter

EXAMPLES = Path(__file__).absolute().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import held_back  # noqa: E402
import judging  # noqa: E402

SHOWN = r"(\d+) steps: ([\d.]+)% of what -Oz saves, ([\d.]+)% in the best of 5"


LONGER = {"gnn.py", "grpo.py", "offline.py", "ppo.py", "regalloc_search.py"}


@pytest.mark.parametrize(
    "path",
    sorted(path for path in EXAMPLES.glob("*.py") if path.name not in LONGER),
    ids=lambda path: path.name,
)
def test_short(path):
    """They are meant to be read, and to be changed."""
    assert len(path.read_text().splitlines()) <= 60


def test_no_program_is_learnt_from_and_held_back():
    with compiler_gym.make("llvm-v0") as env:
        every = sorted(env.datasets["kernels-v0"].benchmark_uris())
    assert every[3::4] == held_back.HELD_BACK
    assert sorted(held_back.TRAINING + held_back.HELD_BACK) == every


def test_environments_to_learn_from():
    with held_back.training_envs(2) as envs:
        observations, infos = envs.reset(seed=1)
        assert observations.shape == (2, 56 + envs.single_action_space.n)
        assert set(infos["benchmark"]) <= set(held_back.TRAINING)
        for _ in range(held_back.EPISODE_STEPS):
            _, _, terminations, truncations, infos = envs.step(["function(mem2reg)"] * 2)
    assert truncations.all()
    assert not terminations.any()
    assert len(infos["final_obs"]) == 2  # The next episodes have begun.


def test_the_limit_of_steps_can_be_an_end():
    with held_back.training_envs(2, "NextStep") as inner:
        envs = held_back.LimitIsAnEnd(inner)
        programs, ends = {*envs.reset(seed=1)[1]["benchmark"]}, []
        for _ in range(held_back.EPISODE_STEPS + 1):
            _, _, terminations, truncations, infos = envs.step(["function(mem2reg)"] * 2)
            assert not truncations.any()
            ends.append(terminations.all())
        programs |= {*infos["benchmark"]}
    assert ends == [False] * (held_back.EPISODE_STEPS - 1) + [True, False]
    assert len(programs) > 2


def test_the_best_state_on_the_way_counts():
    """Going back afterwards is no loss, and each program is judged for itself."""
    with compiler_gym.make(held_back.ENV_ID) as env:
        there, back = (env.action_space[f"function({name})"] for name in ("mem2reg", "reg2mem"))
        expected = []
        for benchmark in held_back.HELD_BACK:
            env.reset(benchmark=benchmark)
            expected.append(env.step(there)[1])

    def policy(observations):
        is_first = observations[:, 56:].sum(axis=1) == 0
        return np.where(is_first, there, back)

    shares = judging.judge(policy, episodes=2)
    assert shares == pytest.approx(np.array([expected] * 2))
    assert shares.min() > 0


class FailingEnvs:
    """Two environments with a reward of 1 for each step, of which the second fails at its third."""

    def reset(self):
        self.steps = 0
        return np.zeros((2, 1)), {}

    def step(self, actions):
        self.steps += 1
        failed = np.array([False, self.steps == 3])
        return np.zeros((2, 1)), np.ones(2), failed, np.zeros(2, dtype=bool), {}


def test_steps_after_a_failure_do_not_count(monkeypatch):
    monkeypatch.setattr(held_back, "judging_envs", lambda: nullcontext(FailingEnvs()))
    shares = judging.judge(lambda observations: np.zeros(len(observations), dtype=int))
    assert shares.tolist() == [[held_back.EPISODE_STEPS, 2]]


def test_actions_are_drawn_by_their_probabilities():
    probabilities = np.array([[0.7, 0.3, 0], [0, 0.5, 0.5]])
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities)
    policy = judging.drawing(lambda observations: logs[observations], np.random.default_rng(0))
    drawn = policy(np.repeat([0, 1], 2_000)).reshape(2, -1)
    shares = [np.bincount(row, minlength=3) / 2_000 for row in drawn]
    assert shares == pytest.approx(probabilities, abs=0.05)


@pytest.mark.timeout(800)  # Six thousand steps, however busy the machine is.
def test_ppo_learns():
    """Passes at random save half as much as -Oz."""
    done = run_interpreter(EXAMPLES / "ppo.py", "--steps", "4800", timeout=790)
    steps, once, best = re.fullmatch(SHOWN, done.stdout.strip()).groups()
    assert steps == "4800"
    assert 75 < float(once) < float(best)
    assert done.stderr == ""
