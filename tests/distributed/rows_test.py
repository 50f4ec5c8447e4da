"""Tables of episodes."""

import duckdb
import numpy as np
import pandas
import pyarrow.parquet as pq
import pytest

from compiler_gym.distributed.episode import Episode
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.rows import (
    RowWriter,
    count_rows,
    encode,
    fingerprint,
    read_table,
    recorded_episodes,
    schema_of,
    trajectories,
)
from compiler_gym.spaces import Box, Scalar, Sequence
from tests.processes import run_interpreter

SPACES = {
    "Vector": Box(0, 9, shape=(2,), dtype=np.int64),
    "Number": Scalar("Number", 0, 9, np.int64),
    "Text": Sequence("Text", dtype=str),
}


def row(seed: int) -> dict:
    episode = Episode("benchmark://a/b", "m", "d", seed=seed, observations=tuple(SPACES))
    return episode.failed_row("") | {
        "compiler": "22",
        "actions": ["x"],
        "rewards": [0.5],
        "sizes": [3, 2],
        "error": None,
        "observation_Vector": [np.array([1, 2]), np.array([3, seed])],
        "observation_Number": [1, seed],
        "observation_Text": ["a", "b"],
    }


def write(folder, rows):
    for part in rows:
        with RowWriter(folder, schema_of(SPACES)) as writer:
            for each in part:
                writer.write(encode(each, schema_of(SPACES)))


def test_rows_do_not_depend_on_order_and_files(tmp_path):
    rows = [row(seed) for seed in range(5)]
    write(tmp_path / "one", [rows])
    write(tmp_path / "two", [[rows[3], rows[0]], [rows[4], rows[2], rows[1]]])
    assert fingerprint(tmp_path / "one") == fingerprint(tmp_path / "two")
    assert count_rows(tmp_path / "two") == (5, 5)
    assert count_rows(tmp_path / "nothing") == (0, 0)
    assert recorded_episodes(tmp_path / "two") == {each["episode"] for each in rows}
    write(tmp_path / "two", [[row(5)]])
    assert fingerprint(tmp_path / "one") != fingerprint(tmp_path / "two")


def test_rows_are_read_by_others(tmp_path):
    write(tmp_path, [[row(1)], [row(2)]])
    files = str(tmp_path / "*.parquet")
    query = f"select sum(s) from (select unnest(sizes) as s from '{files}')"
    assert duckdb.sql(query).fetchall() == [(10,)]
    frame = pandas.concat(map(pandas.read_parquet, sorted(tmp_path.glob("*.parquet"))))
    assert sorted(frame["seed"]) == [1, 2]


def test_trajectories_leave_out_failed_episodes(tmp_path):
    failed = Episode("benchmark://a/b", "m", "d", observations=tuple(SPACES)).failed_row("lost")
    write(tmp_path, [[row(1), failed]])
    (trajectory,) = trajectories(tmp_path)
    assert trajectory.observations == {
        "Vector": [[1, 2], [3, 1]],
        "Number": [1, 1],
        "Text": ["a", "b"],
    }
    assert (trajectory.actions, trajectory.rewards, trajectory.sizes) == (["x"], [0.5], [3, 2])
    assert "lost" in read_table(tmp_path)["error"].to_pylist()


def test_other_columns_are_an_error(tmp_path):
    write(tmp_path, [[row(1)]])
    with pytest.raises(ValueError, match="try another folder"):
        RowWriter(tmp_path, schema_of({}))
    with pytest.raises(ValueError, match="Graph"):
        schema_of({"Graph": Sequence("Graph", opaque_data_format="json://networkx")})
    with pytest.raises(FileNotFoundError, match="nothing"):
        read_table(tmp_path / "nothing")


@pytest.mark.parametrize(
    "read", [recorded_episodes, count_rows, read_table, lambda folder: [*trajectories(folder)]]
)
def test_a_damaged_file_is_named(tmp_path, read):
    (tmp_path / "episodes-000000.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"episodes-000000\.parquet"):
        read(tmp_path)


def test_a_file_without_some_columns(tmp_path):
    write(tmp_path, [[row(1)]])
    (path,) = tmp_path.glob("*.parquet")
    pq.write_table(pq.read_table(path).drop(["sizes", "end"]), path)
    with pytest.raises(ValueError, match=r"000000\.parquet without the columns sizes, end"):
        list(trajectories(tmp_path))


def test_an_episode_is_named_by_its_content():
    program = Program("benchmark://a/b", b"data", "m", "d")
    names = {
        Episode.job(program, **arguments).task.name
        for arguments in (
            {}, {"seed": 1}, {"steps": 1}, {"actions": ("x",)}, {"observations": ("Ir",)},
            {"reward": "r"}, {"environment": "e"}, {"arguments": {"a": 1}}, {"policy_file": b"x"},
        )
    }  # fmt: skip
    assert len(names) == 9
    assert Episode.job(program).task.name == Episode.job(program).task.name


def test_packages_are_imported_when_they_are_needed():
    script = "import compiler_gym.distributed, sys; print(*sys.modules)"
    assert not {"ray", "pyarrow"} & {*run_interpreter("-c", script).stdout.split()}
