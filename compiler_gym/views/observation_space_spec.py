"""Descriptions of observation spaces."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from gymnasium.spaces import Space

from compiler_gym.compat.classic_gym.spaces import as_gymnasium
from compiler_gym.service.proto import Event, ObservationSpace, py_converters


@dataclass(eq=False, slots=True, init=False)
class ObservationSpaceSpec:
    """An observation space: its type, its properties, and a function that converts its values.

    Specs compare and hash as their id, and equal the text of it.

    Attributes:
        id: The name of the observation space.
        index: The number of the observation space in the service's list. Derived spaces have that
            of their base.
        space: The set that the values are from.
        translate: Turns what the service sends, an Event, into a value.
        to_string: Describes a value by a text.
        deterministic: Whether the same program gives the same value every time.
        platform_dependent: Whether the value depends on the machine that the service runs on.
        make_default: Makes :attr:`default_value`. Called for each use: making one may take long,
            or import what is otherwise not needed, and callers may change what they get.

    The constructor takes these in this order, but as the last either ``default_value``, of which
    each use gets a copy, or ``make_default`` by name.
    """

    id: str
    index: int
    space: Space[Any]
    translate: Callable[[Event], Any]
    to_string: Callable[[Any], str]
    deterministic: bool
    platform_dependent: bool
    make_default: Callable[[], Any]

    def __init__(
        self,
        id: str,
        index: int,
        space: Space[Any],
        translate: Callable[[Event], Any],
        to_string: Callable[[Any], str],
        deterministic: bool,
        platform_dependent: bool,
        default_value: Any = None,
        *,
        make_default: Callable[[], Any] | None = None,
    ):
        self.id = id
        self.index = index
        self.space = space
        self.translate = translate
        self.to_string = to_string
        self.deterministic = deterministic
        self.platform_dependent = platform_dependent
        self.make_default = make_default or partial(copy.deepcopy, default_value)

    @property
    def default_value(self) -> Any:
        """The value that ``env.step()`` returns if the service failed."""
        return self.make_default()

    @classmethod
    def from_proto(cls, index: int, proto: ObservationSpace) -> "ObservationSpaceSpec":
        """Makes the description of a space that a service offers.

        Args:
            index: The number of the space in the service's list.
            proto: How the service describes it.

        Raises:
            ConversionError: There is no Python space for the description.
            ValueError: The description is malformed.
        """
        return cls(
            id=proto.name,
            index=index,
            space=py_converters.observation_space_from_proto(proto),
            translate=py_converters.event_to_value,
            to_string=str,
            deterministic=proto.deterministic,
            platform_dependent=proto.platform_dependent,
            make_default=partial(py_converters.event_to_value, proto.default_observation),
        )

    def make_derived_space(
        self,
        id: str,
        translate: Callable[[Any], Any],
        space: Space[Any] | None = None,
        deterministic: bool | None = None,
        default_value: Any = None,
        platform_dependent: bool | None = None,
        to_string: Callable[[Any], str] | None = None,
        make_default: Callable[[], Any] | None = None,
    ) -> "ObservationSpaceSpec":
        """Makes the description of a space whose values are computed from those of this one.

        Args:
            id: The name of the new space.
            translate: Computes a value of the new space from one of this space.
            space: The set that the new values are from. As that of this space if None.
            deterministic: As that of this space if None.
            default_value: Computed from that of this space, unless that is None too, if None.
            platform_dependent: As that of this space if None.
            to_string: As that of this space if None.
            make_default: Makes the default value whenever it is needed, instead of
                ``default_value``.
        """
        if make_default is None and default_value is not None:
            make_default = partial(copy.deepcopy, default_value)
        elif make_default is None:
            make_default = partial(_translate_default, self.make_default, translate)
        return ObservationSpaceSpec(
            id=id,
            index=self.index,
            space=self.space if space is None else as_gymnasium(space),
            translate=partial(_translate_twice, self.translate, translate),
            to_string=self.to_string if to_string is None else to_string,
            deterministic=self.deterministic if deterministic is None else deterministic,
            platform_dependent=(
                self.platform_dependent if platform_dependent is None else platform_dependent
            ),
            make_default=make_default,
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ObservationSpaceSpec):
            return self.id == other.id
        return self.id == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"ObservationSpaceSpec({self.id})"


def _translate_twice(
    first: Callable[[Event], Any], second: Callable[[Any], Any], event: Event
) -> Any:
    """Returns the value of a derived space; unlike a closure, this can be pickled."""
    return second(first(event))


def _translate_default(make_default: Callable[[], Any], translate: Callable[[Any], Any]) -> Any:
    """Returns the default of a derived space: none if its base has none."""
    default = make_default()
    return None if default is None else translate(default)
