"""Runs the checks of rules one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler_gym.compliance.rule import NotChecked, Outcome, Result, Rule, Violation
from compiler_gym.compliance.rules import RULES
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.target import Target

#: If it fails, nothing else is checked.
FIRST_RULE = RULES[0]

#: The default time limit of a rule in seconds.
DEFAULT_TIME_LIMIT = 60.0


def select(patterns: Iterable[str]) -> list[Rule]:
    """Returns the rules whose ids contain one of some texts; all rules without texts.

    Raises:
        LookupError: If there are no such rules.
    """
    texts = [*patterns]
    found = [rule for rule in RULES if not texts or any(text in rule.id for text in texts)]
    if not found:
        themes = ", ".join(dict.fromkeys(rule.theme for rule in RULES))
        raise LookupError(
            f"No rule has {' or '.join(map(repr, texts))} in its id; there are: {themes}"
        )
    return found


def check_rule(rule: Rule, subject: Subject) -> Result:
    """Checks a rule, and closes its open sessions.

    Raises:
        OSError: If the service cannot be executed.
    """
    subject.clock.restart()
    outcome, text = Outcome.OK, ""
    try:
        text = rule.check(subject) or ""
    except Violation as violation:
        outcome, text = Outcome.FAILED, str(violation)
        # A request takes no longer than is left, so its error may just say that nothing is.
        overdue = subject.clock.overdue()
        if overdue not in text:
            text = f"{overdue}: {text}"
    except NotChecked as reason:
        outcome, text = Outcome.NOT_CHECKED, str(reason)
    except OSError:
        raise
    except Exception as error:  # A service may answer in unforeseen ways.
        outcome, text = Outcome.FAILED, f"unexpected {type(error).__name__}: {error}"
    seconds = subject.clock.elapsed()
    subject.end_rule()
    return Result(rule, outcome, text, seconds)


def check_all(rules: Iterable[Rule], subject: Subject) -> Iterator[Result]:
    """Checks rules. Stops if the service does not start."""
    starts: Result | None = None
    for rule in rules:
        if starts is None:
            starts = check_rule(FIRST_RULE, subject)
        if rule is FIRST_RULE:
            yield starts
        elif starts.outcome is Outcome.FAILED:
            reason = f"the service does not start ({FIRST_RULE.id}): {starts.text}"
            yield Result(rule, Outcome.NOT_CHECKED, reason, 0)
        else:
            yield check_rule(rule, subject)


def check(
    target: Target,
    patterns: Iterable[str] = (),
    time_limit: float = DEFAULT_TIME_LIMIT,
    max_actions: int | None = None,
) -> Iterator[Result]:
    """Checks a service.

    The processes of the check end with the iterator.

    Args:
        target: The service.
        patterns: Check only rules whose ids contain one of these.
        time_limit: The time limit of each rule in seconds.
        max_actions: The maximum number of actions that are tried, evenly spaced. By default all
            that half of the time limit allows.

    Raises:
        LookupError: If there are no such rules.
        FileNotFoundError: If there is no such service.
        PermissionError: If it is not executable.
    """
    rules = select(patterns)
    subject = Subject(target, time_limit, max_actions)
    try:
        yield from check_all(rules, subject)
    finally:
        subject.give_up()
