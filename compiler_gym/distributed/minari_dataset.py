"""Recorded episodes as datasets of Minari, the format of offline reinforcement learning, and back.

Minari: https://minari.farama.org. Its datasets are in ``$MINARI_DATASETS_PATH``, by default in
``~/.minari/datasets``.
"""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compiler_gym.distributed.recorded_env import DONE, RecordedEnv, observed, read_episodes
from compiler_gym.distributed.rows import RowWriter, Trajectory, encode, schema_of
from compiler_gym.util.optional_packages import require

_KEY = "compiler_gym"
# What a step of Minari has itself.
_LISTS = ("actions", "rewards", "observations")


def check_name(dataset_id: str) -> None:
    """Checks the name of a dataset. Minari itself would leave a folder of a wrong name.

    Raises:
        EnvironmentNotSupported: If Minari is not installed.
        ValueError: If Minari refuses the name.
    """
    for name in ("minari", "h5py", "PIL"):  # Else Minari fails in the middle, too.
        require(name)
    require("minari.dataset.minari_dataset").parse_dataset_id(dataset_id)


def to_minari(
    folder: str | Path,
    dataset_id: str,
    observation: str | None = None,
    action_names: Sequence[str] | None = None,
    **about: Any,
) -> Any:
    """Makes a dataset of the episodes of a table. Those without an action are left out.

    Actions are numbers, those of :class:`RecordedEnv`. Observations are int64 or float64. The last
    step of an episode is a termination if the compiler ended it, and a truncation otherwise. The
    options of an episode have its ``program``.

    Args:
        folder: The folder of the table.
        dataset_id: The name of the dataset, such as ``"llvm/kernels/random-v0"``.
        observation: As that of :class:`RecordedEnv`.
        action_names: As those of :class:`RecordedEnv`.
        **about: Other arguments of ``minari.create_dataset_from_buffers``, such as ``author``.

    Returns:
        The ``minari.MinariDataset``.

    Raises:
        EnvironmentNotSupported: If Minari is not installed.
        ValueError: If no episode has an action, or Minari refuses the name, such as a taken one.
        Exception: See :class:`RecordedEnv`.
    """
    check_name(dataset_id)
    recorded = read_episodes(Path(folder))
    env = RecordedEnv(recorded, observation, action_names)
    numbers = {name: number for number, name in enumerate(env.action_names)}
    episodes = [each for each in recorded if each.actions]
    buffers = [
        _buffer_of(index, each, env.observation_name, numbers)
        for index, each in enumerate(episodes)
    ]
    if not episodes:
        raise ValueError(f"expected an episode with actions in {folder}, got none")
    first = episodes[0]
    facts = {
        "action_space": env.action_space,
        "observation_space": env.observation_space,
        "algorithm_name": ", ".join(sorted({each.policy for each in episodes})),
        "description": f"{first.environment}, compiler {first.compiler}, reward {first.reward}",
    }
    with warnings.catch_warnings():
        # Minari misses an environment and an author.
        warnings.filterwarnings("ignore", module="minari")
        dataset = require("minari").create_dataset_from_buffers(
            dataset_id, buffers, **facts | about
        )
    names = {"observation": env.observation_name, "action_names": env.action_names}
    dataset.storage.update_metadata({_KEY: names})
    return dataset


def _buffer_of(
    index: int, episode: Trajectory, observation: str | None, numbers: Mapping[str, int]
) -> Any:
    """Returns an episode as Minari's buffer."""
    ends = np.zeros((2, len(episode.actions)), dtype=bool)
    ends[0 if episode.end == DONE else 1, -1] = True
    row = {name: value for name, value in vars(episode).items() if name not in _LISTS}
    return require("minari").data_collector.EpisodeBuffer(
        id=index,
        options={"program": episode.program, _KEY: json.dumps(row)},
        observations=np.stack([*observed(episode, observation)]),
        actions=np.array([numbers[name] for name in episode.actions]),
        rewards=[*episode.rewards],
        terminations=[*ends[0]],
        truncations=[*ends[1]],
    )


def from_minari(dataset: Any, folder: str | Path) -> None:
    """Writes a dataset of :func:`to_minari` as a table.

    Args:
        dataset: The ``minari.MinariDataset``.
        folder: The folder of the table. Episodes are added to those that it has.

    Raises:
        ValueError: If the dataset was made by something else, or the table has other columns.
    """
    names = dataset.storage.metadata.get(_KEY)
    if names is None:
        raise ValueError(f"expected a dataset of to_minari(), got {dataset.id}")
    name = names["observation"]
    schema = schema_of({} if name is None else {name: dataset.observation_space})
    with RowWriter(Path(folder), schema) as writer:
        for row in _rows_of(dataset, name, names["action_names"]):
            writer.write(encode(row, schema))


def _rows_of(
    dataset: Any, observation: str | None, action_names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    indices = dataset.episode_indices
    facts = dataset.storage.get_episode_metadata(indices)
    for episode, metadata in zip(dataset.iterate_episodes(indices), facts, strict=True):
        row = json.loads(metadata["options"][_KEY])
        row["actions"] = [action_names[number] for number in episode.actions]
        row["rewards"] = [*map(float, episode.rewards)]
        if observation is not None:
            row[f"observation_{observation}"] = [*episode.observations]
        yield row
