"""Rules about declared spaces, observations, rewards and session parameters, against what comes."""

from typing import Any

from compiler_gym.compliance.rule import NotChecked, Violation, require, rule
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.values import exact, mismatch
from compiler_gym.compliance.wire import Session
from compiler_gym.service.proto import Event, GetSpacesRequest, GetVersionRequest
from compiler_gym.service.proto.py_converters import event_encoder, message_to_python

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


# Rules about the spaces that a service declares.


@rule(
    "version.reply",
    "GetVersion returns the version of the service, which does not change",
    "Set GetVersionReply.service_version; compiler_version is free-form",
)
def version(subject: Subject) -> None:
    first = subject.client.call("GetVersion", GetVersionRequest()).ok()
    require(first.service_version, "service_version is empty")
    second = subject.client.call("GetVersion", GetVersionRequest()).ok()
    require(first == second, "GetVersion has answered twice, and not the same")


@rule(
    "spaces.names",
    "There is an action space, and all spaces have unique names",
    "Set the name of each ActionSpace and ObservationSpace; clients select by name",
)
def names(subject: Subject) -> None:
    require(subject.spaces.action_space_list, "action_space_list is empty")
    for kind in ("action_space_list", "observation_space_list"):
        found = [space.name for space in getattr(subject.spaces, kind)]
        require(all(found), f"{kind} has a space without a name")
        twice = sorted({name for name in found if found.count(name) > 1})
        require(not twice, f"{kind} has several spaces with the name {', '.join(twice)}")


@rule(
    "spaces.readable",
    "The Python package can read each space",
    "Set Space.value; a new type_id needs a converter in the client",
)
def readable(subject: Subject) -> None:
    spaces: list[Any] = [*subject.spaces.action_space_list, *subject.observation_spaces]
    for space in spaces:
        try:
            message_to_python(space)
        except Exception as error:  # Converters raise various exceptions for malformed spaces.
            raise Violation(f"the space {space.name!r} cannot be read: {error}") from None


@rule(
    "spaces.actions",
    "Each action space has actions",
    "Add at least one action of a kind that clients can send",
)
def actions(subject: Subject) -> None:
    for space in subject.spaces.action_space_list:
        try:
            value = message_to_python(space)
            event_encoder(value)(value.sample())
        except Exception as error:  # Sampling raises various exceptions for malformed spaces.
            raise Violation(f"the action space {space.name!r} gives no action: {error}") from None


@rule(
    "spaces.fixed",
    "GetSpaces always returns the same spaces",
    "Create the spaces once, because requests refer to them by index",
)
def fixed(subject: Subject) -> None:
    before = subject.client.call("GetSpaces", GetSpacesRequest()).ok()
    if subject.target.benchmarks:
        subject.start()
    after = subject.client.call("GetSpaces", GetSpacesRequest()).ok()
    require(before == after, "GetSpaces has answered twice, and not the same")


@rule(
    "spaces.defaults",
    "Each default observation is in its space",
    "Make ObservationSpace.default_observation a value of the space, or leave it unset",
)
def defaults(subject: Subject) -> None:
    checked = 0
    for space in subject.observation_spaces:
        if space.HasField("default_observation"):
            checked += 1
            reason = mismatch(space, space.default_observation)
            require(reason is None, f"the default of {space.name!r} is not in its space: {reason}")
    if not checked:
        raise NotChecked("no observation has a default")


# Rules about session parameters.

_CACHE = "service.benchmark_cache."
_GET, _SET = f"{_CACHE}get_max_size_in_bytes", f"{_CACHE}set_max_size_in_bytes"
_SIZE = f"{_CACHE}get_size_in_bytes"


@rule(
    "parameter.unknown",
    "A parameter with an unknown key is INVALID_ARGUMENT, and the session stays usable",
    "Answer INVALID_ARGUMENT for unknown keys instead of ignoring them",
)
def unknown(subject: Subject) -> None:
    session = subject.start()
    answer = session.try_parameters(("compliance.no_such_parameter", "1"))
    answer.expect("INVALID_ARGUMENT", about="with an unknown key")
    session.state()


@rule(
    "parameter.cache",
    "The size of the program cache can be read and set by service parameters",
    "Handle service.benchmark_cache.{get,set}_max_size_in_bytes and …get_size_in_bytes",
)
def cache(subject: Subject) -> None:
    session = subject.start()
    replies = session.try_parameters((_GET, ""), (_SIZE, "")).ok().reply
    require(len(replies) == 2, f"two parameters were sent, {len(replies)} replies came")
    for reply in replies:
        require(reply.isdecimal(), f"a size is {reply!r}, which is no number of bytes")
    wanted = str(int(replies[0]) + 1)
    got = session.try_parameters((_SET, wanted), (_GET, "")).ok().reply
    session.try_parameters((_SET, replies[0]))
    require(
        list(got) == [wanted] * 2, f"{wanted} was set, and then read; the replies are {list(got)}"
    )


@rule(
    "parameter.malformed",
    "A parameter whose value is malformed is INVALID_ARGUMENT",
    "Check values first; a size is a whole number of bytes, and not negative",
)
def malformed(subject: Subject) -> None:
    session = subject.start()
    if not session.try_parameters((_GET, "")).is_ok:
        raise NotChecked(f"the service has no parameter {_GET}")
    for value in ("", "-1", "twelve", "1.5"):
        answer = session.try_parameters((_SET, value))
        answer.expect("INVALID_ARGUMENT", about=f"of {_SET} with {value!r}")


@rule(
    "parameter.before-a-bad-one",
    "Parameters before a refused one stay set",
    "Handle parameters one by one, in order, and stop at the first that fails",
)
def before_a_bad_one(subject: Subject) -> None:
    session = subject.start()
    answer = session.try_parameters((_GET, ""))
    if not answer.is_ok:
        raise NotChecked(f"the service has no parameter {_GET}")
    before = answer.reply.reply[0]
    wanted = str(int(before) + 2)
    answer = session.try_parameters((_SET, wanted), ("compliance.no_such_parameter", ""))
    answer.expect("INVALID_ARGUMENT", about="with a good and an unknown key")
    got = session.try_parameters((_GET, "")).ok().reply[0]
    session.try_parameters((_SET, before))
    require(got == wanted, f"{wanted} was set before an unknown key, and {got} is read")


@rule(
    "parameter.none",
    "SendSessionParameter without parameters gives no replies",
    "Accept an empty list",
)
def none(subject: Subject) -> None:
    replies = subject.start().try_parameters().ok().reply
    require(not replies, f"{len(replies)} replies have come to no parameter")
