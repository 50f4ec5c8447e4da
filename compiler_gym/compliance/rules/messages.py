"""Rules about malformed and large requests."""

from contextlib import AbstractContextManager, closing

from compiler_gym.compliance.rule import NotChecked, require, rule
from compiler_gym.compliance.subject import RunningService, Subject
from compiler_gym.compliance.wire import METHODS, Answer, Session
from compiler_gym.service.proto import (
    AddBenchmarkRequest,
    Benchmark,
    Event,
    File,
    GetSpacesReply,
    GetSpacesRequest,
    GetVersionReply,
)

_GARBAGE = (b"\xff" * 64, b"\x0a\xff\xff\xff\xff\x0f", b"\x08", bytes(range(256)))
_MIB = 1 << 20
_LARGE_BYTES = 16 * _MIB
_REPEATS = 1000
_MAX_SESSIONS = 2

# A text in field 1000, which no message has.
_UNKNOWN_FIELD = b"\xc2\x3e\x05hello"


@rule(
    "message.garbage",
    "Bytes that are not a request give an error, and the service stays usable",
    "Leave parsing to protobuf, and do not exit on errors",
)
def garbage(subject: Subject) -> None:
    for method in METHODS:
        for data in _GARBAGE:
            answer = subject.client.send_bytes(method, data)
            wrong = ("OK", "UNAVAILABLE", "DEADLINE_EXCEEDED")
            require(answer.code not in wrong, f"{method} answers {answer} to bytes without a sense")
    subject.service.require_alive("bytes that are no request")


@rule(
    "message.unknown-method",
    "An unknown method is UNIMPLEMENTED",
    "Leave that to gRPC",
)
def unknown_method(subject: Subject) -> None:
    subject.client.send_bytes("NoSuchMethod", b"").expect("UNIMPLEMENTED")
    subject.service.require_alive("an unknown method")


@rule(
    "message.unknown-field",
    "Unknown fields are ignored",
    "Leave that to protobuf; newer clients send more fields",
)
def unknown_field(subject: Subject) -> None:
    plain = GetVersionReply.FromString(subject.client.send_bytes("GetVersion", b"").ok())
    reply = GetVersionReply.FromString(subject.client.send_bytes("GetVersion", _UNKNOWN_FIELD).ok())
    require(reply == plain, "GetVersion has answered something else")
    data = subject.client.send_bytes("GetSpaces", _UNKNOWN_FIELD).ok()
    wanted = subject.client.call("GetSpaces", GetSpacesRequest()).ok()
    require(GetSpacesReply.FromString(data) == wanted, "GetSpaces has answered something else")


@rule(
    "limit.large-request",
    "A program of 16 MiB can be sent",
    "Lift gRPC's limit of 4 MiB: SetMaxReceiveMessageSize(-1)",
)
def large_request(subject: Subject) -> None:
    _add_large(subject.service, _LARGE_BYTES).ok()


def _add_large(service: RunningService, size: int) -> Answer:
    program = File(contents=bytes(size))
    benchmark = Benchmark(uri="benchmark://compliance-v0/large", program=program)
    return service.client.call("AddBenchmark", AddBenchmarkRequest(benchmark=[benchmark]))


@rule(
    "limit.many-observations",
    "A step may request 1000 observations",
    "Do not limit the number of observations in a request",
)
def many_observations(subject: Subject) -> None:
    sizes = {number: subject.observed.events[number].ByteSize() for number in subject.state_spaces}
    if not sizes:
        raise NotChecked("no deterministic observation can be computed")
    smallest = min(sizes, key=sizes.__getitem__)
    events = subject.start().step((), [smallest] * _REPEATS).observation
    require(len(events) == _REPEATS, f"{_REPEATS} were asked for, {len(events)} came")


@rule(
    "limit.many-actions",
    "A step may have 1000 actions",
    "Do not limit the number of actions in a request",
)
def many_actions(subject: Subject) -> None:
    harmless = subject.survey.harmless
    if not harmless:
        raise NotChecked("every action changes the program, which 1000 of them could make huge")
    session = subject.start()
    before = session.state()
    session.step(harmless[:1] * _REPEATS)
    require(session.state() == before, f"{harmless[0].name}, {_REPEATS} times, has an effect")


@rule(
    "limit.sessions",
    "--max_sessions limits open sessions: a start beyond it is RESOURCE_EXHAUSTED",
    "Count sessions, including forks, and name the flag in the error",
)
def sessions(subject: Subject) -> None:
    subject.benchmark  # noqa: B018 - without it, nothing is checked.
    with _limited(subject, f"--max_sessions={_MAX_SESSIONS}") as service:
        started = [subject.start(client=service.client) for _ in range(_MAX_SESSIONS)]
        answer = subject.try_start(client=service.client)
        answer.expect("RESOURCE_EXHAUSTED", about=f"of session {_MAX_SESSIONS + 1}")
        require("max_sessions" in answer.details, f"the text does not name the flag: {answer}")
        if not started[0].cannot_fork():
            started[0].try_fork().expect("RESOURCE_EXHAUSTED", about="beyond the limit")
        started[0].end()
        subject.start(client=service.client)


@rule(
    "limit.message-bytes",
    "--max_message_bytes limits requests: a larger one is RESOURCE_EXHAUSTED",
    "Pass the value to gRPC: SetMaxReceiveMessageSize()",
)
def message_bytes(subject: Subject) -> None:
    with _limited(subject, f"--max_message_bytes={_MIB}") as service:
        _add_large(service, _MIB // 2).ok()
        _add_large(service, 2 * _MIB).expect("RESOURCE_EXHAUSTED", about="of 2 MiB")
        service.require_alive("a request that is too large")


def _limited(subject: Subject, flag: str) -> AbstractContextManager[RunningService]:
    name = flag.partition("=")[0]
    if name.lstrip("-") not in subject.help_text:
        raise NotChecked(f"the service has no flag {name}, says --help")
    return subject.own_service(flag)


# Rules about the direct channel, which is the same protocol without gRPC.


def _answers(subject: Subject, session: Session) -> list[Answer]:
    """Returns the answers to some requests, most of which are refused."""
    nobody = Session(2**62, session.client)
    return [
        session.try_step([Event()]),
        session.try_step((), [-1]),
        session.try_parameters(("compliance.no_such_parameter", "")),
        subject.try_start(action_space=-1, client=session.client),
        nobody.try_step(),
        nobody.try_end(),
    ]


@rule(
    "direct.same",
    "The direct channel, if there is one, gives the same answers as gRPC",
    "Serve both with the same code, or remove the direct channel from the metadata",
)
def same(subject: Subject) -> None:
    with closing(subject.service.connect()) as client:
        client.switch_to_direct_channel()
        session, wanted = subject.start(client=client), subject.start()
        for action in subject.walk():
            session.step([action])
            wanted.step([action])
        require(session.state() == wanted.state(), "the same actions lead elsewhere")
        if not wanted.cannot_fork():
            fork = session.fork()
            require(fork.state() == wanted.state(), "a fork differs")
            fork.end()
        for one, other in zip(_answers(subject, session), _answers(subject, wanted), strict=True):
            require(one.code == other.code, f"{one.method} answers {one}; by gRPC {other}")
        session.end()
