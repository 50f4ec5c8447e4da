import json
import pickle
import sqlite3
import zlib
from contextlib import closing

import networkx
import numpy as np
import pytest

from compiler_gym.errors import BenchmarkInitError
from compiler_gym.wrappers import SynchronousSqliteLogger, TimeLimit
from tests.service.toy_service import make_toy_env


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "states.db"


def rows(path, query):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


STATES = "SELECT benchmark_uri, done, actions FROM States ORDER BY rowid"


def test_states(small, path):
    with SynchronousSqliteLogger(small, path) as env:
        env.reset()
        mem2reg, dce = env.action_space["mem2reg"], env.action_space["dce"]
        env.step(mem2reg)
        env.multistep([dce, dce])
        assert rows(path, STATES) == []
        env.flush()
        uri = str(env.benchmark)
        expected = [(uri, 0, ""), (uri, 0, f"{mem2reg}"), (uri, 0, f"{mem2reg} {dce} {dce}")]
        assert rows(path, STATES) == expected
        env.flush()
        assert rows(path, STATES) == expected


def test_observations(small, path):
    with SynchronousSqliteLogger(small, path) as env:
        env.reset()
        env.step(env.action_space["mem2reg"])
        env.flush()
        query = "SELECT Observations.* FROM States JOIN Observations USING (state_id)"
        (row,) = rows(path, f"{query} WHERE actions != ''")
        assert row[:2] == (env.ir_sha1, env.observation["IrInstructionCount"])
        assert zlib.decompress(row[2]).decode() == env.ir
        graph = pickle.loads(zlib.decompress(row[3]))
        assert networkx.utils.graphs_equal(graph, env.observation["Programl"])
        np.testing.assert_array_equal(json.loads(row[4]), env.observation["Autophase"])
        np.testing.assert_array_equal(json.loads(row[5]), env.observation["InstCount"])


def test_same_program_is_written_once(small, path):
    with SynchronousSqliteLogger(small, path) as env:
        env.reset()
        for _ in range(3):
            env.step(env.action_space["mem2reg"])
        assert env.step(env.action_space["mem2reg"])[3]["action_had_no_effect"]
        env.flush()
        assert len(rows(path, "SELECT * FROM Observations")) == 2
        assert len(rows(path, "SELECT * FROM States")) == 5


def test_reward_is_that_of_the_state(small, path):
    small.reward_space = "IrInstructionCountOz"
    with SynchronousSqliteLogger(small, path) as env:
        env.reset()
        for name in ("mem2reg", "instcombine", "simplifycfg"):
            env.step(env.action_space[name])
        env.flush()
        query = "SELECT ir_instruction_count_oz_reward FROM States ORDER BY length(actions)"
        rewards = [reward for (reward,) in rows(path, query)]
        assert rewards[0] == 0
        assert rewards[-1] == pytest.approx(env.episode_reward)
        assert env.episode_reward > 0


def test_done(small, path):
    with SynchronousSqliteLogger(TimeLimit(small, 1), path) as env:
        env.reset()
        env.step(0)
    assert [done for _, done, _ in rows(path, STATES)] == [0, 1]


def test_steps_that_fail_leave_nothing(small, path):
    with SynchronousSqliteLogger(small, path) as env:
        env.reset()
        *_, done, info = env.step(0, timeout=1e-9)
        assert done
        assert info["error_type"]
    assert [actions for *_, actions in rows(path, STATES)] == [""]


class TestObservingFails:
    @pytest.fixture(autouse=True)
    def failing(self, small, monkeypatch):
        """Lets the environment fail when it is asked for observations only."""
        multistep = small.multistep
        info = {"error_type": "SessionDied", "error_details": "The program is too large"}

        def fail(actions, *args, observation_spaces=(), **kwargs):
            actions = list(actions)
            if not actions and self.fails:
                return [None] * len(observation_spaces), [], True, info
            kwargs |= {"observation_spaces": observation_spaces} if observation_spaces else {}
            return multistep(actions, *args, **kwargs)

        self.fails = True
        monkeypatch.setattr(small, "multistep", fail)

    def test_reset(self, small, path):
        env = SynchronousSqliteLogger(small, path)
        with pytest.raises(BenchmarkInitError, match="SessionDied"):
            env.reset()
        env.flush()
        assert rows(path, STATES) == []

    def test_step(self, small, path):
        with SynchronousSqliteLogger(small, path) as env:
            self.fails = False
            env.reset()
            self.fails = True
            *_, done, info = env.step(0)
            assert done
            assert info["error_type"] == "SessionDied"
            assert info["error_details"] == "The program is too large"
        assert len(rows(path, STATES)) == 1


def test_full_buffer(small, path):
    with SynchronousSqliteLogger(small, path, max_step_buffer_length=2) as env:
        env.reset()
        assert len(rows(path, STATES)) == 0
        env.step(0)
        assert len(rows(path, STATES)) == 2


def test_time_to_write(small, path):
    with SynchronousSqliteLogger(small, path, commit_frequency_in_seconds=0) as env:
        env.reset()
        assert len(rows(path, STATES)) == 1


def test_another_kind_of_environment(path):
    with make_toy_env() as env, pytest.raises(TypeError, match=r"LLVM environment.*Autophase"):
        SynchronousSqliteLogger(env, path)
    assert not path.exists()


def test_the_environment_is_closed_also_if_it_cannot_be_written(small, path):
    env = SynchronousSqliteLogger(small, path)
    env.reset()
    path.unlink()
    path.mkdir()
    with pytest.raises(sqlite3.Error):
        env.close()
    assert small.service is None
