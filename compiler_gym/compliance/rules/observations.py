"""Rules about observations and rewards: their declarations against their values."""

from compiler_gym.compliance.rule import NotChecked, require, rule
from compiler_gym.compliance.session import Session
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.values import exact, mismatch
from compiler_gym.service.proto import Event

_REPEATS = 3


@rule(
    "observations.computed",
    "Each observation has a value, or an error with a reason",
    "Answer UNIMPLEMENTED or FAILED_PRECONDITION, with a text, if a program lacks the observation",
)
def computed(subject: Subject) -> str | None:
    observed = subject.observed
    bad = [
        text
        for text in observed.failures.values()
        if any(code in text for code in (": UNKNOWN", ": UNAVAILABLE", ": DEADLINE", ": OK"))
    ]
    require(not bad, "; ".join(bad[:3]))
    if not observed.events:
        raise NotChecked(f"none can be computed: {'; '.join([*observed.failures.values()][:2])}")
    if observed.failures:
        names = ", ".join(text.partition(":")[0] for text in observed.failures.values())
        return f"not given for this program: {names}"
    return None


def _in_spaces(subject: Subject, events: dict[int, Event], when: str) -> None:
    for number, event in events.items():
        space = subject.observation_spaces[number]
        reason = mismatch(space, event)
        require(reason is None, f"{space.name}, {when}, is not in its space: {reason}")


@rule(
    "observations.in-space",
    "Each observation is in its declared space",
    "Declare the actual kind, shape and bounds of the values; bounds may be open",
)
def in_space(subject: Subject) -> None:
    observed = subject.observed.events
    if not observed:
        raise NotChecked("no observation can be computed")
    _in_spaces(subject, observed, "at the start")
    session = subject.start()
    for action in subject.walk()[:_REPEATS]:
        session.step([action])
        numbers = [*observed]
        events = session.step((), numbers).observation
        _in_spaces(subject, dict(zip(numbers, events, strict=True)), f"after {action.name}")


def _states(session: Session, subject: Subject, numbers: list[int]) -> list[list[bytes]]:
    """Returns the observations at the start, half way, and at the end."""
    walk = subject.walk()
    middle = (len(walk) + 1) // 2
    parts = (walk[:0], walk[:middle], walk[middle:])
    return [[exact(each) for each in session.step(part, numbers).observation] for part in parts]


@rule(
    "observations.deterministic",
    "Deterministic observations are equal after the same actions, also in other sessions",
    "Set ObservationSpace.deterministic to false, or remove what varies: time, random numbers",
)
def deterministic(subject: Subject) -> None:
    _compare(subject, "sessions", [subject.start(), subject.start()])


@rule(
    "observations.other-process",
    "Deterministic observations are equal in another process of the service",
    "Remove addresses, process ids and the order of hash tables, which vary between processes",
)
def other_process(subject: Subject) -> None:
    with subject.own_service() as service:
        _compare(subject, "processes", [subject.start(), subject.start(client=service.client)])


def _compare(subject: Subject, what: str, sessions: list[Session]) -> None:
    """Requires that deterministic observations of two sessions are equal."""
    numbers = subject.deterministic
    runs = [_states(session, subject, numbers) for session in sessions]
    for when, first, second in zip(("at the start", "half way", "at the end"), *runs, strict=True):
        for number, one, other in zip(numbers, first, second, strict=True):
            name = subject.observation_spaces[number].name
            require(one == other, f"{name} differs between {what} with the same actions, {when}")


@rule(
    "observations.repeatable",
    "Deterministic observations are equal when they are requested twice",
    "Compute observations from the program alone, not from former requests",
)
def repeatable(subject: Subject) -> None:
    numbers = subject.deterministic
    session = subject.start()
    session.step(subject.walk()[:1])
    first, second = session.observe(numbers), session.observe(numbers)
    for number, one, other in zip(numbers, first, second, strict=True):
        name = subject.observation_spaces[number].name
        require(one == other, f"{name} was asked for twice, and has changed")


@rule(
    "observations.pure",
    "Observations do not affect later actions",
    "Copy the program if an observation has to transform it",
)
def pure(subject: Subject) -> None:
    watched, left_alone = subject.start(), subject.start()
    numbers = [*subject.observed.events]
    watched.step((), numbers)
    for action in subject.walk():
        watched.step([action], numbers if action is subject.walk()[0] else ())
        left_alone.step([action])
    require(
        watched.state() == left_alone.state(),
        "the same actions lead elsewhere when all observations are asked for in between",
    )


@rule(
    "rewards.observations",
    "Each reward of the environment needs observations that exist",
    "Correct Reward(observation_spaces=[...]), or add the observation to the service",
)
def rewards(subject: Subject) -> None:
    if subject.target.rewards is None:
        raise NotChecked("rewards are of environments: name one with --env")
    if not subject.target.rewards:
        raise NotChecked("the environment has no rewards")
    known = {space.name for space in subject.observation_spaces} | set(subject.target.derived)
    for reward, names in subject.target.rewards.items():
        missing = sorted(set(names) - known)
        require(not missing, f"{reward} needs {', '.join(missing)}, which there is not")
