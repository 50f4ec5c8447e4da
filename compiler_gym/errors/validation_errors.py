"""The description of a failed validation."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import total_ordering
from typing import Any

# The description of a failed validation.


class MinimizationError(OSError):
    """A list of actions cannot be minimised.

    Raised when the hypothesis to keep (for example "validation fails") does not hold for
    the full list of actions to begin with, or does not hold reliably.
    """


@total_ordering
@dataclass(frozen=True, eq=False)
class ValidationError:
    """An error in a compiled program. It is a value, not an exception.

    ``ValidationResult.errors`` holds them, and validation callbacks yield them.
    Errors compare, sort and hash by type, then by data in a canonical (sorted JSON) form.

    Attributes:
        type: A short description, the same for all errors of a kind, e.g. ``"Wrong output"``.
        data: Details by name. Values should be of the kinds JSON has; others are compared,
            and written by :meth:`json`, as their ``repr``.
    """

    type: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def dict(self) -> dict[str, Any]:
        """Returns ``{"type": ..., "data": ...}``, e.g. for the log of a validation."""
        return asdict(self)

    def json(self) -> str:
        """Returns the JSON text of :meth:`dict`, with sorted keys."""
        return json.dumps(self.dict(), sort_keys=True, default=repr)

    def _key(self) -> tuple[str, str]:
        return self.type, json.dumps(self.data, sort_keys=True, default=repr)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValidationError):
            return NotImplemented
        return self._key() == other._key()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ValidationError):
            return NotImplemented
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        details = ", ".join(f"{key}: {value}" for key, value in self.data.items())
        return f"{self.type} ({details})" if details else self.type


__all__ = ["ValidationError"]
