import pickle

import numpy as np
import pytest

import compiler_gym
from compiler_gym.envs.llvm import make_benchmark, make_benchmark_from_source
from compiler_gym.envs.llvm.benchmarks.validation import run_opt
from compiler_gym.envs.llvm.game_env import GameEnv
from compiler_gym.errors import ServiceError
from compiler_gym.util.llvm_tools import llvm_version
from tests.envs.llvm.game_program import game_program

ID = "llvm-inline-v0"


@pytest.fixture(scope="module")
def shared_env():
    with compiler_gym.make(ID, benchmark=game_program()) as env:
        yield env


@pytest.fixture(params=["InlinerOrder", "AnyOrder"])
def env(request, shared_env):
    with shared_env.sibling() as env:
        env.action_space = request.param
        yield env


@pytest.fixture
def in_order(shared_env):
    with shared_env.sibling() as env:
        yield env


@pytest.fixture
def any_order(shared_env):
    with shared_env.sibling() as env:
        env.action_space = "AnyOrder"
        yield env


def play(env, seed, count=6):
    """Takes random steps of those that have an effect."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        action = rng.choice(np.flatnonzero(env.action_masks()))
        if env.step(int(action))[2]:
            return


def test_begins_with_clang_oz(env):
    env.reset()
    assert env.observation["ObjectTextSizeBytes"] == env.observation["ObjectTextSizeOz"]
    assert env.observation["IrInstructionCount"] == env.observation["IrInstructionCountDefault"]
    with compiler_gym.make("llvm-v0", benchmark=game_program(), action_space="Pipelines") as passes:
        passes.reset()
        passes.step(passes.action_space["clang<Oz>"])
        assert env.observation["Ir"] == passes.observation["Ir"]
        # With LLVM 23, the bytes may have one more kind of metadata: see llvm-versions.md.
        if llvm_version() < 23:
            assert env.observation["Bitcode"].tobytes() == passes.observation["Bitcode"].tobytes()


def test_the_variable_for_an_action_space_is_about_passes(in_order, monkeypatch):
    monkeypatch.setenv("COMPILER_GYM_ACTION_SPACE", "Legacy124")
    in_order.action_space = None
    assert in_order.action_space.name == "InlinerOrder"


CALLS = """
static int twice(int x) { for (int i = 0; i < x; i++) x ^= 2 * i; return x; }
static int more(int x) { return twice(x) * twice(x + 1); }
int f(int x) { return more(x) + more(2 * x) + twice(3 * x); }
"""


def test_answers_in_llvms_order(in_order):
    program = make_benchmark_from_source(CALLS, lang="c")
    names = list(in_order.reset(program, observation_space="InlineFeatures") * 0)
    assert len(in_order.observation["InlineFeatureNames"]["name"]) == len(names)
    done, asked = False, []
    while not done:
        question = in_order.observation["InlineQuestion"]
        assert question["number"] == len(asked)
        asked.append((question["caller"], question["callee"]))
        features, _, done, info = in_order.step(in_order.action_space["keep"])
        assert in_order.observation_space.contains(features)
        assert info["action_mask"].tolist() == [True] * 3
    decisions = in_order.observation["InlineDecisions"]
    assert list(zip(decisions["caller"], decisions["callee"], strict=True)) == asked
    assert len(asked) >= 4
    assert not np.any(decisions["inlined"])
    assert np.all(decisions["decided"])
    with pytest.raises(ValueError, match="reached its end"):
        in_order.step(0)


def test_decisions_in_any_order(any_order):
    any_order.reset()
    before = any_order.ir
    sites = any_order.observation["InlineSites"]
    site = next(
        i
        for i, (is_open, inlined) in enumerate(
            zip(sites["open"], sites["default_inlined"], strict=True)
        )
        if is_open and inlined
    )
    _, reward, done, info = any_order.step(any_order.action_space[f"site-{site}-keep"])
    assert not done
    assert not info["action_had_no_effect"]
    after = any_order.observation["InlineSites"]
    assert after["decision"][site] == 0
    assert after["inlined"][site] == 0
    assert after["kept"][site] > 0
    assert any_order.ir != before
    assert any_order.step(any_order.action_space[f"site-{site}-keep"])[3]["action_had_no_effect"]
    _, back, _, _ = any_order.step(any_order.action_space[f"site-{site}-default"])
    assert any_order.ir == before
    assert back == pytest.approx(-reward)


def test_masks_mark_the_actions_with_an_effect(any_order):
    any_order.reset()
    mask = any_order.action_masks()
    assert mask.shape == (any_order.action_space.n,)
    sites = any_order.observation["InlineSites"]
    for site, is_open in enumerate(sites["open"]):
        assert mask[any_order.action_space[f"site-{site}-inline"]] == bool(is_open)
    before = any_order.ir
    idle = np.flatnonzero(~mask)
    *_, info = any_order.multistep(idle[:: len(idle) // 9].tolist())
    assert info["action_had_no_effect"]
    assert (info["action_mask"] == mask).all()
    assert any_order.ir == before


def test_rewards_add_up_to_the_share_of_oz(env):
    for cost, default in (
        ("ObjectTextSizeBytes", "ObjectTextSizeOz"),
        ("IrInstructionCount", "IrInstructionCountDefault"),
    ):
        env.reset(reward_space=f"{cost.removesuffix('Bytes')}Norm")
        play(env, seed=1)
        first = env.observation[default]
        saved = (first - env.observation[cost]) / first
        assert env.episode_reward == pytest.approx(saved)
        assert saved != 0


def test_no_such_action(env):
    env.reset()
    for action in (-1, env.action_space.n):
        with pytest.raises(ValueError, match="is not in the range"):
            env.step(action)
    with pytest.raises(LookupError, match="is not in the space"):
        env.step("site-0-remove")
    assert env.actions == []


def test_forks_states_and_replays_are_the_same(env, tmp_path):
    env.reset(reward_space="ObjectTextSizeNorm")
    play(env, seed=4)
    with env.fork() as fork:
        assert fork.actions == env.actions
        assert fork.ir == env.ir
        play(fork, seed=14, count=2)
        assert len(fork.actions) > len(env.actions)
        state = pickle.loads(pickle.dumps(fork.state))
        bitcode = fork.observation["Bitcode"].tobytes()
        sites = fork.observation["InlineSites"]
        fork.write_input(tmp_path / "input.bc")
    env.reset()
    env.apply(state)
    assert env.commandline_to_actions(state.commandline) == env.actions
    assert env.episode_reward == pytest.approx(state.reward)
    assert env.observation["Bitcode"].tobytes() == bitcode
    np.testing.assert_equal(env.observation["InlineSites"], sites)
    run_opt(state.commandline, tmp_path)
    assert (tmp_path / "output.bc").read_bytes() == bitcode
    result = env.validate(state)
    assert result.okay(), result
    assert result.benchmark_semantics_validated


def test_own_programs(env, tmp_path):
    source = tmp_path / "program.c"
    source.write_text("int main(void) { return 0; }\n")
    env.reset(benchmark=make_benchmark(source))
    if env.action_space.name == "AnyOrder":
        assert not env.action_masks().any()
        assert not env.step(0)[2]
    else:  # There is nothing to ask.
        assert env.observation["InlineQuestion"]["number"] == -1
        *_, done, info = env.step(0)
        assert done
        assert info["action_had_no_effect"]


def test_a_service_that_plays_another_game():
    with compiler_gym.make("llvm-v0") as passes, pytest.raises(ValueError, match="--game=inlining"):
        compiler_gym.make(ID, service_connection=passes.service)


def test_a_game_by_its_name():
    with GameEnv(game="inlining", benchmark=game_program(), reward_space="ObjectTextSizeOz") as env:
        env.reset()
        *_, info = env.step(env.action_space["keep"])
        assert env.action_space.names == ["keep", "inline", "default"]
        assert info["action_mask"].tolist() == [True] * 3
        assert env.observation["InlineDecisions"]["inlined"][0] == 0


def test_a_game_without_a_name():
    with pytest.raises(ValueError, match='game="inlining"'):
        GameEnv()


def test_an_unknown_game():
    with pytest.raises(ServiceError, match=r"passes or inlining or .*, not 'poker'"):
        GameEnv(game="poker")
