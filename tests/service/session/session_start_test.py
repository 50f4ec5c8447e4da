"""Tests of session start."""

from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.session import session_start
from compiler_gym.service.session.session_start import SessionStarter
from compiler_gym.util.deadline import Deadline
from tests.service.fake_service import FakeService
from tests.service.toy_service import text_benchmark


def test_remembered_benchmarks_are_bounded(monkeypatch):
    monkeypatch.setattr(session_start, "_MAX_DIGESTS", 3)
    with FakeService() as service, CompilerGymServiceConnection(service.address) as connection:
        starter = SessionStarter()
        for i in range(10):
            benchmark = text_benchmark(str(i), f"benchmark://user-v0/{i}")
            starter.start(connection, benchmark, 0, [], Deadline(10))
            assert 1 <= len(connection.sent_benchmarks) <= 3
        assert len(service.sessions) == 10
