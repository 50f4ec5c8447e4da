"""Recorded episodes as an environment, which needs no compiler.

The episodes of a program are a tree: its nodes are states, its edges actions. An agent moves from
the root to a leaf, and gets what was recorded. Tuners of kernels are compared in the same way, on
tables of all configurations.
"""

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from typing_extensions import override

from compiler_gym.distributed.rows import Trajectory, files_of, trajectories
from compiler_gym.errors.nearest_names import unknown_name

#: The end of an episode that was done.
DONE = "done"
_NOT_RECORDED = "NotRecorded"

_Numbers = Mapping[str, int]


@dataclass(eq=False)
class _State:
    """A recorded state.

    Attributes:
        observation: The observation, an array.
        reward: The reward of the action before; 0 at the beginning.
        size: The IR instructions; None if the table does not have them.
        next: The states after actions.
        failures: The types of errors of the compiler, by the action that failed.
        is_end: Whether the episode was done.
    """

    observation: np.ndarray
    reward: float
    size: int | None
    next: "dict[int, _State]" = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    is_end: bool = False

    def is_like(self, other: "_State") -> bool:
        """Returns whether the results of the action before are the same."""
        return (
            self.reward == other.reward
            and self.size == other.size
            and np.array_equal(self.observation, other.observation)
        )


def _states_of(episode: Trajectory, observation: str | None) -> list[_State]:
    """Returns the states of an episode, without what follows them.

    Raises:
        ValueError: If an observation is not numbers, or not all actions have results.
    """
    values = observed(episode, observation)
    rewards = [0.0, *episode.rewards]
    sizes: Sequence[int | None] = episode.sizes or [None] * len(values)
    lengths = [len(values), len(rewards), len(sizes)]
    if lengths != [len(episode.actions) + 1] * 3:
        raise ValueError(
            f"expected results of all {len(episode.actions)} actions in episode {episode.episode}, "
            f"got {lengths[1] - 1} rewards, {lengths[2]} sizes and {lengths[0]} observations"
        )
    return [*map(_State, values, rewards, sizes)]


def _add(first: _State, states: Sequence[_State], episode: Trajectory, numbers: _Numbers) -> None:
    """Adds an episode to those that begin with a state.

    Args:
        first: The first state.
        states: The states of the episode.
        episode: The episode.
        numbers: The number of each action.

    Raises:
        ValueError: If another episode has other results of the same actions.
    """
    here = first
    for name, state in zip(["", *episode.actions], states, strict=True):
        if name:
            here = here.next.setdefault(numbers[name], state)
        if not here.is_like(state):
            raise ValueError(
                f"expected the same results of the same actions, got others for {episode.program} "
                f"in episode {episode.episode}; a reward of time cannot be played again"
            )
    if episode.end == DONE:
        here.is_end = True
    elif episode.end is not None and episode.failed_action is not None:
        here.failures[numbers[episode.failed_action]] = episode.end


