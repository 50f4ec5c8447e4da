"""Plays by bare gRPC calls: what is left when the Python environment is taken away."""

from collections.abc import Sequence

import grpc
from typing_extensions import override

from benchmarks.player import Player, timed
from compiler_gym.datasets import Benchmark
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.proto import (
    AddBenchmarkRequest,
    EndSessionRequest,
    Event,
    ForkSessionRequest,
    StartSessionRequest,
    StepReply,
    StepRequest,
)
from compiler_gym.service.proto import Benchmark as BenchmarkProto

_TIMEOUT_SECONDS = 300


class GrpcPlayer(Player):
    """Sends the requests that an environment sends, made in advance, and ignores the replies.

    Args:
        connection: The service to use. Its channel is used as it is.
        observations: What each step observes.
    """

    def __init__(self, connection: CompilerGymServiceConnection, observations: Sequence[str] = ()):
        self._connection = connection.retain()
        self._stub = connection.stub
        names = [space.name for space in connection.observation_spaces]
        self._indices = {name: index for index, name in enumerate(names)}
        self._observed = [self._indices[name] for name in observations]
        self._uri = ""
        self._session: int | None = None

    @override
    def reset(self) -> float:
        return self._end() + self._start()

    @override
    def reset_to(self, benchmark: Benchmark) -> float:
        self._uri = benchmark.proto.uri
        request = AddBenchmarkRequest(benchmark=[benchmark.proto])
        adding, _ = timed(lambda: self._stub.AddBenchmark(request, timeout=_TIMEOUT_SECONDS))
        return self._end() + adding + self._start()

    def _start(self) -> float:
        request = StartSessionRequest(
            benchmark=BenchmarkProto(uri=self._uri), observation_space=self._observed
        )
        duration, reply = timed(lambda: self._stub.StartSession(request, timeout=_TIMEOUT_SECONDS))
        self._session = reply.session_id
        return duration

    def _end(self, session: int | None = None) -> float:
        session = session or self._session
        if session is None:
            return 0.0
        request = EndSessionRequest(session_id=session)
        return timed(lambda: self._stub.EndSession(request, timeout=_TIMEOUT_SECONDS))[0]

    @override
    def play(self, actions: Sequence[int]) -> float:
        return self._step(actions, self._observed)

    @override
    def observe(self, observation: str) -> float:
        return self._step((), [self._indices[observation]])

    def _step(self, actions: Sequence[int], observed: Sequence[int]) -> float:
        request = StepRequest(
            session_id=self._session,
            action=[Event(int64_value=action) for action in actions],
            observation_space=observed,
        )
        try:
            return timed(lambda: self._call_step(request))[0]
        except grpc.RpcError as error:
            raise RuntimeError(f"Actions {list(actions)}: {error.details()}") from error

    def _call_step(self, request: StepRequest) -> StepReply:
        return self._stub.Step(request, timeout=_TIMEOUT_SECONDS)

    @override
    def fork(self) -> float:
        request = ForkSessionRequest(session_id=self._session)
        duration, reply = timed(lambda: self._stub.ForkSession(request, timeout=_TIMEOUT_SECONDS))
        self._end(reply.session_id)
        return duration

    @override
    def close(self) -> None:
        self._end()
        self._session = None
        self._connection.release()
