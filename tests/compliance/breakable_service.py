"""A service that keeps all rules, or breaks the one that --break names.

It is made without the runtime, which does not let a service break most of them. Its compiler adds
numbers: a session holds a total, which begins as the number that is the text of the program.
"""

import os
import sys
import threading
import time
from dataclasses import dataclass, field, replace

import grpc

from compiler_gym.service.proto import (
    ActionSpace,
    AddBenchmarkReply,
    Benchmark,
    CompilerGymServiceServicer,
    EndSessionReply,
    Event,
    ForkSessionReply,
    GetSpacesReply,
    GetVersionReply,
    HoldLeaseReply,
    Int64Range,
    NamedDiscreteSpace,
    ObservationSpace,
    SendSessionParameterReply,
    Space,
    StartSessionReply,
    StepReply,
    StringSpace,
)
from tests.compliance.breakable_program import Flags, die, run_program

ACTIONS = ["add", "double", "nothing", "end", "crash", "hang"]
CACHE = "service.benchmark_cache."
# Of a time limit that the service takes for a short one.
SHORT_SECONDS = 10
_POLL_SECONDS = 0.01


def wait_for_cancellation(context: grpc.ServicerContext, seconds: float) -> None:
    """Waits for some time, and dies if the request is cancelled meanwhile."""
    end = time.monotonic() + seconds
    while context.is_active():
        if time.monotonic() > end:
            return
        time.sleep(_POLL_SECONDS)
    die()


class RefusalError(Exception):
    def __init__(self, code: str, text: str):
        super().__init__(text)
        self.code = getattr(grpc.StatusCode, code)


@dataclass
class Session:
    """A program under compilation: what is hidden, and what can be seen."""

    lease: int = 0
    total: int = 0
    # What each add adds: 1, and 1 more for each double before.
    addend: int = 1
    is_ended: bool = False
    is_lost: bool = False
    observed: int = 0
    steps: int = 0
    peer: str = ""
    actions: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    closed: threading.Event = field(default_factory=threading.Event)

    def copy(self) -> "Session":
        return replace(self, lock=threading.RLock(), closed=threading.Event())


