"""Policies: that they do what their files say."""

import math

import numpy as np
import pytest

import compiler_gym
from compiler_gym.datasets.parts import TEST_KERNELS
from compiler_gym.tuning.policies.policy import (
    FEATURES,
    SHIPPED,
    Levels,
    Network,
    Policy,
    features_of,
    level_costs,
)
from compiler_gym.tuning.policy_training.training import train
from tests.envs.llvm.kernel_programs import kernel_uri

GOOD = ("sroa", "early-cse", "simplifycfg", "instcombine")
POOR = ("mem2reg",)
MOST_PASSES = {"pieces": 170, "pieces45": 45, "sequence": 45, "coreset": 170, "network": 45}
UNROLLS = ("sroa", "loop-rotate", "loop-unroll")


@pytest.fixture(scope="module")
def env():
    with compiler_gym.make("llvm-v0", benchmark=kernel_uri("sha256")) as env:
        env.reset()
        yield env


def counts(env, names):
    """The numbers of instructions as a step each shows them."""
    env.reset()
    found = [env.observation["IrInstructionCount"]]
    for name in names:
        env.step(env.action_space[name])
        found.append(env.observation["IrInstructionCount"])
    return found


def test_the_best_of_all_is_left(env):
    choice = Policy((POOR, GOOD), {}).play(env)
    expected = min(counts(env, GOOD))
    again = Policy((POOR, GOOD), {}).play(env)
    assert choice == again
    assert choice.cost == expected == env.observation["IrInstructionCount"]
    assert choice.tried == len(POOR) + len(GOOD)
    assert choice.sequence == GOOD[: len(choice.sequence)]
    assert env.commandline().count("function(") == len(choice.sequence)


def test_passes_after_the_best_are_left_out(env):
    choice = Policy((UNROLLS,), {}).play(env)
    found = counts(env, UNROLLS)
    assert len(choice.sequence) == found.index(min(found)) < len(UNROLLS)
    # Nothing is done to a program that only grows.
    assert min(counts(env, UNROLLS[1:])[1:]) >= found[0]
    choice = Policy((UNROLLS[1:],), {}).play(env)
    assert (choice.cost, choice.sequence) == (found[0], ())


def test_pieces_continue_from_the_best_so_far(env):
    # The second changes nothing any more, and is kept; the third makes it larger.
    policy = Policy((GOOD[:2], POOR, UNROLLS, GOOD[2:]), {}, continues=True)
    choice = policy.play(env)
    assert choice.sequence == (*GOOD[:2], *POOR, *GOOD[2:])
    assert choice.cost == counts(env, choice.sequence)[-1] == env.observation["IrInstructionCount"]
    assert choice.tried == 8
    assert choice == policy.play(env)


class TestLevels:
    def test_are_those_of_opt(self, env):
        env.reset(benchmark=kernel_uri("sha256"))
        costs = level_costs(env)
        levels = Levels.of(env)
        assert [*costs] == [*levels.all]
        assert costs[("default<Oz>",)] == env.observation["IrInstructionCountOz"]
        assert costs[levels.marked_oz] < costs[("default<Oz>",)]
        assert (env.actions, env.action_space.name) == ([], "PassesAll")

    def test_one_is_played_if_it_is_best(self, env):
        env.reset(benchmark=kernel_uri("sha256"))
        choice = Policy((POOR,), {}, levels=True).play(env)
        levels = level_costs(env)
        assert choice.sequence == min(levels, key=levels.get)
        assert choice.cost == levels[choice.sequence] == env.observation["IrInstructionCount"]
        assert choice.tried == len(POOR) + sum(map(len, levels))
        assert f"module({','.join(choice.sequence)})" in env.commandline()
        assert env.validate().okay()
        assert Policy((POOR,), {}, levels=True).play(env) == choice
        # The next episode has the actions of before.
        assert counts(env, POOR)[-1] > choice.cost

    def test_passes_that_are_better_are_played(self, env):
        level = Levels.of(env).marked_oz
        levels = {level: counts(env, GOOD)[-1]}
        for policy in (Policy((GOOD,), {}, levels=True), Policy((GOOD,), {}, None, True, True)):
            choice = policy.play(env, levels)
            assert choice.sequence == GOOD
            assert choice.tried == len(GOOD) + len(level)
        assert Policy((GOOD,), {}, levels=True).play(env, {}).sequence == GOOD


