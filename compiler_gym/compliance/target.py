"""The target of a check: a service and the settings needed to use it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import compiler_gym
from compiler_gym.service.proto import Benchmark, File

#: The number of programs to take from a dataset. Some rules need two.
_PROGRAMS = 2


@dataclass(frozen=True)
class Target:
    """A service with its settings.

    Attributes:
        service: The executable. This Python runs a ``.py`` file.
        benchmarks: Programs for the service. Without any, little can be checked; two different ones
            allow more checks.
        arguments: Further arguments of the program.
        environment: Further environment variables.
        crash_action: The name or the number of an action that crashes.
        hang_action: The name or the number of an action that never ends.
        rewards: The names of the observations that each reward needs, by the name of the reward.
        derived: The names of derived observations of the environment.
    """

    service: Path
    benchmarks: Sequence[Benchmark] = ()
    arguments: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)
    crash_action: str | None = None
    hang_action: str | None = None
    rewards: dict[str, list[str]] | None = None
    derived: Sequence[str] = ()


def benchmark_of(text: str) -> Benchmark:
    """Returns the program for a path or URI.

    Args:
        text: The path of a file, whose contents are the program; or the URI of a program that the
            service knows by itself.

    Raises:
        FileNotFoundError: If it is neither.
    """
    if "://" in text and not text.startswith("file://"):
        return Benchmark(uri=text)
    path = Path(text.removeprefix("file://")).expanduser()
    if not path.is_file():
        raise FileNotFoundError(
            f"{text} is neither a file nor a URI: --benchmark takes the path of a program, or a "
            "URI such as benchmark://my-programs-v0/first"
        )
    return Benchmark(uri=path.absolute().as_uri(), program=File(contents=path.read_bytes()))


def benchmarks_of_dataset(name: str) -> list[Benchmark]:
    """Returns the first programs of a dataset.

    Args:
        name: ``module:Class`` of a dataset, whose constructor needs no arguments.

    Raises:
        ValueError: If there is no such class, or the dataset has no programs.
    """
    module_name, _, class_name = name.partition(":")
    try:
        make = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"--dataset {name}: {error}. Write it as MODULE:CLASS, where Python finds the module"
        ) from error
    found = first_benchmarks(make())
    if not found:
        raise ValueError(f"--dataset {name}: the dataset has no programs")
    return found


def first_benchmarks(dataset: Any) -> list[Benchmark]:
    """Returns the first programs of a :class:`compiler_gym.datasets.Dataset`."""
    return [benchmark.proto for benchmark in islice(dataset.benchmarks(), _PROGRAMS)]


def target_of_env(id: str, benchmarks: Sequence[str] = (), **changes: Any) -> Target:
    """Returns the service of a registered environment, with programs, and its rewards.

    Args:
        id: The id of the environment; ``module:id`` imports a module first, which registers it.
        benchmarks: Programs as for :func:`benchmark_of`, or URIs that the environment knows. By
            default its default program, and another one of the same dataset.
        **changes: Attributes of the target to change.

    Raises:
        LookupError: If there is no environment with that id.
        ValueError: If its service is not a program on this machine.
        ImportError: If there is no such module.
    """
    module_name, _, name = id.rpartition(":")
    if module_name:
        importlib.import_module(module_name)
    with compiler_gym.make(name) as made:
        env: Any = made
        endpoint = env.service.endpoint
        if not isinstance(endpoint, Path):
            raise ValueError(f"The service of {name} runs elsewhere; only a program can be checked")
        observed = {space.name for space in env.service.observation_spaces}
        found: dict[str, Any] = {
            "service": endpoint,
            "benchmarks": [_resolve(env, each) for each in benchmarks] or _default_programs(env),
            "arguments": tuple(env.service.opts.script_args),
            "environment": dict(env.service.opts.script_env),
            "rewards": {
                reward.name: list(reward.observation_spaces)
                for reward in env.reward.spaces.values()
            },
            "derived": sorted(set(env.observation.spaces) - observed),
        }
    return Target(**{**found, **changes})


def _resolve(env: Any, text: str) -> Benchmark:
    """Returns the program of a URI that the environment knows, or that of :func:`benchmark_of`."""
    try:
        return env.datasets.benchmark(
            text if "://" in text else Path(text).absolute().as_uri()
        ).proto
    except (LookupError, ValueError):
        return benchmark_of(text)


def _default_programs(env: Any) -> list[Benchmark]:
    """Returns the default program of an environment, and another one of the same dataset."""
    first = env.benchmark
    if first is None:
        return []
    found = {str(first.uri): first.proto}
    name = f"{first.uri.scheme}://{first.uri.dataset}"
    for dataset in env.datasets:
        if dataset.name == name and dataset.installed:
            found |= {benchmark.uri: benchmark for benchmark in first_benchmarks(dataset)}
    return list(found.values())[:_PROGRAMS]
