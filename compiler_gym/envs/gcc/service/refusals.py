"""Errors that are no bugs of the service, so that no traceback goes with them."""

from compiler_gym.errors import ServiceError


class Refused(ServiceError, ValueError):  # noqa: N818
    """A request for something that does not exist. Clients see a ``ValueError``."""


class TookTooLong(ServiceError, TimeoutError):  # noqa: N818
    """The compiler was killed. Clients see a ``TimeoutError``."""
