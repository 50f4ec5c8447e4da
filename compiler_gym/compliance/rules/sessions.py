"""Rules about the start and end of sessions, and about programs."""

from collections.abc import Iterator

from compiler_gym.compliance.rule import NotChecked, require, rule
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.values import Action, exact
from compiler_gym.compliance.wire import Answer, Session
from compiler_gym.service.proto import AddBenchmarkRequest, Benchmark, File

_LARGEST_INDEX = 2**31 - 1
_UNKNOWN_URI = "benchmark://compliance-v0/unknown"
_ADDED_URI = "benchmark://compliance-v0/added"


def _renamed(benchmark: Benchmark, uri: str) -> Benchmark:
    copy = Benchmark()
    copy.CopyFrom(benchmark)
    copy.uri = uri
    return copy


def _add(subject: Subject, *benchmarks: Benchmark) -> Answer:
    return subject.client.call("AddBenchmark", AddBenchmarkRequest(benchmark=benchmarks))


@rule(
    "start.numbers",
    "Each session has a unique number, which is not reused",
    "Count up, and never use a number twice",
)
def numbers(subject: Subject) -> None:
    first, second = subject.start(), subject.start()
    require(first.id != second.id, f"two sessions have the number {first.id}")
    second.end()
    third = subject.start()
    require(third.id not in (first.id, second.id), f"the number {third.id} is used again")


@rule(
    "start.observations",
    "A start returns the requested observations in order, including repeated ones",
    "Compute StartSessionRequest.observation_space one by one, in order",
)
def observations(subject: Subject) -> None:
    numbers = subject.state_spaces[:2]
    if not numbers:
        raise NotChecked("no deterministic observation can be computed")
    asked = [*numbers, *reversed(numbers)]
    got = [exact(event) for event in subject.start(observe=asked).started.observation]
    require(len(got) == len(asked), f"{len(asked)} observations were asked for, {len(got)} came")
    require(got == got[::-1], "the observations have not come in the order of the request")
    alone = [exact(subject.observed.events[number]) for number in asked]
    require(got == alone, "observations at the start differ from those of a step without actions")


@rule(
    "start.unknown-benchmark",
    "A start with an unknown URI is NOT_FOUND",
    "Answer NOT_FOUND, so that clients send the program with AddBenchmark and try again",
)
def unknown_benchmark(subject: Subject) -> None:
    answer = subject.try_start(Benchmark(uri=_UNKNOWN_URI))
    answer.expect("NOT_FOUND", about=f"on {_UNKNOWN_URI}")
    require(
        not answer.details.startswith("Session not found"),
        "the text begins with 'Session not found', which means something else to clients",
    )


@rule(
    "start.empty-uri",
    "A start with a benchmark without a URI is INVALID_ARGUMENT",
    "Check that Benchmark.uri is not empty",
)
def empty_uri(subject: Subject) -> None:
    subject.try_start(Benchmark()).expect("INVALID_ARGUMENT", about="without a URI")


@rule(
    "start.bad-action-space",
    "A start with an unknown action space is INVALID_ARGUMENT",
    "Check StartSessionRequest.action_space, including negative numbers",
)
def bad_action_space(subject: Subject) -> None:
    for index in (-1, len(subject.spaces.action_space_list), _LARGEST_INDEX):
        answer = subject.try_start(action_space=index)
        answer.expect("INVALID_ARGUMENT", about=f"with action_space={index}")


@rule(
    "start.bad-observation",
    "A start with an unknown observation is INVALID_ARGUMENT",
    "Check StartSessionRequest.observation_space, including negative numbers",
)
def bad_observation(subject: Subject) -> None:
    for index in (-1, len(subject.observation_spaces), _LARGEST_INDEX):
        answer = subject.try_start(observe=[index])
        answer.expect("INVALID_ARGUMENT", about=f"with observation_space={index}")


@rule(
    "start.all-action-spaces",
    "A session can be started with each action space",
    "Accept the number of every space in GetSpacesReply.action_space_list",
)
def all_action_spaces(subject: Subject) -> None:
    for number in range(len(subject.spaces.action_space_list)):
        subject.start(action_space=number)


@rule(
    "start.failed-leaves-nothing",
    "A failed start leaves no session",
    "Count a session as open only after its start has succeeded",
)
def failed_leaves_nothing(subject: Subject) -> None:
    subject.benchmark  # noqa: B018 - without it, nothing is checked.
    before = subject.open_sessions()
    for _ in range(3):
        subject.try_start(Benchmark(uri=_UNKNOWN_URI))
        subject.try_start(action_space=-1)
        subject.try_start(observe=[-1])
    after = subject.open_sessions()
    require(after == before, f"9 starts have failed, and {after - before} sessions more are open")


