from contextlib import closing

import pytest

from benchmarks.arena import Arena
from compiler_gym.service.proto import EndSessionRequest, StartSessionRequest


@pytest.fixture(scope="module")
def arena(small_program, service_binary, replay_binary):
    with closing(Arena(small_program, service_binary, replay_binary)) as arena:
        yield arena


def test_fresh_benchmarks_are_one_program_that_is_new_each_time(arena, small_program):
    first, second = arena.fresh_benchmark(), arena.fresh_benchmark()
    assert first.uri != second.uri
    assert first.proto.dynamic_config != second.proto.dynamic_config
    assert first.proto.program == second.proto.program
    assert first.proto.program.contents == small_program.read_bytes()


def test_failures_of_steps_are_not_measured(arena):
    with arena.players(()) as players, pytest.raises(RuntimeError, match="not in range"):
        players.grpc.play([len(arena.pipelines)])


def test_players_leave_no_sessions_behind(arena):
    with arena.players(()) as players:
        for player in players:
            player.fork()
        # All but the player in process have one, and this is asked for by another.
        assert remaining_sessions(arena) == 2
    assert remaining_sessions(arena) == 0


def remaining_sessions(arena):
    connection = arena.connection
    request = StartSessionRequest(benchmark=arena.fresh_benchmark().proto)
    session = connection(connection.stub.StartSession, request).session_id
    request = EndSessionRequest(session_id=session)
    return connection(connection.stub.EndSession, request).remaining_sessions