class BreakableService(CompilerGymServiceServicer):
    def __init__(self, flags: Flags):
        self.flags = flags
        self.lock = threading.RLock()
        self.sessions: dict[int, Session] = {}
        self.benchmarks: dict[str, Benchmark] = {}
        self.leases: set[int] = set()
        self.next_id = self.next_lease = 1
        self.max_cache_bytes = 1 << 28
        self.stopped = threading.Event()
        self.calls = 0

    def breaks(self, rule: str) -> bool:
        return self.flags.broken == rule

    def check(self, holds: object, code: str, text: str, rule: str = "", wrong: str = "") -> None:
        """Refuses a request; with another code, or not at all, if the rule is to be broken."""
        if holds:
            return
        if rule and self.breaks(rule):
            if wrong:
                raise RefusalError(wrong, "This is not the code that it is to be")
            return
        raise RefusalError(code, text)

    def find(self, number: int, rule: str, context: grpc.ServicerContext) -> Session:
        with self.lock:
            session = self.sessions.get(number)
        is_stranger = (
            session and self.breaks("concurrent.clients") and session.peer != context.peer()
        )
        if session is None or is_stranger:
            text = "What?" if self.breaks(rule) else f"Session not found: {number}"
            raise RefusalError("NOT_FOUND", text)
        if session.is_lost and not self.breaks("crash.session-is-lost"):
            raise RefusalError("ABORTED", "The session has crashed before")
        return session

    def keep(self, session: Session) -> int:
        with self.lock:
            is_full = len(self.sessions) >= self.flags.max_sessions
            text = "Too many sessions: see --max_sessions"
            self.check(not is_full, "RESOURCE_EXHAUSTED", text, "limit.sessions")
            number = self.next_id
            if self.breaks("start.numbers"):
                number = next(each for each in range(1000) if each not in self.sessions)
            if not self.breaks("concurrent.starts"):
                self.next_id += 1
                self.sessions[number] = session
                return number
        time.sleep(0.05)
        self.next_id = number + 1
        self.sessions[number] = session
        return number

    # What is known of the service.

    def GetVersion(self, request, context):  # noqa: N802
        version = "" if self.breaks("version.reply") else "1"
        return GetVersionReply(service_version=version, compiler_version="adder")

    def GetSpaces(self, request, context):  # noqa: N802
        self.calls += 1
        if self.breaks("direct.same"):
            context.set_trailing_metadata([("compiler-gym-direct-socket", "nobody-is-there")])
        return GetSpacesReply(
            action_space_list=self.action_spaces(), observation_space_list=self.observation_spaces()
        )

    def action_spaces(self) -> list[ActionSpace]:
        names = [] if self.breaks("spaces.actions") else ["add"]
        return [
            ActionSpace(name=name, space=Space(named_discrete=NamedDiscreteSpace(name=actions)))
            for name, actions in (("all", ACTIONS), ("few", names))
        ]

    def observation_spaces(self) -> list[ObservationSpace]:
        number, text = Space(int64_value=Int64Range(min=0)), Space(string_value=StringSpace())
        spaces = [
            ObservationSpace(name="total", space=number, deterministic=True),
            ObservationSpace(name="text", space=text, deterministic=True),
            ObservationSpace(name="clock", space=number),
            ObservationSpace(name="unavailable", space=number, deterministic=True),
        ]
        default = -1 if self.breaks("spaces.defaults") else 0
        spaces[0].default_observation.int64_value = default
        if self.breaks("spaces.names"):
            spaces[1].name = "total"
        if self.breaks("spaces.readable"):
            spaces[3].ClearField("space")
        if self.breaks("rewards.observations"):
            spaces[1].name = "words"
        if self.breaks("spaces.fixed") and self.calls > 1:
            spaces.reverse()
        return spaces

    # Programs.

    def AddBenchmark(self, request, context):  # noqa: N802
        for benchmark in request.benchmark:
            if self.breaks("benchmark.bad"):
                self.add(benchmark)
            self.check_benchmark(benchmark)
            is_placed = benchmark.program.WhichOneof("data") != "uri" or benchmark.program.uri
            self.check(is_placed, "INVALID_ARGUMENT", "The program has an empty URI")
        for benchmark in request.benchmark:
            self.add(benchmark)
        return AddBenchmarkReply()

    def check_benchmark(self, benchmark: Benchmark) -> None:
        text = "There is no URI"
        self.check(benchmark.uri, "INVALID_ARGUMENT", text, "start.empty-uri", "NOT_FOUND")

    def add(self, benchmark: Benchmark) -> None:
        if self.breaks("benchmark.added"):
            return
        with self.lock:
            if not (self.breaks("benchmark.replaced") and benchmark.uri in self.benchmarks):
                self.benchmarks[benchmark.uri] = benchmark

    def program_of(self, benchmark: Benchmark) -> int:
        self.check_benchmark(benchmark)
        if benchmark.HasField("program"):
            if not self.breaks("benchmark.inline"):
                self.add(benchmark)
        else:
            is_known = benchmark.uri in self.benchmarks
            rule = "start.unknown-benchmark"
            self.check(is_known, "NOT_FOUND", "Benchmark not found", rule, "INVALID_ARGUMENT")
            benchmark = self.benchmarks[benchmark.uri]
        text = benchmark.program.contents.decode(errors="replace").strip()
        rule = "benchmark.malformed"
        self.check(text.isdecimal(), "INVALID_ARGUMENT", "Not a number", rule, "INTERNAL")
        return int(text)

    # Sessions.

    def StartSession(self, request, context):  # noqa: N802
        if self.breaks("cancel.start"):
            wait_for_cancellation(context, 1)
        if self.breaks("start.failed-leaves-nothing"):
            self.keep(Session())
        self.check_lease(request.lease_id)
        total = self.program_of(request.benchmark)
        rule = "start.all-action-spaces"
        few = 1 if self.breaks(rule) else 2
        is_known = 0 <= request.action_space < few
        text, rule = "There is no such action space", "start.bad-action-space"
        self.check(is_known, "INVALID_ARGUMENT", text, rule)
        self.check_observations(request.observation_space, "start.bad-observation")
        actions = 1 if request.action_space == 1 else len(ACTIONS)
        session = Session(request.lease_id, total, peer=context.peer(), actions=actions)
        if self.breaks("concurrent.sessions") and self.sessions:
            session = next(iter(self.sessions.values()))
            session.total, session.addend = total, 1
        observed = self.observe(session, request.observation_space)
        if self.breaks("start.observations"):
            observed.sort(key=Event.SerializeToString)
        return StartSessionReply(session_id=self.keep(session), observation=observed)

    def check_lease(self, lease: int) -> None:
        with self.lock:
            is_held = lease == 0 or lease in self.leases
        self.check(is_held, "FAILED_PRECONDITION", "The lease has ended", "lease.ended")

    def ForkSession(self, request, context):  # noqa: N802
        session = self.find(request.session_id, "fork.unknown-session", context)
        if self.breaks("fork.at-start"):
            self.check(session.steps, "INTERNAL", "Nothing was done yet")
        if self.breaks("fork.number"):
            return ForkSessionReply(session_id=request.session_id)
        copy = session if self.breaks("fork.independent") else session.copy()
        if self.breaks("fork.exact"):
            copy.total += 1
        if self.breaks("fork.goes-on"):
            copy.addend = 1
        if self.breaks("fork.ended"):
            copy.is_ended = False
        if self.breaks("lease.cancelled"):
            copy.lease = 0
        if self.breaks("fork.survives"):
            copy.closed = session.closed
        return ForkSessionReply(session_id=self.keep(copy))

    def EndSession(self, request, context):  # noqa: N802
        with self.lock:
            session = self.sessions.get(request.session_id)
        if session is None:
            self.find(request.session_id, "end.unknown-session", context)
        if self.breaks("hang.end") or self.breaks("hang.deadline"):
            with session.lock:
                pass
        with self.lock:
            before = len(self.sessions)
            del self.sessions[request.session_id]
            session.closed.set()
            if self.breaks("end.others"):
                self.sessions.clear()
            is_wrong = self.breaks("end.remaining")
            return EndSessionReply(remaining_sessions=before if is_wrong else len(self.sessions))

    def HoldLease(self, request, context):  # noqa: N802
        with self.lock:
            lease = 0 if self.breaks("lease.numbers") else self.next_lease
            self.next_lease += 1
            self.leases.add(lease)
        try:
            yield HoldLeaseReply(lease_id=lease)
            while context.is_active() and not self.stopped.is_set():
                time.sleep(_POLL_SECONDS)
        finally:
            # gRPC does not resume the generator of a call that is cancelled at once: it closes it.
            if not self.breaks("lease.killed-client"):
                self.end_lease(lease)

    def end_lease(self, lease: int) -> None:
        with self.lock:
            self.leases.discard(lease)
            mine = [number for number, each in self.sessions.items() if each.lease == lease]
            for number in mine:
                self.sessions.pop(number).closed.set()

    # Steps.

    def Step(self, request, context):  # noqa: N802
        session = self.find(request.session_id, "step.unknown-session", context)
        if session.closed.is_set() and self.breaks("fork.survives"):
            raise RefusalError("NOT_FOUND", "Session not found: its original has ended")
        self.check_observations(request.observation_space, "step.bad-observation")
        self.check_limits(request, context)
        before = self.observe(session, request.observation_space, is_quiet=True)
        with self.lock if self.breaks("hang.others-live") else session.lock:
            had_no_effect = self.apply(session, request.action, context)
            session.steps += bool(request.action)
            observed = self.observe(session, request.observation_space)
        if self.breaks("step.observations") and request.action:
            observed = before
        return StepReply(
            end_of_session=session.is_ended,
            action_had_no_effect=had_no_effect,
            observation=observed,
        )

    def check_limits(self, request, context: grpc.ServicerContext) -> None:
        if self.breaks("deadline.short") and context.time_remaining() < SHORT_SECONDS:
            die()
        if self.breaks("cancel.step") and len(request.action) > 20:
            wait_for_cancellation(context, 10)
        many, text = 100, "Too many"
        few_observations = len(request.observation_space) <= many
        few_actions = len(request.action) <= many
        if self.breaks("limit.many-observations"):
            self.check(few_observations, "RESOURCE_EXHAUSTED", text)
        if self.breaks("limit.many-actions"):
            self.check(few_actions, "RESOURCE_EXHAUSTED", text)

    def apply(self, session: Session, actions, context: grpc.ServicerContext) -> bool:
        """Applies actions; returns whether they have had no effect."""
        if self.breaks("step.before-a-bad-one"):
            for action in actions:
                self.name_of(session, action)
        if actions and session.is_ended and not self.breaks("step.end-of-session"):
            raise RefusalError("INVALID_ARGUMENT", "The session has ended")
        effects = []
        for action in actions[:1] if self.breaks("step.several") else actions:
            effects.append(self.apply_one(session, self.name_of(session, action), context))
            if session.is_ended and not self.breaks("step.stops-at-end"):
                break
        if self.breaks("step.several-effect") and effects:
            return not effects[-1]
        if self.breaks("step.no-effect"):
            return True
        if self.breaks("step.empty") and not effects:
            return False
        return not any(effects)

    def name_of(self, session: Session, action: Event) -> str:
        kind, number = action.WhichOneof("value"), action.int64_value
        if kind == "int64_tensor" and self.breaks("step.malformed-tensor"):
            raise RefusalError("INTERNAL", "Out of memory")
        is_known = kind == "int64_value" and 0 <= number < session.actions
        text = "There is no such action"
        self.check(is_known, "INVALID_ARGUMENT", text, "step.bad-action")
        if self.breaks("step.accepts"):
            self.check(number != 1, "INVALID_ARGUMENT", text)
        return ACTIONS[number] if is_known else "nothing"

    def apply_one(self, session: Session, name: str, context: grpc.ServicerContext) -> bool:
        before = session.total, session.addend, session.is_ended
        if name == "add":
            total = session.total + session.addend
            if self.breaks("observations.pure") and session.observed > 5:
                total += 1
            if self.breaks("concurrent.one-session"):
                session.lock.release()
                time.sleep(0.05)
                session.lock.acquire()
            session.total = total
        elif name == "double":
            session.total = session.total * 2 % (1 << 40)
            session.addend += 1
        elif name == "end":
            session.is_ended = True
        elif name == "crash":
            self.crash(session)
        elif name == "hang":
            self.hang(session, context)
        return before != (session.total, session.addend, session.is_ended)

    def crash(self, session: Session) -> None:
        session.is_lost = True
        if self.breaks("crash.others-live"):
            with self.lock:
                self.sessions.clear()
        code = "INTERNAL" if self.breaks("crash.status") else "ABORTED"
        raise RefusalError(code, "The compiler has crashed")

    def hang(self, session: Session, context: grpc.ServicerContext) -> None:
        is_stubborn = any(map(self.breaks, ("hang.end", "hang.deadline", "hang.others-live")))
        while is_stubborn and not self.stopped.is_set():
            time.sleep(_POLL_SECONDS)
        while context.is_active() and not session.closed.is_set() and not self.stopped.is_set():
            time.sleep(_POLL_SECONDS)
        session.is_lost = True
        raise RefusalError("DEADLINE_EXCEEDED", "The action took too long")

    # Observations.

    def check_observations(self, numbers, rule: str) -> None:
        for number in numbers:
            text = f"There is no observation {number}"
            self.check(0 <= number < 4, "INVALID_ARGUMENT", text, rule, "INTERNAL")

    def observe(self, session: Session, numbers, is_quiet: bool = False) -> list[Event]:
        if not is_quiet:
            session.observed += len(numbers)
        return [self.observe_one(session, number) for number in numbers]

    def observe_one(self, session: Session, number: int) -> Event:
        if number == 0:
            if self.breaks("observations.in-space"):
                return Event(double_value=session.total)
            return Event(int64_value=session.total)
        if number == 1:
            extra = ""
            if self.breaks("observations.deterministic"):
                extra = str(id(session))
            if self.breaks("observations.other-process"):
                extra = str(os.getpid())
            if self.breaks("observations.repeatable"):
                extra = str(session.observed)
            return Event(string_value=f"{session.total}{extra}")
        if number == 2:
            return Event(int64_value=time.time_ns())
        code = "UNKNOWN" if self.breaks("observations.computed") else "UNIMPLEMENTED"
        raise RefusalError(code, "It cannot be computed")

    # Parameters.

    def SendSessionParameter(self, request, context):  # noqa: N802
        self.find(request.session_id, "parameter.unknown-session", context)
        if self.breaks("parameter.before-a-bad-one"):
            for parameter in request.parameter:
                self.check_key(parameter.key)
        replies = [self.set(each.key, each.value) for each in request.parameter]
        if self.breaks("parameter.none") and not replies:
            replies = [""]
        return SendSessionParameterReply(reply=replies)

    def check_key(self, key: str) -> None:
        names = ("set_max_size_in_bytes", "get_max_size_in_bytes", "get_size_in_bytes")
        is_known = key in {CACHE + name for name in names}
        self.check(is_known, "INVALID_ARGUMENT", "Unknown session parameter", "parameter.unknown")

    def set(self, key: str, value: str) -> str:
        self.check_key(key)
        if key == f"{CACHE}set_max_size_in_bytes":
            rule = "parameter.malformed"
            self.check(value.isdecimal(), "INVALID_ARGUMENT", "Not a number", rule)
            if value.isdecimal() and not self.breaks("parameter.cache"):
                self.max_cache_bytes = int(value)
            return value
        if key == f"{CACHE}get_max_size_in_bytes":
            return str(self.max_cache_bytes)
        return str(sum(benchmark.ByteSize() for benchmark in self.benchmarks.values()))


def with_refusals(name: str):
    """A method whose refusals become the status of the request."""
    method = getattr(BreakableService, name)

    def call(self, request, context):
        try:
            return method(self, request, context)
        except RefusalError as refusal:
            context.abort(refusal.code, str(refusal))

    return call


for _name in (
    "AddBenchmark",
    "StartSession",
    "ForkSession",
    "EndSession",
    "Step",
    "SendSessionParameter",
):
    setattr(BreakableService, _name, with_refusals(_name))


if __name__ == "__main__":
    sys.exit(run_program(BreakableService))
