"""A wrapper that logs all states of an LLVM environment to a database."""

import copy
import json
import pickle
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from typing_extensions import override

from compiler_gym.envs.compiler_env import CompilerEnv, StepResult
from compiler_gym.envs.running_step import ConvertedStep, RunningStep
from compiler_gym.errors import BenchmarkInitError
from compiler_gym.spaces import Reward
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.wrappers.compiler_env_wrapper import CompilerEnvWrapper

_SCHEMA = """
CREATE TABLE IF NOT EXISTS Observations (
  state_id TEXT NOT NULL PRIMARY KEY,
  ir_instruction_count INTEGER NOT NULL,
  compressed_llvm_ir BLOB NOT NULL,
  pickled_compressed_programl BLOB NOT NULL,
  autophase TEXT NOT NULL,
  instcount TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS States (
  benchmark_uri TEXT NOT NULL,
  done INTEGER NOT NULL,
  ir_instruction_count_oz_reward REAL,
  state_id TEXT NOT NULL REFERENCES Observations(state_id),
  actions TEXT NOT NULL,
  PRIMARY KEY (benchmark_uri, actions)
);
"""

_REWARD = "IrInstructionCountOz"
_OBSERVATIONS = ("IrSha1", "IrInstructionCount", "Ir", "Programl", "Autophase", "InstCount")

# Several environments may write to one database; each waits for the others.
_LOCK_SECONDS = 300


class _State(NamedTuple):
    """A row of the table of states."""

    benchmark_uri: str
    done: int
    ir_instruction_count_oz_reward: float
    state_id: str
    actions: str


class SynchronousSqliteLogger(CompilerEnvWrapper):
    """Writes all states of an LLVM environment, and observations of them, to an SQLite database.

    Steps are slower by the time of the observations. Failed steps are not logged. Forks, other
    environments and other processes may write to the same database. :meth:`flush` and :meth:`close`
    write pending rows. There are two tables:

    - ``States``: ``benchmark_uri``; ``done``, 0 or 1; ``ir_instruction_count_oz_reward``, the sum
      of that reward since the reset; ``state_id``; ``actions``, since the reset, as numbers
      separated by blanks. A state that is met again takes the place of its row.
    - ``Observations``, one row for each program: ``state_id``, the ``IrSha1`` of the program;
      ``ir_instruction_count``; ``compressed_llvm_ir``, its ``Ir`` in UTF-8 compressed by zlib;
      ``pickled_compressed_programl``, its ``Programl`` pickled, then compressed by zlib;
      ``autophase`` and ``instcount``, lists in JSON.

    Args:
        env: An LLVM environment.
        db_path: The file of the database. Created if missing.
        commit_frequency_in_seconds: The interval after which a step writes pending rows.
        max_step_buffer_length: The number of pending states that makes a step write them.

    Raises:
        TypeError: If the environment does not have the observations of LLVM environments.
        sqlite3.Error: If the file cannot be created, or is not a database.
    """

    def __init__(
        self,
        env: CompilerEnv,
        db_path: str | Path,
        commit_frequency_in_seconds: float = 300,
        max_step_buffer_length: int = 5000,
    ):
        super().__init__(env)
        missing = {*_OBSERVATIONS} - {*env.observation.spaces}
        missing |= {_REWARD} - {*env.reward.spaces}
        if missing:
            raise TypeError(
                f"SynchronousSqliteLogger needs an LLVM environment; {env!r} does not have "
                f"{', '.join(sorted(missing))}"
            )
        self.db_path = Path(db_path)
        self.db_path.parent.mkdir(parents=True, exist_ok=True)
        self.commit_frequency_in_seconds = commit_frequency_in_seconds
        self.max_step_buffer_length = max_step_buffer_length
        # That of the environment would go on from each time it is asked for.
        self._oz_reward = copy.copy(env.reward.spaces[_REWARD])
        self._states: dict[tuple[str, str], _State] = {}
        self._observations: dict[str, tuple[Any, ...]] = {}
        self._last_commit = monotonic()
        with closing(self._connect()) as connection, connection:
            connection.executescript(_SCHEMA)

    def flush(self) -> None:
        """Writes the rows that are not written yet.

        Raises:
            sqlite3.Error: If rows cannot be written. They stay pending.
        """
        if self._states:
            with closing(self._connect()) as connection, connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO Observations VALUES (?, ?, ?, ?, ?, ?)",
                    self._observations.values(),
                )
                connection.executemany(
                    "INSERT OR REPLACE INTO States VALUES (?, ?, ?, ?, ?)", self._states.values()
                )
        self._states.clear()
        self._observations.clear()
        self._last_commit = monotonic()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.db_path, timeout=_LOCK_SECONDS)

    @override
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        observation = super().reset(*args, **kwargs)
        _, info = self._record(done=False)
        if "error_type" in info:
            raise BenchmarkInitError(
                f"Cannot observe {self.env.benchmark}. {info['error_type']}: "
                f"{info['error_details']}"
            )
        return observation

    @override
    def multistep(
        self,
        actions: Iterable[Any],
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None = None,
        reward_spaces: Iterable[str | Reward] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> StepResult:
        result = super().multistep(actions, observation_spaces, reward_spaces, *args, **kwargs)
        return self._recorded(result)

    @override
    def begin_multistep(self, actions: Iterable[Any], timeout: float = TIMEOUT) -> RunningStep:
        return ConvertedStep(super().begin_multistep(actions, timeout), self._recorded)

    def _recorded(self, result: StepResult) -> StepResult:
        observation, reward, done, info = result
        if self.env.in_episode:
            observing_failed, failure = self._record(done)
            done = done or observing_failed
            info.update(failure)
        return observation, reward, done, info

    def _record(self, done: bool) -> tuple[bool, dict[str, Any]]:
        """Records the current state.

        Returns:
            True if the episode has ended because it could not be observed, and the reason.
        """
        env = self.env.unwrapped  # Wrappers would take this for a step.
        (cost, *values), _, failed, info = env.multistep(
            (),
            observation_spaces=[*self._oz_reward.observation_spaces, *_OBSERVATIONS],
            reward_spaces=(),
        )
        if failed:
            return True, {key: info[key] for key in ("error_type", "error_details") if key in info}
        self._oz_reward.reset(env.benchmark, env.observation)
        reward = self._oz_reward.update([], [cost], env.observation)
        actions = " ".join(map(str, env.actions))
        state = _State(str(env.benchmark), int(done), reward, values[0], actions)
        self._states[state.benchmark_uri, actions] = state
        if state.state_id not in self._observations:
            self._observations[state.state_id] = _observations_row(*values)
        is_due = monotonic() - self._last_commit >= self.commit_frequency_in_seconds
        if is_due or len(self._states) >= self.max_step_buffer_length:
            self.flush()
        return False, {}

    @override
    def close(self) -> None:
        """Writes the rows that are not written yet. Always closes the environment."""
        try:
            self.flush()
        finally:
            super().close()

    @override
    def fork_attribute(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        # The parent writes its pending rows itself.
        return {} if name in ("_states", "_observations") else copy.copy(value)


def _observations_row(
    state_id: str, count: int, ir: str, graph: Any, autophase: Any, instcount: Any
) -> tuple[Any, ...]:
    """Returns the row of a program in the table of observations."""
    return (
        state_id,
        int(count),
        zlib.compress(ir.encode()),
        zlib.compress(pickle.dumps(graph)),
        json.dumps(autophase.tolist()),
        json.dumps(instcount.tolist()),
    )
