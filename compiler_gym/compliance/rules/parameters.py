"""Rules about session parameters."""

from compiler_gym.compliance.rule import NotChecked, require, rule
from compiler_gym.compliance.subject import Subject

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
