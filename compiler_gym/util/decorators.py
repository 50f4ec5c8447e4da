"""Decorators of methods and classes."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from typing_extensions import override

_Class = TypeVar("_Class", bound=type[Any])


class memoized_property(cached_property[Any]):  # noqa: N801
    """A property that is computed once for each object, and cannot be set."""

    @override
    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self._name = name

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"property {self._name!r} of {type(instance).__name__!r} is computed")

    @override
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        # Python does not use the __dict__ by itself if there is a __set__().
        if instance is not None and self._name in vars(instance):
            return vars(instance)[self._name]
        return super().__get__(instance, owner)


def frozen_class(cls: _Class) -> _Class:
    """Makes the attributes of objects immutable after ``__init__``.

    Setting one then raises TypeError. Methods that need to change the object use
    ``object.__setattr__``.
    """
    initialise: Callable[..., None] = cls.__init__
    set_attribute: Callable[..., None] = cls.__setattr__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        if type(self) is cls:  # Otherwise, the constructor of a subclass is still running.
            object.__setattr__(self, "_is_frozen", True)

    def refuse(self: Any, name: str, value: Any) -> None:
        if getattr(self, "_is_frozen", False):
            raise TypeError(f"Cannot set {name!r}: {type(self).__name__} is immutable")
        set_attribute(self, name, value)

    cls.__init__ = init
    cls.__setattr__ = refuse  # type: ignore[assignment]  # As a method, it has no self.
    return cls
