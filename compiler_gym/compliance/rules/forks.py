"""Rules about forks of sessions."""

from compiler_gym.compliance.rule import NotChecked, require, rule
from compiler_gym.compliance.session import Session
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.values import Action


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
