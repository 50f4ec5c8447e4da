"""Errors of shortening a list of actions."""


class MinimizationError(OSError):
    """A list of actions cannot be minimised.

    Users meet it when the hypothesis to keep (for example "validation fails") does not hold for
    the full list of actions to begin with, or does not hold reliably.
    """
