"""Recorded episodes that are played without a compiler, or become datasets of Minari."""

import gymnasium
import minari
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from compiler_gym.distributed.minari_dataset import from_minari, to_minari
from compiler_gym.distributed.recorded_env import RecordedEnv, read_episodes
from compiler_gym.distributed.rows import RowWriter, encode, fingerprint, schema_of
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
    observation, _, terminated, truncated, _ = env.step(np.array(0))
    assert (observation.tolist(), terminated, truncated) == ([3, 2], False, True)


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
    with pytest.raises(TypeError):
        env.step(0.5)


def test_ends_of_episodes(table):
    failed = {"end": "ServiceError", "failed_action": "z"}
    env = RecordedEnv(table(row("xx", end="done"), row("y", **failed)), "Vector")
    env.reset()
    env.step(0)
    assert env.step(0)[2]
    env.reset()
    assert env.step(1)[2:4] == (False, False)
    assert env.action_masks().tolist() == [False, False, True]
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
    with pytest.raises(LookupError, match="no option"):
        RecordedEnv(folder, "Vector").reset(options={"programs": "benchmark://a/1"})


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
        ([row("x"), row("y", program_hash="other")], "Vector", "several of this name"),
        ([row("", error="lost")], "Vector", "failed ones only"),
        ([row("xy", rewards=[1])], "Vector", "all 2 actions .* 1 rewards"),
        ([row("xy", sizes=[9, 8])], "Vector", "all 2 actions .* 2 sizes"),
        ([row("xy", observation_Vector=[])], "Vector", "all 2 actions .* 0 observations"),
    ],
)
def test_tables_that_cannot_be_played(table, rows, observation, message):
    folder = table(*rows)
    with pytest.raises((ValueError, LookupError), match=message):
        RecordedEnv(folder, observation)


def test_episodes_that_were_read_before(table):
    folder = table(row("xy"), row("x", "benchmark://a/c"))
    env = RecordedEnv(read_episodes(folder), "Vector", ["y", "x"])
    assert env.programs == RecordedEnv(folder, "Vector").programs
    env.reset(options={"program": "benchmark://a/b"})
    assert env.step(1)[0].tolist() == [1, 1]


def test_no_table(tmp_path):
    with pytest.raises(FileNotFoundError, match="compiler-gym record"):
        RecordedEnv(tmp_path / "none")


def test_the_interface_is_that_of_gymnasium(table):
    check_env(RecordedEnv(table(row("xyz"), row("y")), "Vector"), skip_render_check=True)


@pytest.fixture
def datasets(tmp_path, monkeypatch):
    """A folder for the datasets of Minari."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))


def test_minari_and_back(table, datasets, tmp_path):
    spaces = {"Vector": SPACES["Vector"]}
    rows = [row("xyx"), row("xz", end="done"), row("", end="E", failed_action="y")]
    with RowWriter(tmp_path / "table", schema_of(spaces)) as writer:
        for each in rows:
            del each["observation_Text"]
            writer.write(encode(each, schema_of(spaces)))
    dataset = to_minari(tmp_path / "table", "llvm/test-v0", author_email="ada@example.com")
    first, second = dataset.iterate_episodes()
    assert first.actions.tolist() == [0, 1, 0]
    assert first.rewards.tolist() == [1, 0, 1]
    assert first.observations.tolist() == [[0, 0], [1, 1], [2, 1], [3, 2]]
    assert first.truncations.tolist() == [False, False, True]
    assert second.terminations.tolist() == [False, True]
    assert not first.terminations.any() and not second.truncations.any()
    from_minari(minari.load_dataset("llvm/test-v0"), tmp_path / "again")
    with RowWriter(tmp_path / "again", schema_of(spaces)) as writer:
        writer.write(encode(rows[2], schema_of(spaces)))  # It has no action.
    assert fingerprint(tmp_path / "again") == fingerprint(tmp_path / "table")


def test_no_episode_for_minari(table, datasets):
    with pytest.raises(ValueError, match="an episode with actions"):
        to_minari(table(row("", end="E", failed_action="y")), "llvm/test-v0", "Vector")
