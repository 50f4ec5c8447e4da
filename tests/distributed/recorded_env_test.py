"""Recorded episodes that are played without a compiler."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from compiler_gym.distributed.recorded_env import RecordedEnv
from compiler_gym.distributed.rows import RowWriter, encode, schema_of
from compiler_gym.spaces import Box, Sequence

SPACES = {"Vector": Box(0, 9, shape=(2,), dtype=np.int64), "Text": Sequence("Text", dtype=str)}


def row(actions: str, program: str = "benchmark://a/b", **changes) -> dict:
    """An episode whose observations are the number of actions and that of "x"."""
    counts = [(n, actions[:n].count("x")) for n in range(len(actions) + 1)]
    facts = {
        "episode": program + actions, "program": program, "program_hash": "", "environment": "e-v0",
        "compiler": "22", "policy": "actions", "seed": 0, "reward": "Reward",
        "actions": [*actions], "rewards": [float(each == "x") for each in actions],
        "sizes": [9 - x for _, x in counts], "end": None, "failed_action": None, "error": None,
        "observation_Vector": [np.array(each) for each in counts],
        "observation_Text": [str(each) for each in counts],
    }  # fmt: skip
    return facts | changes


@pytest.fixture
def table(tmp_path):
    def write(*rows: dict):
        with RowWriter(tmp_path, schema_of(SPACES)) as writer:
            for each in rows:
                writer.write(encode(each, schema_of(SPACES)))
        return tmp_path

    return write


def test_episodes_with_the_same_beginning_are_one_tree(table):
    env = RecordedEnv(table(row("xyx"), row("xz"), row("z", "benchmark://a/c")), "Vector")
    assert env.action_names == ["x", "y", "z"]
    assert env.programs == ["benchmark://a/b", "benchmark://a/c"]
    observation, info = env.reset(options={"program": "benchmark://a/b"})
    assert info == {"program": env.program} == {"program": "benchmark://a/b"}
    assert observation.tolist() == [0, 0]
    assert env.action_masks().tolist() == [True, False, False]
    observation, reward, terminated, truncated, info = env.step(np.int64(0))
    assert observation.tolist() == [1, 1]
    assert (reward, terminated, truncated, info, env.size) == (1, False, False, {}, 8)
    assert env.action_masks().tolist() == [False, True, True]
    assert env.step(1)[0].tolist() == [2, 1]
    assert env.step(0)[0].tolist() == [3, 2]


def test_what_was_not_recorded_truncates_the_episode(table):
    env = RecordedEnv(table(row("xy")), "Vector")
    env.reset()
    env.step(0)
    observation, reward, terminated, truncated, info = env.step(0)
    assert (observation.tolist(), reward, terminated, truncated) == ([1, 1], 0, False, True)
    assert info["error_type"] == "NotRecorded"
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset()
    for action in (-1, 2):
        with pytest.raises(ValueError, match="from 0 to 1"):
            env.step(action)


def test_ends_of_episodes(table):
    failed = {"end": "ServiceError", "failed_action": "z"}
    env = RecordedEnv(table(row("xx", end="done"), row("y", **failed)), "Vector")
    env.reset()
    env.step(0)
    assert env.step(0)[2]
    env.reset()
    env.step(1)
    _, reward, terminated, truncated, info = env.step(2)
    assert (reward, terminated, truncated) == (0, True, False)
    assert info["error_type"] == "ServiceError"


def test_programs_are_drawn_by_the_seed(table):
    folder = table(*(row("x", f"benchmark://a/{n}") for n in range(9)))

    def drawn(seed):
        env = RecordedEnv(folder, "Vector")
        return [env.reset(seed=seed)[1]["program"], *(env.reset()[1]["program"] for _ in range(9))]

    assert drawn(1) == drawn(1) != drawn(2)
    with pytest.raises(LookupError, match="no program"):
        RecordedEnv(folder, "Vector").reset(options={"program": "benchmark://a/x"})


def test_names_of_actions_may_be_those_of_another_environment(table):
    folder = table(row("xy"))
    env = RecordedEnv(folder, "Vector", action_names=["z", "y", "x"])
    env.reset()
    assert env.action_masks().tolist() == [False, False, True]
    with pytest.raises(LookupError, match="no action 'y'"):
        RecordedEnv(folder, "Vector", action_names=["x"])


@pytest.mark.parametrize(
    ("rows", "observation", "message"),
    [
        ([row("x")], None, "one of Vector, Text"),
        ([row("x")], "Vectr", "Vector"),
        ([row("x")], "Text", "of numbers"),
        ([row("x", reward=None)], "Vector", "--reward"),
        ([row("x"), row("y", reward="Other")], "Vector", "Other and Reward"),
        ([row("xy"), row("xx", rewards=[0.5, 1])], "Vector", "same results"),
        ([row("", error="lost")], "Vector", "failed ones only"),
    ],
)
def test_tables_that_cannot_be_played(table, rows, observation, message):
    folder = table(*rows)
    with pytest.raises((ValueError, LookupError), match=message):
        RecordedEnv(folder, observation)


def test_no_table(tmp_path):
    with pytest.raises(FileNotFoundError, match="compiler-gym record"):
        RecordedEnv(tmp_path / "none")


def test_the_interface_is_that_of_gymnasium(table):
    check_env(RecordedEnv(table(row("xyz"), row("y")), "Vector"), skip_render_check=True)
