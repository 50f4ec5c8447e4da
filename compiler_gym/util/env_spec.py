"""Specifications, descriptions and settings of environments."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from compiler_gym.errors import SessionNotFound
from compiler_gym.errors.nearest_names import did_you_mean
from compiler_gym.util.shell_format import plural

# Imported when needed, because wrappers import most of the package.
_TIME_LIMIT = "compiler_gym.wrappers.time_limit:TimeLimit"
_WITH_BENCHMARKS = "compiler_gym.wrappers.datasets:with_benchmarks"

_UNEXPECTED_ARGUMENT = re.compile(r"unexpected keyword argument '(\w+)'")

#: Stands for any number of actions, as in gymnasium.make().
NO_LIMIT = -1


@dataclass(frozen=True)
class EnvSpec:
    """The specification of a registered environment.

    Attributes:
        id: Its name, e.g. ``"llvm-ic-v0"``.
        entry_point: The function or class that makes it, or ``"module:name"`` of one.
        kwargs: Its arguments.
        reward_threshold: The sum of rewards that counts as success; for information.
        nondeterministic: True if the same actions may give different results.
        order_enforce: True if gym and gymnasium require ``reset()`` before ``step()``.
        max_episode_steps: The maximum number of actions in an episode; None for no limit.
        library_options: Further arguments of the functions by which gym and gymnasium register it.
        gymnasium_kwargs: Arguments that ``gymnasium.make()`` adds, unless its caller gives others.
    """

    id: str
    entry_point: str | Callable[..., Any]
    kwargs: dict[str, Any] = field(default_factory=dict)
    reward_threshold: float | None = None
    nondeterministic: bool = False
    order_enforce: bool = False
    max_episode_steps: int | None = None
    library_options: dict[str, Any] = field(default_factory=dict)
    gymnasium_kwargs: dict[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[..., Any]:
        """Returns the entry point."""
        return _load(self.entry_point)

    def make(
        self,
        max_episode_steps: int | None = None,
        benchmarks: Any = None,
        random_benchmarks: bool = False,
        wrappers: Iterable[Callable[[Any], Any]] = (),
        part: str | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        balance: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Makes the environment, as ``compiler_gym.make()`` does."""
        choice = {"part": part, "min_size": min_size, "max_size": max_size, "balance": balance}
        check_benchmark_choice(benchmarks, random_benchmarks, kwargs, choice)
        wrappers = checked_wrappers(wrappers)
        limit = self.limit(max_episode_steps)
        env = self.make_plain(limit, kwargs)
        try:
            if benchmarks is not None:
                env = _load(_WITH_BENCHMARKS)(env, benchmarks, random_benchmarks, **choice)
            for wrap in wrappers:
                env = wrap(env)
            return env if limit is None else _load(_TIME_LIMIT)(env, limit)
        except BaseException:
            env.close()
            raise

    def limit(self, max_episode_steps: int | None) -> int | None:
        """Returns the limit of an episode if ``make()`` is called with a number."""
        limit = self.max_episode_steps if max_episode_steps is None else max_episode_steps
        return None if limit == NO_LIMIT else limit

    def make_plain(self, limit: int | None, kwargs: dict[str, Any]) -> Any:
        """Makes the environment without wrappers. Its spec has the limit."""
        entry_point = self.load()
        try:
            env = entry_point(**{**self.kwargs, **kwargs})
        except TypeError as error:
            raise _explained(error, entry_point, kwargs) from error
        env.unwrapped.spec = replace(self, max_episode_steps=limit)
        return env


def check_benchmark_choice(
    benchmarks: Any, is_random: bool, kwargs: dict[str, Any], choice: dict[str, Any]
) -> None:
    """Raises TypeError if these arguments of ``make()`` contradict each other."""
    if benchmarks is None and is_random:
        raise TypeError("random_benchmarks=True needs benchmarks=... to choose from")
    given = [key for key, value in choice.items() if value is not None]
    if benchmarks is None and given:
        raise TypeError(f"{', '.join(given)}: expected benchmarks=... to choose from")
    if benchmarks is not None and kwargs.get("benchmark") is not None:
        raise TypeError("Give either benchmark=... for all episodes, or benchmarks=...")


def checked_wrappers(wrappers: Iterable[Callable[[Any], Any]]) -> list[Callable[[Any], Any]]:
    """Returns the wrappers as a list. Raises TypeError if they are not several, or are none."""
    found = None if callable(wrappers) or isinstance(wrappers, str) else list(wrappers)
    if found is None or not all(map(callable, found)):
        raise TypeError(
            "expected a list of wrappers, such as wrappers=[compiler_gym.wrappers.AutophaseNorm], "
            f"got {wrappers!r}"
        )
    return found


def _explained(
    error: TypeError, entry_point: Callable[..., Any], kwargs: dict[str, Any]
) -> TypeError:
    """Returns the error for an argument that does not exist, with arguments that look like it."""
    match = _UNEXPECTED_ARGUMENT.search(str(error))
    if match is None or match[1] not in kwargs:
        return error
    # A class passes arguments on to its base classes.
    functions = [each.__init__ for each in getattr(entry_point, "__mro__", ())] or [entry_point]
    known = {name for each in functions for name in inspect.signature(each).parameters}
    known |= set(inspect.signature(EnvSpec.make).parameters)
    names = sorted(known - {"self", "args", "kwargs"})
    return TypeError(
        f"There is no argument {match[1]!r} of the environment.{did_you_mean(match[1], names)} "
        f"There are: {', '.join(names)}"
    )


def _load(entry_point: str | Callable[..., Any]) -> Callable[..., Any]:
    if not isinstance(entry_point, str):
        return entry_point
    module, _, name = entry_point.partition(":")
    return getattr(importlib.import_module(module), name)


# One-line descriptions of environments.


def describe_env(env: Any, known_costs: Callable[[], str]) -> str:
    """Describes an environment in any state, in one line. Computes nothing.

    Args:
        env: The environment. Its construction may have failed halfway.
        known_costs: Describes the known costs of the program. Only called during an episode.

    Returns:
        Its id, the program, the number of actions, and the costs.
    """
    name = type(env).__name__
    try:
        name = env.spec.id if env.spec else name
        return f"<{name}: {_describe_episode(env, known_costs)}>"
    except Exception:  # A broken environment can be printed, too.
        return f"<{name}: not usable>"


def _describe_episode(env: Any, known_costs: Callable[[], str]) -> str:
    try:
        _ = env.episode_walltime
    except SessionNotFound:  # Finding the next benchmark may need the service.
        return "not reset yet"
    count = len(env.actions)
    if not env.in_episode:
        return f"closed after {plural(count, 'action')}"
    return ", ".join(filter(None, [str(env.benchmark), plural(count, "action"), known_costs()]))


# The settable attributes of an environment, for adapters around it.


def is_setting(env: object, name: str, writable: bool = False) -> bool:
    """Returns true if an attribute belongs to an environment, not to a wrapper.

    These are the public properties of its class and its public attributes. For a wrapper, they are
    those of the environment inside and the properties of wrappers. Plain attributes of wrappers are
    their own. No property is evaluated.

    Args:
        env: The environment. Wrappers have the one inside as their attribute ``env``.
        name: The name of the attribute.
        writable: Leave out properties that cannot be set.
    """
    if name.startswith("_"):
        return False
    while not isinstance(found := getattr(type(env), name, None), property):
        attributes = vars(env)
        if "env" not in attributes:
            return name in attributes
        env = attributes["env"]
    return found.fset is not None or not writable
