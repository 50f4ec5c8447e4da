import random

import numpy as np
import pytest

import compiler_gym
from benchmarks.piece_choice import explored, judged
from compiler_gym.tuning.policies.policy import Policy
from tests.envs.llvm.kernel_programs import kernel_uri

PIECES = (("sroa", "early-cse"), ("simplifycfg",), ("loop-rotate", "loop-unroll"), ("instcombine",))


@pytest.fixture(name="env", scope="module")
def fixture_env():
    with compiler_gym.make("llvm-v0") as env:
        yield env


def kernels(env, *names):
    for name in names:
        env.reset(benchmark=kernel_uri(name))
        yield kernel_uri(name)


def test_all_pieces_are_tried_in_each_state(env):
    programs = kernels(env, "sha256", "lzss")
    features, kept, gains = explored(env, programs, PIECES, 3, random.Random(0))
    assert len(features) == len(kept) == len(gains) == 6
    assert kept.shape == gains.shape == (6, len(PIECES))
    assert [*kept[0]] == [*kept[3]] == [1, 0, 0, 0]
    assert (gains >= 0).all() and gains[:, 1].max() > 0
    env.reset(benchmark=kernel_uri("sha256"))
    before = env.observation["IrInstructionCount"]
    env.multistep([env.action_space[name] for name in PIECES[0]])
    assert features[0][-1] == pytest.approx(np.log(before / env.observation["IrInstructionCount"]))


def test_the_order_of_the_policy_is_judged_as_the_policy(env):
    env.reset(benchmark=kernel_uri("sha256"))
    baseline = env.observation["IrInstructionCountOz"]
    policy = Policy(PIECES, {}, continues=True)
    best_last = {"given": None, "last first": lambda features, kept: np.arange(len(PIECES))}
    found = judged(env, kernels(env, "sha256"), PIECES, 6, best_last)
    assert found["given"] == pytest.approx(policy.play(env).cost / baseline)
    turned = Policy((PIECES[0], *PIECES[:0:-1]), {}, continues=True)
    assert found["last first"] == pytest.approx(turned.play(env).cost / baseline)


def test_no_more_passes_than_asked_for(env):
    found = judged(env, kernels(env, "sha256"), PIECES, 3, {"given": None})
    policy = Policy(PIECES[:2], {}, continues=True)
    env.reset(benchmark=kernel_uri("sha256"))
    baseline = env.observation["IrInstructionCountOz"]
    assert found["given"] == pytest.approx(policy.play(env).cost / baseline)
