import pickle

import numpy as np
import pytest

ID = "llvm-inline-regalloc-v0"


pytestmark = pytest.mark.usefixtures("shared_env")


def answer_calls(env, seed):
    """Answers the inliner, at random now and then, until the register allocator asks."""
    rng = np.random.default_rng(seed)
    while env.observation["InlineQuestion"]["number"] >= 0:
        env.step("inline" if rng.random() < 0.05 else "default")


def test_default_answers_all_and_saves_nothing(env, tmp_path):
    before = env.observation["ObjectFile"].tobytes()
    tables = ("InlineDecisions", "Evictions")
    calls, registers = (len(env.observation[each]["default"]) for each in tables)
    assert min(calls, registers) > 10
    *_, done, _ = env.multistep(["default"] * (calls + registers - 1))
    assert not done
    *_, done, info = env.step("default")
    assert done
    assert info["action_mask"].tolist() == [False] * 35 + [True]
    assert env.episode_reward == 0
    assert env.write_object(tmp_path / "made.o").read_bytes() == before


def test_features_and_masks_are_those_of_the_open_question(env):
    calls = len(env.observation["InlineFeatures"])
    features = env.observation["DecisionFeatures"]
    assert features in env.observation_space
    assert features[0] == 1
    assert (features[1 : 1 + calls] == env.observation["InlineFeatures"]).all()
    assert not features[1 + calls :].any()
    assert env.action_masks().tolist() == [True, True] + [False] * 33 + [True]
    answer_calls(env, seed=1)
    features = env.observation["DecisionFeatures"]
    assert not features[: 1 + calls].any()
    assert (features[1 + calls :] == env.observation["EvictionFeatures"]).all()
    mask = env.observation["EvictionMask"].astype(bool)
    assert env.action_masks().tolist() == [False, False, *mask, True]


def test_answers_to_another_question(env):
    with pytest.raises(ValueError, match="keep, inline, default, got none"):
        env.step("none")
    answer_calls(env, seed=1)
    with pytest.raises(ValueError, match="got keep"):
        env.multistep(["keep"])
    assert not env.step("default")[2]


def test_rewards_are_savings_of_the_object_file(env):
    answer_calls(env, seed=2)
    for _ in range(5):
        env.step(int(np.flatnonzero(env.action_masks())[0]))
    before, now = (env.observation[f"ObjectTextSize{each}"] for each in ("Oz", "Bytes"))
    assert before != now
    assert env.episode_reward == pytest.approx((before - now) / before)


def test_forks_and_saved_states_are_the_same(env):
    answer_calls(env, seed=3)
    for _ in range(4):
        env.step(int(np.flatnonzero(env.action_masks())[0]))
    object_file = env.observation["ObjectFile"].tobytes()
    with env.fork() as fork:
        assert fork.observation["ObjectFile"].tobytes() == object_file
    state = pickle.loads(pickle.dumps(env.state))
    assert state.commandline.startswith("decisions<")
    assert env.commandline_to_actions(state.commandline) == env.actions
    env.reset()
    env.apply(state)
    assert env.observation["ObjectFile"].tobytes() == object_file
    result = env.validate()
    assert result.okay(), result
    assert result.benchmark_semantics_validated