@rule(
    "benchmark.added",
    "After AddBenchmark the service finds a program by its URI",
    "Store the programs of AddBenchmark by URI",
)
def added(subject: Subject) -> None:
    _add(subject, _renamed(subject.sent_benchmark, _ADDED_URI)).ok()
    session = subject.start(benchmark=Benchmark(uri=_ADDED_URI))
    require(
        session.state() == subject.start().state(),
        "a session by URI differs from one whose program was sent with the request",
    )


@rule(
    "benchmark.inline",
    "After a start with a program the service finds it by its URI",
    "Store the program of StartSessionRequest.benchmark, as AddBenchmark does",
)
def inline(subject: Subject) -> None:
    subject.start(benchmark=_renamed(subject.sent_benchmark, f"{_ADDED_URI}-inline"))
    subject.start(benchmark=Benchmark(uri=f"{_ADDED_URI}-inline"))


@rule(
    "benchmark.replaced",
    "AddBenchmark replaces a program with the same URI; open sessions keep the former one",
    "Overwrite the former program, and give each session a copy",
)
def replaced(subject: Subject) -> None:
    other, uri = subject.other_benchmark, f"{_ADDED_URI}-replaced"
    _add(subject, _renamed(subject.sent_benchmark, uri)).ok()
    first = subject.start(benchmark=Benchmark(uri=uri))
    before = first.state()
    _add(subject, _renamed(other, uri)).ok()
    second = subject.start(benchmark=Benchmark(uri=uri))
    if subject.start(benchmark=_renamed(other, f"{uri}-other")).state() == before:
        raise NotChecked("the two programs look the same to all deterministic observations")
    require(first.state() == before, "a running session has changed with its program's URI")
    require(second.state() != before, "a new session has the program that was replaced")


@rule(
    "benchmark.bad",
    "AddBenchmark with an empty URI is INVALID_ARGUMENT, and adds nothing",
    "Check all benchmarks of the request, and the URIs of programs, before adding the first",
)
def bad(subject: Subject) -> None:
    good = _renamed(subject.sent_benchmark, f"{_ADDED_URI}-with-a-bad-one")
    nameless = _renamed(subject.sent_benchmark, "")
    # Only the compiler knows whether a name without a program is enough.
    placeless = Benchmark(uri=_UNKNOWN_URI, program=File(uri=""))
    for what, wrong in (("URI", nameless), ("place of the program", placeless)):
        _add(subject, good, wrong).expect("INVALID_ARGUMENT", about=f"without a {what}")
    answer = subject.try_start(Benchmark(uri=good.uri))
    answer.expect("NOT_FOUND", about="on a program that came together with a bad one")


@rule(
    "benchmark.malformed",
    "A program that the compiler cannot read is INVALID_ARGUMENT",
    "Answer INVALID_ARGUMENT if the program cannot be parsed (ValueError in Python)",
)
def malformed(subject: Subject) -> None:
    garbage = File(contents=b"\x00\xff<this is no program>\n" * 3)
    answer = subject.try_start(Benchmark(uri=f"{_ADDED_URI}-garbage", program=garbage))
    if answer.is_ok:
        raise NotChecked("the compiler takes anything for a program")
    answer.expect("INVALID_ARGUMENT", about="on garbage")


@rule(
    "end.remaining",
    "EndSession returns the number of open sessions",
    "Set EndSessionReply.remaining_sessions to the number after the end",
)
def remaining(subject: Subject) -> None:
    benchmark = subject.benchmark
    with subject.own_service() as service:
        sessions = [subject.start(benchmark=benchmark, client=service.client) for _ in range(3)]
        left = [each.end() for each in sessions]
    require(left == [2, 1, 0], f"of three sessions each was ended, and {left} are said to be left")


@rule(
    "end.others",
    "The end of a session does not affect another one on the same program",
    "Do not share what the end of a session destroys",
)
def others(subject: Subject) -> None:
    first, second = subject.start(), subject.start()
    first.end()
    second.step([subject.walk()[0]], second.state_spaces)


def _strangers(subject: Subject) -> Iterator[Session]:
    """Returns sessions that do not exist: one that has ended, and two that never existed."""
    ended = subject.start()
    ended.end()
    yield ended
    for number in (-1, 2**62):
        yield Session(number, subject.client)


def _is_not_found(answer: Answer, session: Session) -> None:
    answer.expect("NOT_FOUND", about=f"of session {session.id}, which does not exist,")
    require(
        answer.details.startswith("Session not found"),
        f"the text of NOT_FOUND is {answer.details[:60]!r}; clients know a lost session by its "
        "beginning, 'Session not found'",
    )


