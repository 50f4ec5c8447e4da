"""The definition of rules, and the exceptions for rules that fail or cannot be checked."""

import time
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


# Time limits of rules.

_FIRST_POLL_SECONDS = 0.005
_MAX_POLL_SECONDS = 0.1


class Clock:
    """Counts down the time of one rule after the other.

    Args:
        seconds: The time that each rule may take.
    """

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.restart()

    def restart(self) -> None:
        """Restarts the clock."""
        self._begin = time.monotonic()

    def elapsed(self) -> float:
        """Returns the seconds since the beginning."""
        return time.monotonic() - self._begin

    def left(self) -> float:
        """Returns the seconds that are left.

        Raises:
            Violation: If no time is left.
        """
        left = self.seconds - self.elapsed()
        if left <= 0:
            raise Violation(self.overdue())
        return left

    def overdue(self) -> str:
        """Returns the finding that no time is left; empty if there is some."""
        if self.elapsed() < self.seconds:
            return ""
        return f"it takes longer than the {self.seconds:g} seconds of --time-limit"

    def wait_until(self, condition: Callable[[], object], seconds: float) -> bool:
        """Waits until a condition holds, within the time limit. Returns true if it holds."""
        end = time.monotonic() + min(seconds, self.left())
        pause = _FIRST_POLL_SECONDS
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _MAX_POLL_SECONDS)
        return True
