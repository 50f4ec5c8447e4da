"""Plans for steps: the observations to request, and the conversion of the reply."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from compiler_gym.service.proto import Event
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationSpaceSpec, ObservationView


class StepPlan:
    """The observations and rewards that a step is to return.

    The service computes each observation only once, even if rewards need it, too.

    Args:
        observation_spaces: The observations to return, in order. May repeat.
        reward_spaces: The rewards to return, in order.
        known_spaces: All observation spaces by name, for the observations that rewards need.

    Attributes:
        indices: The numbers of the observation spaces to ask the service for.

    Raises:
        LookupError: If a reward needs an observation that does not exist.
    """

    def __init__(
        self,
        observation_spaces: Sequence[ObservationSpaceSpec],
        reward_spaces: Sequence[Reward],
        known_spaces: Mapping[str, ObservationSpaceSpec],
    ):
        self.observation_spaces = tuple(observation_spaces)
        self.reward_spaces = tuple(reward_spaces)
        needs = [_needed_observations(reward, known_spaces) for reward in reward_spaces]
        specs = list(dict.fromkeys(chain(self.observation_spaces, *needs)))
        # Positions in lists, which are faster than names: of the event in the reply for each spec,
        # and of the spec for each observation.
        events: dict[int, int] = {}
        self._translations = [
            (events.setdefault(spec.index, len(events)), spec.translate) for spec in specs
        ]
        self.indices: tuple[int, ...] = tuple(events)
        self._returned = [specs.index(spec) for spec in self.observation_spaces]
        self._rewarded = [
            (reward, [specs.index(spec) for spec in need])
            for reward, need in zip(self.reward_spaces, needs, strict=True)
        ]

    def evaluate(
        self,
        events: Sequence[Event],
        actions: list[Any],
        observation_view: ObservationView | None,
    ) -> tuple[list[Any], list[float]]:
        """Converts the reply to a step to observations and rewards.

        Args:
            events: One for each of :attr:`indices`.
            actions: The actions of the step.
            observation_view: Further observations for rewards. None only if there are no rewards.
        """
        values = [translate(events[position]) for position, translate in self._translations]
        observations = [values[i] for i in self._returned]
        rewards = [
            reward.update(actions, [values[i] for i in inputs], observation_view)
            for reward, inputs in self._rewarded
        ]
        return observations, rewards

    def last_values(
        self, specs: Sequence[ObservationSpaceSpec], observations: Sequence[Any]
    ) -> tuple[list[Any], list[float]]:
        """Returns the observations and rewards of a step that was lost: no change.

        Args:
            specs: The last observation spaces.
            observations: Their values.
        """
        known = dict(zip(specs, observations, strict=True))
        last = [known.get(spec, spec.default_value) for spec in self.observation_spaces]
        return last, [0.0] * len(self.reward_spaces)

    def defaults(self, episode_reward: float | None) -> tuple[list[Any], list[float]]:
        """Returns the observations and rewards of a step that failed.

        Args:
            episode_reward: The sum of rewards before the step, which rewards may take back.
        """
        observations = [spec.default_value for spec in self.observation_spaces]
        rewards = [float(reward.reward_on_error(episode_reward)) for reward in self.reward_spaces]
        return observations, rewards


def _needed_observations(
    reward: Reward, known_spaces: Mapping[str, ObservationSpaceSpec]
) -> list[ObservationSpaceSpec]:
    try:
        return [known_spaces[name] for name in reward.observation_spaces]
    except KeyError as error:
        raise LookupError(
            f"Reward {reward.name!r} needs the observation {error.args[0]!r}, which does not exist"
        ) from None