_ADVICE = "Answer NOT_FOUND, with a text that begins with 'Session not found'"


@rule("step.unknown-session", "Step of an unknown session is NOT_FOUND", _ADVICE)
def unknown_step(subject: Subject) -> None:
    for session in _strangers(subject):
        _is_not_found(session.try_step(), session)


@rule("fork.unknown-session", "ForkSession of an unknown session is NOT_FOUND", _ADVICE)
def unknown_fork(subject: Subject) -> None:
    for session in _strangers(subject):
        answer = session.try_fork()
        if answer.code == "UNIMPLEMENTED":
            raise NotChecked("the service cannot fork sessions")
        _is_not_found(answer, session)


@rule("end.unknown-session", "EndSession of an unknown session is NOT_FOUND", _ADVICE)
def unknown_end(subject: Subject) -> None:
    for session in _strangers(subject):
        _is_not_found(session.try_end(), session)


@rule(
    "parameter.unknown-session",
    "SendSessionParameter of an unknown session is NOT_FOUND",
    _ADVICE,
)
def unknown_parameter(subject: Subject) -> None:
    for session in _strangers(subject):
        _is_not_found(session.try_parameters(("key", "value")), session)


# Rules about forks of sessions.


def _half_way(subject: Subject) -> tuple[Session, Session, list[Action]]:
    """Returns a session after some actions, a fork of it, and the remaining actions."""
    session = subject.start()
    if session.cannot_fork():
        raise NotChecked("the service cannot fork sessions: ForkSession is UNIMPLEMENTED")
    walk = subject.walk()
    middle = (len(walk) + 1) // 2
    session.step(walk[:middle])
    return session, session.fork(), walk[middle:]


@rule(
    "fork.number",
    "A fork has a new number, and counts as a session",
    "Register the copy as a session like any other",
)
def number(subject: Subject) -> None:
    session, fork, _ = _half_way(subject)
    require(fork.id != session.id, f"the fork has the number {fork.id} of its original")
    before = session.end()
    after = fork.end()
    require(after == before - 1, f"{before} sessions were left with the fork, {after} without")


@rule(
    "fork.exact",
    "A fork has the same observations as its original",
    "Copy the whole program",
)
def exact_state(subject: Subject) -> None:
    session, fork, _ = _half_way(subject)
    require(fork.state() == session.state(), "the observations of a fork differ")


@rule(
    "fork.goes-on",
    "The same actions have the same effect on a fork, its original, and an equal new session",
    "Copy all state that actions depend on: analyses, counters, random numbers, settings",
)
def goes_on(subject: Subject) -> None:
    session, fork, rest = _half_way(subject)
    replayed = subject.start()
    replayed.step(subject.walk())
    for each in (session, fork):
        for action in rest:
            each.step([action])
    require(fork.state() == session.state(), "the same actions lead a fork elsewhere")
    require(fork.state() == replayed.state(), "a fork is not as a session with the same actions")


@rule(
    "fork.independent",
    "Actions on a fork do not change its original, and vice versa",
    "Copy deeply: a fork must not share mutable state",
)
def independent(subject: Subject) -> None:
    session, fork, _ = _half_way(subject)
    action = subject.effective_action()
    before = session.state()
    fork.step([action, *subject.walk()])
    require(session.state() == before, "actions of a fork have changed its original")
    second = session.fork()
    before = second.state()
    session.step([action, *subject.walk()])
    require(second.state() == before, "actions of a session have changed its fork")


@rule(
    "fork.survives",
    "A fork works after the end of its original",
    "Let a fork own all its resources",
)
def survives(subject: Subject) -> None:
    session, fork, rest = _half_way(subject)
    session.end()
    fork.step(rest)
    fork.state()
    grandchild = fork.fork()
    require(grandchild.state() == fork.state(), "the fork of a fork differs")


@rule(
    "fork.at-start",
    "A session can be forked before its first action",
    "Support forks without actions in the history",
)
def at_start(subject: Subject) -> None:
    _half_way(subject)
    session = subject.start()
    fork = session.fork()
    fork.step(subject.walk())
    session.step(subject.walk())
    require(fork.state() == session.state(), "the same actions lead a fork elsewhere")


@rule(
    "fork.ended",
    "A fork of a session that has reached its end has reached it, too",
    "Copy whether the session has reached its end",
)
def ended(subject: Subject) -> None:
    _half_way(subject)
    if not subject.survey.ending:
        raise NotChecked("no action ends a session on the program")
    ending = subject.survey.ending[0]
    session = subject.start()
    session.step([ending])
    fork = session.fork()
    require(fork.step().end_of_session, "the fork has forgotten that its session has ended")
    fork.try_step([ending]).expect("INVALID_ARGUMENT", about="of such a fork")
