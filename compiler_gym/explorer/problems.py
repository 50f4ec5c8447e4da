"""Errors that the page shows to its user."""

from collections.abc import Iterable

from compiler_gym.explorer.messages import Diagnostic, Problem

STATUS = {
    "input": 400,
    "program": 422,
    "unknown program": 410,
    "pass": 422,
    "limit": 429,
    "access": 403,
    "internal": 500,
}
"""The HTTP status of each kind of problem."""


class ExplorerError(RuntimeError):
    """A request that cannot be answered. The text tells the user why.

    Attributes:
        problem: The message for the page.
    """

    def __init__(self, kind: str, message: str, diagnostics: Iterable[Diagnostic] = ()):
        super().__init__(message)
        self.problem = Problem.model_validate(
            {"kind": kind, "message": message, "diagnostics": [*diagnostics]}
        )

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUS[self.problem.kind]
