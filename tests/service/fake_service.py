"""A compiler service inside of the test, which fails as it is told to.

Its compiler adds numbers: a session holds a total, which starts at the number that is the text of
the program; the actions 0, 1 and 2 add that much. The observation "total" is the total, "calls" the
number of Step requests to the session.
"""

import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import grpc

from compiler_gym.service.proto import (
    ActionSpace,
    AddBenchmarkReply,
    CompilerGymServiceServicer,
    DiscreteSpace,
    EndSessionReply,
    Event,
    ForkSessionReply,
    GetSpacesReply,
    GetVersionReply,
    Int64Range,
    ObservationSpace,
    SendSessionParameterReply,
    Space,
    StartSessionReply,
    StepReply,
    add_CompilerGymServiceServicer_to_server,
)
from compiler_gym.service.transport.grpc_channels import SESSION_NOT_FOUND_PHRASE


@dataclass
class _Session:
    total: int
    calls: int = 0
    params: dict[str, str] = field(default_factory=dict)


class FakeService(CompilerGymServiceServicer):
    """A service on a port of its own; a context manager.

    Attributes:
        address: ``"host:port"``.
        failures: For each method the failures to come, as (code, details), before it works.
        delays: For each method, how many seconds it takes.
        calls: The methods called so far, in order.
        can_fork: Whether ForkSession works.
        sessions: The sessions by id.
        benchmarks: The programs by URI.
    """

    def __init__(self):
        self.failures: dict[str, list[tuple[grpc.StatusCode, str]]] = defaultdict(list)
        self.delays: dict[str, float] = defaultdict(float)
        self.calls: list[str] = []
        self.can_fork = True
        self.sessions: dict[int, _Session] = {}
        self.benchmarks: dict[str, bytes] = {}
        self._next_id = 0
        self._stopped = threading.Event()
        self._server = grpc.server(ThreadPoolExecutor(4))
        add_CompilerGymServiceServicer_to_server(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def __enter__(self) -> "FakeService":
        return self

    def __exit__(self, *_) -> None:
        self._stopped.set()
        self._server.stop(0).wait()

    def _enter(self, method: str, context: grpc.ServicerContext) -> None:
        self.calls.append(method)
        self._stopped.wait(self.delays[method])
        if self.failures[method]:
            context.abort(*self.failures[method].pop(0))

    def _session(self, request, context: grpc.ServicerContext) -> _Session:
        if request.session_id not in self.sessions:
            context.abort(
                grpc.StatusCode.NOT_FOUND, f"{SESSION_NOT_FOUND_PHRASE}: {request.session_id}"
            )
        return self.sessions[request.session_id]

    def _add(self, session: _Session) -> int:
        self._next_id += 1
        self.sessions[self._next_id] = session
        return self._next_id

    @staticmethod
    def _observe(session: _Session, indices) -> list[Event]:
        values = (session.total, session.calls)
        return [Event(int64_value=values[i]) for i in indices]

    def GetVersion(self, request, context):  # noqa: N802
        self._enter("GetVersion", context)
        return GetVersionReply(service_version="1", compiler_version="adder")

    def GetSpaces(self, request, context):  # noqa: N802
        self._enter("GetSpaces", context)
        number = Space(int64_value=Int64Range())
        zero = Event(int64_value=0)
        return GetSpacesReply(
            action_space_list=[ActionSpace(name="Add", space=Space(discrete=DiscreteSpace(n=3)))],
            observation_space_list=[
                ObservationSpace(
                    name=name, space=number, deterministic=True, default_observation=zero
                )
                for name in ("total", "calls")
            ],
        )

    def AddBenchmark(self, request, context):  # noqa: N802
        self._enter("AddBenchmark", context)
        for benchmark in request.benchmark:
            self.benchmarks[benchmark.uri] = benchmark.program.contents
        return AddBenchmarkReply()

    def StartSession(self, request, context):  # noqa: N802
        self._enter("StartSession", context)
        if request.benchmark.HasField("program"):
            self.benchmarks[request.benchmark.uri] = request.benchmark.program.contents
        if request.benchmark.uri not in self.benchmarks:
            context.abort(grpc.StatusCode.NOT_FOUND, "No such benchmark")
        session = _Session(int(self.benchmarks[request.benchmark.uri]))
        return StartSessionReply(
            session_id=self._add(session),
            observation=self._observe(session, request.observation_space),
        )

    def ForkSession(self, request, context):  # noqa: N802
        self._enter("ForkSession", context)
        if not self.can_fork:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "Sessions cannot be forked")
        session = self._session(request, context)
        return ForkSessionReply(
            session_id=self._add(replace(session, params=session.params.copy()))
        )

    def EndSession(self, request, context):  # noqa: N802
        self._enter("EndSession", context)
        self._session(request, context)
        del self.sessions[request.session_id]
        return EndSessionReply(remaining_sessions=len(self.sessions))

    def Step(self, request, context):  # noqa: N802
        self._enter("Step", context)
        session = self._session(request, context)
        session.calls += 1
        added = sum(action.int64_value for action in request.action)
        session.total += added
        return StepReply(
            action_had_no_effect=added == 0,
            observation=self._observe(session, request.observation_space),
        )

    def SendSessionParameter(self, request, context):  # noqa: N802
        self._enter("SendSessionParameter", context)
        session = self._session(request, context)
        for parameter in request.parameter:
            session.params[parameter.key] = parameter.value
        return SendSessionParameterReply(reply=[parameter.value for parameter in request.parameter])
