"""The definition of rules, and the exceptions for rules that fail or cannot be checked."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

#: The function of a rule. Its argument is a :class:`compiler_gym.compliance.subject.Subject`.
Check = Callable[[Any], str | None]


class Violation(Exception):  # noqa: N818 - it is about the service.
    """The service breaks the rule. The text has the finding."""


class NotChecked(Exception):  # noqa: N818
    """The rule cannot be checked for this service. The text has the reason."""


class Outcome(str, Enum):
    """The outcome of checking a rule."""

    #: The service follows the rule.
    OK = "ok"
    #: The service breaks the rule.
    FAILED = "failed"
    #: The rule could not be checked, for example because it needs a second program.
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Rule:
    """A requirement for every service.

    Attributes:
        id: The name of the rule: its theme, a dot, and the subject.
        sentence: The requirement.
        advice: How to fix a service that fails.
        check: The check. Returns None, or a text about skipped parts; raises :class:`Violation` or
            :class:`NotChecked`.
    """

    id: str
    sentence: str
    advice: str
    check: Check

    @property
    def theme(self) -> str:
        """The part of the id before the first dot."""
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class Result:
    """The result of checking a rule.

    Attributes:
        rule: The rule.
        outcome: The outcome.
        text: The finding, the reason for not checking it, or the skipped parts; may be empty.
        seconds: The duration of the check.
    """

    rule: Rule
    outcome: Outcome
    text: str
    seconds: float


def rule(id: str, sentence: str, advice: str) -> Callable[[Check], Rule]:
    """Makes a rule from a function.

    Args:
        id: Same as in :class:`Rule`, like the other arguments.
        sentence: The requirement.
        advice: How to fix a service that fails.
    """
    return lambda check: Rule(id, sentence, advice, check)


def require(holds: object, found: str) -> None:
    """Raises :class:`Violation` with a finding, unless a condition holds."""
    if not holds:
        raise Violation(found)
