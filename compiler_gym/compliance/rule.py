"""The definition of rules, and the exceptions for rules that fail or cannot be checked."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

#: Given what is checked: a :class:`compiler_gym.compliance.subject.Subject`.
Check = Callable[[Any], str | None]


class Violation(Exception):  # noqa: N818 - it is about the service.
    """The service does not do what the rule says. The text is what was found."""


class NotChecked(Exception):  # noqa: N818
    """Nothing can be said about the rule for this service. The text is why."""


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
    """One thing that every service has to do.

    Attributes:
        id: Its name, ``theme.what``.
        sentence: What the service has to do.
        advice: What to change in a service that does not.
        check: Finds out. Returns nothing, or a text about what was left out; raises
            :class:`Violation` or :class:`NotChecked`.
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
        outcome: Whether it holds.
        text: What was found, why it was not checked, or what was left out; may be empty.
        seconds: How long it took.
    """

    rule: Rule
    outcome: Outcome
    text: str
    seconds: float


def rule(id: str, sentence: str, advice: str) -> Callable[[Check], Rule]:
    """Makes a rule of a function.

    Args:
        id: Same as in :class:`Rule`, like the other arguments.
        sentence: What the service has to do.
        advice: What to change if it does not.
    """
    return lambda check: Rule(id, sentence, advice, check)


def require(holds: object, found: str) -> None:
    """Raises :class:`Violation` with what was found, unless something holds."""
    if not holds:
        raise Violation(found)
