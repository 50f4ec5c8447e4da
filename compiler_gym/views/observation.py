"""The view of an environment's observations."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from compiler_gym.errors import ServiceError
from compiler_gym.errors.nearest_names import did_you_mean, unknown_name
from compiler_gym.service.proto import ObservationSpace
from compiler_gym.views.observation_space_spec import ObservationSpaceSpec

# The view of an environment's observations.

# Called with the keyword arguments actions, observation_spaces and reward_spaces; returns
# observations, rewards, whether the episode has ended, and the info dictionary.
RawStep = Callable[..., tuple[list[Any], list[float], bool, dict[str, Any]]]


class ObservationView:
    """Gives any observation of the current state of an environment, computed on demand.

    ``env.observation["Autophase"]`` and ``env.observation.Autophase()`` are the same.

    Args:
        raw_step: Makes a step of the environment.
        spaces: The observation spaces, as the service describes them, in its order; or as
            descriptions that were made of that.

    Attributes:
        spaces: The descriptions of the observation spaces by name.
        family: A number that the views of an environment and of its forks share, and no others.
    """

    _families = itertools.count()

    def __init__(
        self, raw_step: RawStep, spaces: Iterable[ObservationSpace | ObservationSpaceSpec]
    ):
        self._raw_step = raw_step
        self.family = next(self._families)
        self.spaces: dict[str, ObservationSpaceSpec] = {}
        for index, space in enumerate(spaces):
            if not isinstance(space, ObservationSpaceSpec):
                space = ObservationSpaceSpec.from_proto(index, space)
            self.spaces[space.id] = space

    def copy(self, raw_step: RawStep) -> "ObservationView":
        """Returns a view of the same observations of another environment.

        Args:
            raw_step: Makes a step of that environment.
        """
        clone = ObservationView(raw_step, ())
        clone.spaces.update(self.spaces)
        clone.family = self.family
        return clone

    def __getitem__(self, observation_space: str) -> Any:
        """Computes an observation.

        Args:
            observation_space: The name of the observation space.

        Raises:
            KeyError: There is no such space; the text suggests similar names.
            SessionNotFound: ``env.reset()`` has not been called.
            ServiceError: The service cannot compute the observation, or reports the end of the
                episode.
        """
        return self.observe([observation_space])[0]

    def observe(self, observation_spaces: Sequence[str]) -> list[Any]:
        """Computes several observations in one request to the service.

        Args:
            observation_spaces: The names of the observation spaces. May be empty, to check that
                there is an episode.

        Returns:
            A value for each name.

        Raises:
            KeyError, SessionNotFound, ServiceError: Same as for ``[]``.
        """
        specs = [self.spec(name) for name in observation_spaces]
        observations, _, done, info = self._raw_step(
            actions=[], observation_spaces=specs, reward_spaces=[]
        )
        if done or len(observations) != len(specs):
            names = ", ".join(spec.id for spec in specs)
            reason = info.get("error_details") or "the episode has ended"
            kind = f"{info['error_type']}: " if "error_type" in info else ""
            raise ServiceError(f"Cannot compute observation {names}: {kind}{reason}")
        return observations

    def add_derived_space(
        self, id: str, base_id: str, translate: Callable[[Any], Any], **kwargs: Any
    ) -> None:
        """Adds an observation space whose values are computed from those of another one.

        Args:
            id: The name of the new space. A space of that name is replaced.
            base_id: The name of the space to compute from.
            translate: Computes a value of the new space from one of the base.
            **kwargs: Arguments of :meth:`ObservationSpaceSpec.make_derived_space`.

        Raises:
            KeyError: There is no space ``base_id``; the text suggests similar names.
        """
        base = self.spec(base_id)
        self.spaces[id] = base.make_derived_space(id=id, translate=translate, **kwargs)

    def spec(self, name: str) -> ObservationSpaceSpec:
        """Returns the description of a space; raises KeyError if there is none."""
        spec = self.spaces.get(name)
        if spec is None:
            raise unknown_name("observation space", name, self.spaces)
        return spec

    def __getattr__(self, name: str) -> Callable[[], Any]:
        """Returns a function that computes the observation of that name."""
        # Names with underscores are asked for by copy and pickle, before there is an instance.
        if name.startswith("_") or name == "spaces" or name not in self.spaces:
            spaces = self.__dict__.get("spaces", {})
            suggestion = did_you_mean(name, spaces)
            raise AttributeError(f"ObservationView has no attribute {name}.{suggestion}")
        return partial(self.__getitem__, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.spaces]

    def __repr__(self) -> str:
        return f"ObservationView[{', '.join(sorted(self.spaces))}]"


__all__ = ["ObservationView"]
