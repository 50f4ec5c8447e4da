"""What is known about a registered environment."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

# Loaded when needed: wrappers need most of the package.
_TIME_LIMIT = "compiler_gym.wrappers.time_limit:TimeLimit"
_WITH_BENCHMARKS = "compiler_gym.wrappers.datasets:with_benchmarks"

# As in gymnasium.make().
_NO_LIMIT = -1


@dataclass(frozen=True)
class EnvSpec:
    """What there is to know about a registered environment.

    Attributes:
        id: Its name, e.g. ``"llvm-ic-v0"``.
        entry_point: What to call to make it: a function or class, or ``"module:name"`` of one.
        kwargs: The arguments to call it with.
        reward_threshold: The sum of rewards that counts as success; for information.
        nondeterministic: Whether the same actions may give different results.
        order_enforce: Whether gym and gymnasium insist on ``reset()`` before ``step()``.
        max_episode_steps: How many actions an episode has at most; None for any number.
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

    def make(
        self,
        max_episode_steps: int | None = None,
        benchmarks: Any = None,
        random_benchmarks: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Makes the environment, as ``compiler_gym.make()`` does."""
        if benchmarks is None and random_benchmarks:
            raise TypeError("random_benchmarks=True says how to choose among benchmarks=...")
        if benchmarks is not None and kwargs.get("benchmark") is not None:
            raise TypeError("Give either benchmark=... for all episodes, or benchmarks=...")
        limit = self.max_episode_steps if max_episode_steps is None else max_episode_steps
        env = _load(self.entry_point)(**{**self.kwargs, **kwargs})
        if limit == _NO_LIMIT:
            limit = None
        env.unwrapped.spec = replace(self, max_episode_steps=limit)
        try:
            if benchmarks is not None:
                env = _load(_WITH_BENCHMARKS)(env, benchmarks, random_benchmarks)
            return env if limit is None else _load(_TIME_LIMIT)(env, limit)
        except BaseException:
            env.close()
            raise


def _load(entry_point: str | Callable[..., Any]) -> Callable[..., Any]:
    if not isinstance(entry_point, str):
        return entry_point
    module, _, name = entry_point.partition(":")
    return getattr(importlib.import_module(module), name)
