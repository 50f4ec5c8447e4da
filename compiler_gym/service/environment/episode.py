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
        actions: All actions, including those without effect and those that failed; without
            those that the episode has recovered from.
        requests: The same in the form that the service gets: what was sent with each step that
            had actions.
        counts: The number of actions of each request, in which a macro is several.
        refused: The positions in ``requests`` of those that the service refused, without ending
            the session.
        reward: The sum of the rewards, None if there is no default reward space.
        rewarded: How many actions there were when the last reward was added to it.
        params: The session parameters that were sent, in order.
        observed: The observation spaces of the last step with the default ones, or of the
            reset, and what they were.
        is_interrupted: Whether a step was interrupted (Ctrl-C), so that nobody knows how far the
            session got.
        beginning: What a session parameter has made of the program before the actions, as text;
            empty if there was none.
        start_time: When it began, by :func:`time.monotonic`.
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
        """Returns a record that continues on its own."""
        clone = shallow_copy(self)
        clone.actions = self.actions.copy()
        clone.requests = self.requests.copy()
        clone.counts = self.counts.copy()
        clone.refused = self.refused.copy()
        clone.params = self.params.copy()
        return clone

    def add_reward(self, reward: float) -> None:
        """Adds the reward of a step to those before it."""
        self.reward = (self.reward or 0.0) + reward
        self.rewarded = len(self.actions)

    def known_costs(self, reward: Reward | None) -> str:
        """Returns what a reward knows about costs, if it was computed after the last action."""
        if reward is None or not self.actions or self.rewarded != len(self.actions):
            return ""
        return reward.known_costs()

    def begin_again(self, key: str, beginning: str) -> None:
        """Forgets the actions, because a session parameter has put something in their place.

        Args:
            key: The parameter, which has been sent. What it was set to before has no effect either.
            beginning: See the attribute.
        """
        self.actions, self.requests, self.counts, self.refused = [], [], [], set()
        self.rewarded = 0
        self.beginning = beginning
        last = self.params[-1]
        self.params = [param for param in self.params if param[0] != key] + [last]

    def record(self, actions: list[Any], events: list[Event]) -> None:
        """Notes the actions of a step, in both forms, before it is made."""
        if events:
            self.actions.extend(actions)
            self.requests.append(events)
            self.counts.append(len(actions))

    def record_refusal(self) -> None:
        """Notes that the service has refused the last step with actions."""
        self.refused.add(len(self.requests) - 1)

    def before_last(self, events: list[Event]) -> "Episode":
        """Returns a record that continues from before the last step.

        Args:
            events: What was recorded for that step.
        """
        record = self.copy()
        record.is_interrupted = False
        if events:
            del record.actions[-record.counts.pop() :]
            del record.requests[-1:]
        return record
