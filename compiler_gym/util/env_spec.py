"""What is known about a registered environment."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


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
        max_episode_steps: Always None: episodes are not limited unless by a wrapper.
    """

    id: str
    entry_point: str | Callable[..., Any]
    kwargs: dict[str, Any] = field(default_factory=dict)
    reward_threshold: float | None = None
    nondeterministic: bool = False
    order_enforce: bool = False
    max_episode_steps: None = None

    def make(self, **kwargs: Any) -> Any:
        """Makes the environment, as ``compiler_gym.make()`` does."""
        env = _load(self.entry_point)(**{**self.kwargs, **kwargs})
        env.unwrapped.spec = self
        return env


def _load(entry_point: str | Callable[..., Any]) -> Callable[..., Any]:
    if not isinstance(entry_point, str):
        return entry_point
    module, _, name = entry_point.partition(":")
    return getattr(importlib.import_module(module), name)
