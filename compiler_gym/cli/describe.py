"""``compiler-gym describe``: the spaces and datasets of an environment."""

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compiler_gym.cli.console import output, print_json, print_line, print_table
from compiler_gym.cli.options import (
    JsonOption,
    ServiceOption,
    complete_env,
    opened_env,
)
from compiler_gym.util.registration import COMPILER_GYM_ENVS, spec_of

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from compiler_gym.datasets import Dataset
    from compiler_gym.envs.compiler_env import CompilerEnv
    from compiler_gym.spaces import Sequence, SpaceSequence


class Part(str, Enum):
    """A part of the description that can be printed alone."""

    actions = "actions"
    observations = "observations"
    rewards = "rewards"
    datasets = "datasets"


def describe(
    env: Annotated[
        str | None,
        typer.Argument(help="The id of an environment.", autocompletion=complete_env),
    ] = None,
    part: Annotated[
        Part | None, typer.Argument(help="Describe only this part. This is how to list actions.")
    ] = None,
    like: Annotated[
        str, typer.Option(help="Only entries with this text in name or description.")
    ] = "",
    action_space: Annotated[
        str | None, typer.Option(help="Describe the actions of this action space.")
    ] = None,
    service: ServiceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe the spaces and datasets of an environment.

    Prints actions, observations, rewards and datasets. Without an id, lists the environments.

    \b
    Examples:
      compiler-gym describe
      compiler-gym describe llvm-v0
      compiler-gym describe llvm-v0 actions --like loop
      compiler-gym describe llvm-v0 observations --json
    """  # noqa: D301
    if env is None:
        rows = [
            {
                "environment": id,
                "observation": spec_of(id).kwargs.get("observation_space"),
                "reward": spec_of(id).kwargs.get("reward_space"),
            }
            for id in COMPILER_GYM_ENVS
        ]
        print_json(rows) if as_json else print_table(rows)
        return
    with opened_env(env, service, action_space=action_space) as opened:
        if as_json:
            tables = {name: table_of(opened, Part(name), like) for name in parts_of(part)}
            print_json(tables if part is None else tables[part.value])
            return
        if part is None:
            _print_overview(opened, env)
        for name in parts_of(part):
            if part is None and name == Part.actions.value:
                continue
            rows = table_of(opened, Part(name), like)
            if rows:
                print_table(rows, f"{name.capitalize()} of {env}" if part is None else None)
                print_line() if part is None else None
            else:
                print_line(f"No {name} like {like!r}.")


def parts_of(part: Part | None) -> list[str]:
    """Returns the names of the parts to describe; by default all."""
    return [each.value for each in Part] if part is None else [part.value]


def _print_overview(env: "CompilerEnv", id: str) -> None:
    reward, observation = env.reward_space, env.observation_space_spec
    spaces = ", ".join(f"{space.name} ({space.n})" for space in env.action_spaces)
    facts = {
        "environment": id,
        "compiler": env.compiler_version,
        "default program": env.benchmark,
        "default observation": observation.id if observation else "none",
        "default reward": reward.name if reward else "none",
        "action spaces": f"{spaces}; listed by: compiler-gym describe {id} actions",
    }
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        output().print(f"{name:{width}}{value}", soft_wrap=True)
    print_line()


def table_of(env: "CompilerEnv", part: Part, like: str = "") -> list[dict[str, Any]]:
    """Returns the rows of the table of a part of an environment.

    Args:
        env: The environment.
        part: The part.
        like: Only rows with this text, ignoring case.
    """
    rows = _ROWS[part](env)
    if not like:
        return rows
    return [row for row in rows if like.lower() in " ".join(map(str, row.values())).lower()]


def _actions(env: "CompilerEnv") -> list[dict[str, Any]]:
    space = env.action_space
    descriptions = getattr(space, "descriptions", None) or [""] * space.n
    pairs = zip(space.names, descriptions, strict=True)
    return [
        {"number": number, "action": name, "what it does": text}
        for number, (name, text) in enumerate(pairs)
    ]


def _observations(env: "CompilerEnv") -> list[dict[str, Any]]:
    return [
        {
            "observation": spec.id,
            "space": describe_space(spec.space),
            "deterministic": spec.deterministic,
            "platform": spec.platform_dependent,
        }
        for spec in env.observation.spaces.values()
    ]


def describe_space(space: "Space[Any]") -> str:
    """Returns a short description of a space's values, such as ``int64[56]`` or ``text``."""
    from gymnasium import spaces

    from compiler_gym.spaces import Scalar, Sequence, SpaceSequence

    if isinstance(space, Scalar):
        return space.dtype.name
    if isinstance(space, spaces.Box):
        return f"{space.dtype.name}[{', '.join(map(str, space.shape))}]"
    if isinstance(space, spaces.Dict | spaces.Tuple):
        return f"{type(space).__name__.lower()} of {len(space.spaces)}"
    if isinstance(space, Sequence) and space.dtype is str:
        return "text"
    if isinstance(space, Sequence | SpaceSequence):
        return f"list of {_describe_element(space)}"
    return type(space).__name__


def _describe_element(space: "Sequence | SpaceSequence") -> str:
    from gymnasium.spaces import Space

    from compiler_gym.spaces import SpaceSequence

    element = space.space if isinstance(space, SpaceSequence) else space.dtype
    if isinstance(element, Space):
        return describe_space(element)
    return getattr(element, "name", None) or element.__name__


def _rewards(env: "CompilerEnv") -> list[dict[str, Any]]:
    return [
        {
            "reward": space.name,
            "range": f"{space.range[0]:g} to {space.range[1]:g}",
            "success": space.success_threshold,
            "deterministic": space.deterministic,
            "platform": space.platform_dependent,
        }
        for space in env.reward.spaces.values()
    ]


def _datasets(env: "CompilerEnv") -> list[dict[str, Any]]:
    return [dataset_row(dataset) for dataset in env.datasets]


def dataset_row(dataset: "Dataset") -> dict[str, Any]:
    """Returns the row of a dataset in tables of them."""
    return {
        "dataset": dataset.name,
        "programs": dataset.size or "∞ or unknown",
        "installed": dataset.installed,
        "validatable": dataset.validatable,
        "description": dataset.description,
    }


_ROWS = {
    Part.actions: _actions,
    Part.observations: _observations,
    Part.rewards: _rewards,
    Part.datasets: _datasets,
}
