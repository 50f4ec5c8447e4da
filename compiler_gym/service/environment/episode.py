"""The state of an episode since the last reset."""

import time
from dataclasses import dataclass, field
from typing import Any

from compiler_gym.datasets import Benchmark
from compiler_gym.service.proto import Event
from compiler_gym.spaces import Reward
from compiler_gym.util.random_state import shallow_copy
from compiler_gym.views import ObservationSpaceSpec


@dataclass
class Episode:
    """The record of an episode.

    Attributes:
        benchmark: The program.
        action_space: The action space at the beginning.
        actions: All actions, including those without effect and those that failed, but not those
            that the episode has recovered from.
        requests: The encoded actions of each step that had actions.
        counts: The number of actions in each request. A macro counts as several.
        refused: The positions in ``requests`` of requests that the service refused. The session
            continued.
        reward: The sum of the rewards, None if there is no default reward space.
        rewarded: The number of actions when ``reward`` was last updated.
        params: The session parameters that were sent, in order.
        observed: The observation spaces and values of the last step with the default ones, or of
            the reset.
        is_interrupted: True if a step was interrupted (Ctrl-C), so that the state of the session is
            unknown.
        beginning: The program before the actions, as text, if a session parameter has replaced it;
            else empty.
        start_time: The start of the episode, by :func:`time.monotonic`.
    """

    benchmark: Benchmark
    action_space: Any
    actions: list[Any] = field(default_factory=list)
    requests: list[list[Event]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)
    reward: float | None = None
    rewarded: int = 0
    params: list[tuple[str, str]] = field(default_factory=list)
    observed: tuple[tuple[ObservationSpaceSpec, ...], list[Any]] = ((), [])
    is_interrupted: bool = False
    beginning: str = ""
    start_time: float = field(default_factory=time.monotonic)

    @property
    def walltime(self) -> float:
        """Seconds since the episode began."""
        return time.monotonic() - self.start_time

    def copy(self) -> "Episode":
        """Returns an independent copy of the record."""
        clone = shallow_copy(self)
        clone.actions = self.actions.copy()
        clone.requests = self.requests.copy()
        clone.counts = self.counts.copy()
        clone.refused = self.refused.copy()
        clone.params = self.params.copy()
        return clone

    def add_reward(self, reward: float) -> None:
        """Adds the reward of a step to the sum."""
        self.reward = (self.reward or 0.0) + reward
        self.rewarded = len(self.actions)

    def known_costs(self, reward: Reward | None) -> str:
        """Returns the costs that a reward has computed, if they are those after the last action."""
        if reward is None or not self.actions or self.rewarded != len(self.actions):
            return ""
        return reward.known_costs()

    def begin_again(self, key: str, beginning: str) -> None:
        """Forgets the actions, because a session parameter has replaced their result.

        Args:
            key: The parameter that was sent. Its earlier values have no effect either.
            beginning: The program as text, see the attribute.
        """
        self.actions, self.requests, self.counts, self.refused = [], [], [], set()
        self.rewarded = 0
        self.beginning = beginning
        last = self.params[-1]
        self.params = [param for param in self.params if param[0] != key] + [last]

    def record(self, actions: list[Any], events: list[Event]) -> None:
        """Records the actions of a step, in both forms, before the step is made."""
        if events:
            self.actions.extend(actions)
            self.requests.append(events)
            self.counts.append(len(actions))

    def record_refusal(self) -> None:
        """Records that the service has refused the last step with actions."""
        self.refused.add(len(self.requests) - 1)

    def before_last(self, events: list[Event]) -> "Episode":
        """Returns a copy of the record from before the last step.

        Args:
            events: The encoded actions of that step.
        """
        record = self.copy()
        record.is_interrupted = False
        if events:
            del record.actions[-record.counts.pop() :]
            del record.requests[-1:]
        return record
