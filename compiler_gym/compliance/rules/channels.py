"""Rules about the direct channel, which is the same protocol without gRPC."""

from contextlib import closing

from compiler_gym.compliance.rule import require, rule
from compiler_gym.compliance.session import Session
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.wire import Answer
from compiler_gym.service.proto import Event


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
