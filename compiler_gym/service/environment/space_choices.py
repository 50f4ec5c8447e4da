"""The observation and reward spaces of an environment, and its default choices."""

import copy
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from compiler_gym.datasets import Benchmark
from compiler_gym.errors import ServiceError, ServiceIsClosed
from compiler_gym.errors.nearest_names import several_names, unknown_name
from compiler_gym.service.proto import Event
from compiler_gym.service.proto.event_converters import event_to_value
from compiler_gym.service.session.session_manager import SessionManager
from compiler_gym.service.transport.frame_batch import Column, column_of
from compiler_gym.spaces import DefaultRewardFromObservation, Reward
from compiler_gym.spaces.reward import number_from
from compiler_gym.util.deadline import TIMEOUT
from compiler_gym.util.random_state import shallow_copy
from compiler_gym.views import ObservationSpaceSpec, ObservationView, RewardView
from compiler_gym.views.observation import RawStep

# Plans for steps: the observations to request, and the conversion of the reply.


class StepPlan:
    """The observations and rewards that a step is to return.

    The service computes each observation only once, even if rewards need it, too.

    Args:
        observation_spaces: The observations to return, in order. May repeat.
        reward_spaces: The rewards to return, in order.
        known_spaces: All observation spaces by name, for the observations that rewards need.

    Attributes:
        indices: The numbers of the observation spaces to ask the service for.
        columns: What each reply has as values and arrays; None if it has anything else.
        is_measuring: True if an observation differs from time to time, such as run times do.

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
        self.columns = _columns_of(specs)
        self.is_measuring = not all(spec.deterministic for spec in specs)
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
        decoded: Sequence[Any] | None = None,
    ) -> tuple[list[Any], list[float]]:
        """Converts the reply to a step to observations and rewards.

        Args:
            events: One for each of :attr:`indices`.
            actions: The actions of the step.
            observation_view: Further observations for rewards. None only if there are no rewards.
            decoded: The values of the events, by :attr:`columns`, if there are no messages.
        """
        if decoded is None:
            values = [translate(events[position]) for position, translate in self._translations]
        else:
            values = [decoded[position] for position, _ in self._translations]
        observations = [values[i] for i in self._returned]
        rewards = [
            number_from(
                reward.update(actions, [values[i] for i in inputs], observation_view),
                reward,
                "update",
            )
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


def _columns_of(specs: Iterable[ObservationSpaceSpec]) -> tuple[Column, ...] | None:
    """Returns a column for each number of an observation space; None if one has none."""
    columns: dict[int, Column] = {}
    for spec in specs:
        column = column_of(spec.space) if spec.translate is event_to_value else None
        if column is None:
            return None
        columns.setdefault(spec.index, column)
    return tuple(columns.values())


def _needed_observations(
    reward: Reward, known_spaces: Mapping[str, ObservationSpaceSpec]
) -> list[ObservationSpaceSpec]:
    try:
        return [known_spaces[name] for name in reward.observation_spaces]
    except KeyError as error:
        raise LookupError(
            f"Reward {reward.name!r} needs the observation {error.args[0]!r}, which does not exist"
        ) from None


_DTYPES = (type(np.dtype(kind)) for kind in (bool, np.int64, np.float32, np.float64))
_IMMUTABLE = frozenset((type(None), bool, int, float, str, np.float64, np.int64, *_DTYPES))


def copy_reward(reward: Reward, counterparts: Mapping[int, Any]) -> Reward:
    """Returns an independent copy of a reward.

    Same as ``copy.deepcopy``, but faster for rewards whose state is only numbers.

    Args:
        reward: The reward.
        counterparts: The replacement for each object, by the object's ``id``: for an environment
            its fork.
    """
    if _is_shallow(type(reward)):  # type: ignore[arg-type]  # Classes can be hashed.
        clone = shallow_copy(reward)
        clone.observation_spaces = clone.observation_spaces[:]
        return clone
    memo = dict(counterparts)
    if not _is_plain(type(reward)):  # type: ignore[arg-type]  # Likewise.
        return copy.deepcopy(reward, memo)
    clone = shallow_copy(reward)
    remembered = clone.__dict__
    for name, value in reward.__dict__.items():
        if type(value) not in _IMMUTABLE:
            remembered[name] = _copy(value, memo)
    return clone


@cache
def _is_shallow(reward_class: type[Reward]) -> bool:
    """Returns true if a class itself declares it. Subclasses do not inherit the declaration."""
    return bool(vars(reward_class).get("copies_are_shallow"))


@cache
def _is_plain(reward_class: type) -> bool:
    """Returns true if all state of an object is in its ``__dict__``, and copying is the default."""
    return not hasattr(reward_class, "__deepcopy__") and not any(
        vars(base).get("__slots__") for base in reward_class.__mro__
    )


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    if type(value) in (list, tuple) and _IMMUTABLE.issuperset(map(type, value)):
        return value[:]
    return copy.deepcopy(value, memo)


_SEVERAL_OBSERVATIONS = (
    "; try env.step(action, observation_spaces=[...]), or a wrapper that observes "
    "env.observation[name] for each"
)


def make_observer(sessions: SessionManager) -> RawStep:
    """Returns the function by which an observation view makes its requests.

    It raises the errors of the service. The episode survives if possible. Requests of rewards share
    the time limit of their step.

    Args:
        sessions: The sessions of the environment. The function does not keep them alive.
    """
    # Deleting an environment ends its session, even if the view is still referenced.
    reference = weakref.ref(sessions)

    def observe(
        actions: Sequence[Event],
        observation_spaces: Sequence[ObservationSpaceSpec],
        reward_spaces: Sequence[Reward],
    ) -> tuple[list[Any], list[float], bool, dict[str, Any]]:
        sessions = reference()
        if sessions is None:
            raise ServiceIsClosed("The environment of this view does not exist any more")
        # There are none, because these observations do not belong to a step.
        del reward_spaces
        plan = StepPlan(observation_spaces, (), {})
        deadline = sessions.step_deadline
        try:
            seconds = TIMEOUT if deadline is None else deadline.left()
            reply = sessions.step(actions, plan.indices, seconds)
        except (ServiceError, TimeoutError) as error:
            if sessions.is_lost_by(error):
                sessions.abandon(error)
            if deadline is not None and isinstance(error, TimeoutError):
                raise _explained(error, observation_spaces) from error
            raise
        return *plan.evaluate(reply.observation, [], None), False, {}

    return observe


def _explained(error: TimeoutError, spaces: Sequence[ObservationSpaceSpec]) -> TimeoutError:
    names = ", ".join(f"env.observation[{space.id!r}]" for space in spaces)
    return TimeoutError(
        f"{error}. This was for the reward, in the time limit of its step. {names} after a reset "
        f"has {TIMEOUT:g} s, and a baseline that was computed is kept"
    )


class SpaceChoices:
    """The observations and rewards of an environment, and the default ones among them.

    Args:
        observations: Computes observations.
        rewards: The rewards to choose from. By default the change of each observation that has a
            numeric default value.

    Attributes:
        observations: Computes observations. Set by :meth:`replace_observations`.
        rewards: Computes rewards. Set by :meth:`replace_rewards`.
        observation: The default observation of steps, or None. Set by :meth:`choose_observation`.
        reward: The default reward of steps, or None. Set by :meth:`choose_reward`.
        step_plan: The plan of a step with the default spaces.
        reset_plan: The plan of a reset.
    """

    def __init__(self, observations: ObservationView, rewards: Iterable[Reward] | None):
        if rewards is None:
            rewards = _default_rewards(observations.spaces.values())
        self.observations = observations
        self.rewards = RewardView(rewards, observations)
        self.observation: ObservationSpaceSpec | None = None
        self.reward: Reward | None = None
        self._plan()

    def _plan(self) -> None:
        """Updates the plans after a change of defaults."""
        specs = [self.observation] if self.observation else []
        rewards = [self.reward] if self.reward else []
        self.step_plan = self.make_plan(specs, rewards)
        self.reset_plan = self.make_plan(specs, [])

    def make_plan(
        self, specs: Sequence[ObservationSpaceSpec], rewards: Sequence[Reward]
    ) -> StepPlan:
        """Returns the plan of a step that returns given spaces.

        Raises:
            LookupError: If a reward needs an observation that does not exist.
        """
        return StepPlan(specs, rewards, self.observations.spaces)

    def plan_for(
        self,
        observation_spaces: Iterable[str | ObservationSpaceSpec] | None,
        reward_spaces: Iterable[str | Reward] | None,
        benchmark: Benchmark | None,
    ) -> StepPlan:
        """Returns the plan of a step with given arguments.

        Args:
            observation_spaces: The observations to return; None for the default one.
            reward_spaces: The rewards to return; None for the default one.
            benchmark: The benchmark of the current episode, if there is one; see
                :meth:`choose_reward`.

        Raises:
            TypeError: If an argument is not a list.
            LookupError: If a given name does not exist.
        """
        specs: Sequence[ObservationSpaceSpec] = self.step_plan.observation_spaces
        if observation_spaces is not None:
            specs = [self._find_observation(space) for space in _checked_list(observation_spaces)]
        rewards: Sequence[Reward] = self.step_plan.reward_spaces
        if reward_spaces is not None:
            listed = _checked_list(reward_spaces)
            rewards = [self._find_reward(space, benchmark) for space in listed]
        return self.make_plan(specs, rewards)

    def choose_observation(self, space: str | ObservationSpaceSpec | None) -> None:
        """Sets the default observation.

        Raises:
            LookupError: If there is no observation of that name.
        """
        self.observation = None if space is None else self._find_observation(space)
        self._plan()

    def choose_reward(self, space: str | Reward | None, benchmark: Benchmark | None) -> None:
        """Sets the default reward.

        Args:
            space: The reward. A new one is added.
            benchmark: The benchmark of the current episode, if there is one. An added reward is
                reset for it.

        Raises:
            LookupError: If there is no reward of that name, or it needs an observation that does
                not exist.
        """
        self.reward = None if space is None else self._find_reward(space, benchmark)
        self._plan()

    def replace_observations(self, view: ObservationView) -> None:
        """Replaces the view that computes observations."""
        view.family = self.observations.family
        self.observations = view
        self._plan()

    def replace_rewards(self, view: RewardView) -> None:
        """Replaces the view that computes rewards. The default reward stays if the view has it."""
        self.rewards = view
        if self.reward is not None and self.reward.name not in view.spaces:
            self.reward = None
            self._plan()

    def copy(self, raw_step: RawStep, counterparts: Mapping[int, Any]) -> "SpaceChoices":
        """Returns the same choices for a fork, with copies of the rewards.

        Args:
            raw_step: Makes a step of the fork.
            counterparts: Same as in :func:`copy_reward`.
        """
        clone = shallow_copy(self)
        clone.observations = self.observations.copy(raw_step)
        copies = {
            name: copy_reward(reward, counterparts) for name, reward in self.rewards.spaces.items()
        }
        clone.rewards = RewardView(copies.values(), clone.observations)
        if self.reward is not None:
            clone.reward = copies[self.reward.name]
            clone.step_plan = clone.make_plan(self.step_plan.observation_spaces, [clone.reward])
        return clone

    def _find_observation(self, space: str | ObservationSpaceSpec) -> ObservationSpaceSpec:
        if isinstance(space, ObservationSpaceSpec):
            return space
        if isinstance(space, list | tuple):
            raise several_names("observation", space, _SEVERAL_OBSERVATIONS)
        spaces = self.observations.spaces
        if space not in spaces:
            raise unknown_name("observation space", space, spaces)
        return spaces[space]

    def _find_reward(self, space: str | Reward, benchmark: Benchmark | None) -> Reward:
        spaces = self.rewards.spaces
        if isinstance(space, Reward):
            if spaces.get(space.name) is not space:
                self.make_plan([], [space])  # Raises LookupError before anything is changed.
                self.rewards.add_space(space)
                if benchmark is not None:
                    space.reset(benchmark, self.observations)
            return space
        if isinstance(space, list | tuple):
            raise several_names("reward", space, "; try env.step(action, reward_spaces=[...])")
        if space not in spaces:
            raise unknown_name("reward space", space, spaces)
        return spaces[space]


def _default_rewards(specs: Iterable[ObservationSpaceSpec]) -> list[Reward]:
    """Returns the rewards of an environment for which none were given."""
    return [
        DefaultRewardFromObservation(spec.id)
        for spec in specs
        if isinstance(spec.default_value, int | float | np.number)
        and not isinstance(spec.default_value, bool)
    ]


def _checked_list(names: Iterable[Any]) -> list[Any]:
    """Checks an argument that names several spaces, and returns it as a list."""
    if isinstance(names, str | ObservationSpaceSpec | Reward):
        raise TypeError(f"Expected a list of spaces, not {names!r}. Write [{str(names)!r}]")
    return list(names)