class RecordedEnv(gymnasium.Env[Any, Any]):
    """Plays the table of ``compiler-gym record`` as an environment of gymnasium.

    Actions are numbers of :attr:`action_names`. An episode is truncated where no recorded one goes
    on. What was not recorded cannot be known: such an action truncates the episode, too, with the
    last observation, the reward 0 and ``info["error_type"] == "NotRecorded"``.
    :meth:`action_masks` tells which actions are known, in the form that ``MaskablePPO`` takes.

    ``reset()`` draws one of :attr:`programs`, unless ``options={"program": URI}`` names one.

    Args:
        table: The folder of the table, or the episodes of :func:`read_episodes`.
        observation: The observation, which has to be numbers. By default the only one that was
            recorded; with none, it is an array of shape ``(0,)``.
        action_names: The names of all actions, in the order of their numbers: those of the
            environment in which a policy shall play later. By default the recorded ones, sorted.

    Attributes:
        action_names: The names of the actions.
        observation_name: The name of the observation; None if there is none.
        programs: The URIs of the programs, sorted.

    Raises:
        FileNotFoundError: If there is no table.
        LookupError: If the observation was not recorded, or an action has no name.
        ValueError: If the table has no episode or no rewards, episodes of several environments,
            compilers or rewards, several programs of a name, or different results of the same
            actions.
    """

    def __init__(
        self,
        table: str | Path | Sequence[Trajectory],
        observation: str | None = None,
        action_names: Sequence[str] | None = None,
    ):
        episodes = read_episodes(Path(table)) if isinstance(table, str | Path) else table
        recorded = sorted({name for each in episodes for name in _actions_of(each)})
        self.action_names = [*(recorded if action_names is None else action_names)]
        numbers = {name: number for number, name in enumerate(self.action_names)}
        if missing := [name for name in recorded if name not in numbers]:
            raise unknown_name("action", missing[0], self.action_names)
        self.observation_name = _observation_of(episodes, observation)
        self._first: dict[str, _State] = {}
        shapes: dict[tuple[int, ...], None] = {}
        for each in episodes:
            states = _states_of(each, self.observation_name)
            shapes |= dict.fromkeys(state.observation.shape for state in states)
            _add(self._first.setdefault(each.program, states[0]), states, each, numbers)
        if len(shapes) > 1:
            raise ValueError(f"expected observations of one length, got {self.observation_name}")
        self.programs = sorted(self._first)
        self.action_space = spaces.Discrete(len(self.action_names))
        self.observation_space = _space_like(self._first[self.programs[0]].observation)
        self._program = self.programs[0]
        self._state: _State | None = None

    @property
    def program(self) -> str:
        """The URI of the program of the episode."""
        return self._program

    @property
    def size(self) -> int | None:
        """The IR instructions of the state; None if the table does not have them."""
        return self._now().size

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode.

        Args:
            seed: The seed of the programs that are drawn from now on.
            options: ``{"program": URI}`` for a certain program.

        Returns:
            The observation, and ``{"program": URI}``.

        Raises:
            LookupError: If there is no such program or option.
        """
        super().reset(seed=seed)
        if unknown := [name for name in options or {} if name != "program"]:
            raise unknown_name("option of reset()", unknown[0], ["program"])
        chosen = (options or {}).get("program")
        if chosen is None:
            chosen = self.programs[int(self.np_random.integers(len(self.programs)))]
        elif chosen not in self._first:
            raise unknown_name("program", str(chosen), self.programs)
        self._program, self._state = chosen, self._first[chosen]
        return self._state.observation.copy(), {"program": chosen}

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes an action.

        Args:
            action: Its number.

        Returns:
            The observation, the reward, whether the compiler ended the episode, whether it is
            truncated, and an empty dictionary or an error.

        Raises:
            ResetNeeded: If there is no episode.
            TypeError: If the action is not a whole number.
            ValueError: If there is no such action.
        """
        number = operator.index(action)
        state = self._now().next.get(number)
        if state is None:
            return self._step_without_state(number)
        self._state = state
        is_cut = not (state.is_end or state.next or state.failures)
        return state.observation.copy(), state.reward, state.is_end, is_cut, {}

    def _step_without_state(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Ends the episode, for an error of the compiler or because nothing was recorded."""
        if not 0 <= action < len(self.action_names):
            raise ValueError(
                f"expected an action from 0 to {len(self.action_names) - 1}, got {action}"
            )
        state, self._state = self._now(), None
        name = self.action_names[action]
        error = state.failures.get(action)
        if error is None:
            details = f"the table has no state after {name}; action_masks() has the known actions"
        else:
            details = f"{name} failed when it was recorded"
        info = {"error_type": error or _NOT_RECORDED, "error_details": details}
        return state.observation.copy(), 0.0, error is not None, error is None, info

    def action_masks(self) -> np.ndarray:
        """Returns bool [actions]: whether the result of an action in this state is known."""
        mask = np.zeros(len(self.action_names), dtype=bool)
        state = self._now()
        mask[[*state.next, *state.failures]] = True
        return mask

    def _now(self) -> _State:
        if self._state is None:
            raise gymnasium.error.ResetNeeded("expected an episode, got none; call reset() first")
        return self._state


def _actions_of(episode: Trajectory) -> list[str]:
    failed = [] if episode.failed_action is None else [episode.failed_action]
    return [*episode.actions, *failed]


def read_episodes(folder: Path) -> list[Trajectory]:
    """Returns the episodes of a table, sorted by their names.

    Raises:
        FileNotFoundError: If there is no table.
        ValueError: If they cannot be played together.
    """
    episodes = sorted(trajectories(folder), key=lambda episode: episode.episode)
    if not episodes:
        if not files_of(folder):
            raise FileNotFoundError(f"expected the table of `compiler-gym record` in {folder}")
        raise ValueError(f"expected episodes in {folder}, got failed ones only")
    for name in ("environment", "compiler", "reward"):
        values = sorted({str(getattr(each, name)) for each in episodes})
        if len(values) > 1:
            raise ValueError(f"expected one {name} in {folder}, got {' and '.join(values)}")
    hashes = {(each.program, each.program_hash) for each in episodes}
    if twice := [name for name, count in Counter(name for name, _ in hashes).items() if count > 1]:
        raise ValueError(f"expected one program {twice[0]} in {folder}, got several of this name")
    if episodes[0].reward is None:
        raise ValueError(f"expected rewards in {folder}, got none; record with --reward")
    return episodes


def _observation_of(episodes: Sequence[Trajectory], name: str | None) -> str | None:
    """Returns the name of the observation to use.

    Raises:
        LookupError: If it was not recorded.
        ValueError: If there are several, and none is named.
    """
    recorded = [*episodes[0].observations]
    if name is None:
        if len(recorded) > 1:
            raise ValueError(f"expected the name of an observation, one of {', '.join(recorded)}")
        return recorded[0] if recorded else None
    if name not in recorded:
        raise unknown_name("observation", name, recorded)
    return name


def observed(episode: Trajectory, name: str | None) -> Sequence[Any]:
    """Returns the observations of an episode as arrays of one dimension, int64 or float64.

    Args:
        episode: The episode.
        name: The name of the observation; None for arrays of shape ``(0,)``.

    Raises:
        ValueError: If they are not numbers.
    """
    if name is None:
        return [np.zeros(0)] * (len(episode.actions) + 1)
    values = [np.atleast_1d(np.asarray(each)) for each in episode.observations[name]]
    if any(each.dtype.kind not in "iuf" for each in values):
        raise ValueError(f"expected an observation of numbers, got {name}")
    return values


def _space_like(value: np.ndarray) -> spaces.Box:
    if value.dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, value.shape, np.dtype(value.dtype).type)
    limits = np.iinfo(value.dtype)
    return spaces.Box(int(limits.min), int(limits.max), value.shape, np.dtype(value.dtype).type)