class TestNetwork:
    def test_learns_which_is_best(self):
        rng = np.random.default_rng(0)
        features = rng.normal(size=(300, 5))
        best = (features[:, 0] > 0).astype(int)
        rows = np.where(np.arange(2) == best[:, None], -0.1, 0.1)
        network = train(features[:200], rows[:200], units=8, decay=1e-5, seed=0)
        is_right = network.predict(features[200:]).argmin(axis=1) == best[200:]
        assert is_right.mean() > 0.9

    def test_chooses_one(self, env):
        # It says: sequence 1, whatever there is to see.
        n_features = len(features_of(env))
        network = Network(
            np.zeros(n_features),
            np.ones(n_features),
            np.zeros((n_features + 1, 1)),
            np.array([[0.0, 0.0], [0.5, -0.5]]),
        )
        choice = Policy((POOR, GOOD), {}, network).play(env)
        assert choice.tried == len(GOOD)
        assert choice.cost == min(counts(env, GOOD))

    def test_features(self, env):
        env.reset()
        features = features_of(env)
        assert features.dtype == np.float64 and np.isfinite(features).all()
        assert features[-1] == pytest.approx(math.log1p(env.observation[FEATURES[-1]]))


class TestFiles:
    def test_round_trip(self, env, tmp_path):
        n_features = len(features_of(env))
        network = train(np.eye(n_features), np.zeros((n_features, 1)), 2, 0.1, 0)
        pieces = Policy((GOOD, POOR), {}, continues=True, levels=True)
        pieces.save(tmp_path / "policy.json")
        assert Policy.load(tmp_path / "policy.json") == pieces
        Policy((GOOD,), {"seed": 3}, network).save(tmp_path / "policy.json")
        read = Policy.load(tmp_path / "policy.json")
        assert (read.sequences, read.about) == ((GOOD,), {"seed": 3})
        for name, value in vars(network).items():
            np.testing.assert_allclose(getattr(read.network, name), value, rtol=1e-4)

    @pytest.mark.parametrize(
        "contents",
        [
            *(b"", b"[]", b'{"sequences": 3}', b'{"sequences": ["a"]}'),
            b"\x7fELF\xff" * 1000,
            b'{"about": {}, "sequences": [], "network": {"' + b"x" * 5000 + b'": 1}}',
        ],
    )
    def test_malformed_policy_file(self, tmp_path, contents):
        path = tmp_path / "policy.json"
        path.write_bytes(contents)
        with pytest.raises(ValueError, match=r"policy\.json") as caught:
            Policy.load(path)
        assert len(str(caught.value)) < 500

    def test_unknown_policy_name(self):
        with pytest.raises(FileNotFoundError, match="pieces"):
            Policy.load("corset")


class TestSequencesOfAProgram:
    def test_all_without_a_network(self):
        assert Policy((POOR, GOOD), {}).sequences_for(None) == (POOR, GOOD)

    def test_the_network_looks_at_bitcode(self, env, tmp_path):
        policy = Policy.load("network")
        env.reset(benchmark=kernel_uri("bytecode_vm"))
        env.write_bitcode(tmp_path / "program.bc")
        chosen = int(policy.network.predict(features_of(env)).argmin())
        expected = (policy.sequences[chosen],)
        assert policy.sequences_for(tmp_path / "program.bc") == expected
        assert policy.sequences_for(None) == policy.sequences[:1] != expected

    def test_pieces_are_joined(self, env, tmp_path):
        policy = Policy((GOOD, UNROLLS, POOR), {}, continues=True)
        env.reset(benchmark=kernel_uri("sha256"))
        env.write_bitcode(tmp_path / "program.bc")
        assert policy.sequences_for(tmp_path / "program.bc") == ((*GOOD, *POOR),)
        assert policy.sequences_for(None) == (GOOD,)


class TestShipped:
    @pytest.mark.parametrize("name", SHIPPED)
    def test_beats_oz_on_a_program_that_it_has_not_learnt_from(self, env, name):
        assert "sha256" in TEST_KERNELS
        policy = Policy.load(name)
        env.reset(benchmark=kernel_uri("sha256"))
        choice = policy.play(env)
        assert choice.cost <= min(level_costs(env).values())
        assert choice.cost < env.observation["IrInstructionCountOz"]
        assert choice.tried <= MOST_PASSES[name] + sum(map(len, Levels.of(env).all))
        assert env.validate().okay()

    @pytest.mark.parametrize("name", SHIPPED)
    def test_all_passes_are_actions(self, env, name):
        for sequence in Policy.load(name).sequences:
            assert {env.action_space[action] for action in sequence} < {*range(env.action_space.n)}
