from contextlib import closing

import pytest

from benchmarks.floor import Floor
from compiler_gym.util.runfiles_path import find_service_binary


@pytest.fixture(scope="module")
def binary():
    return find_service_binary("Floor", package="benchmarks/llvm_service")


@pytest.fixture
def floor(binary, small_program):
    with closing(Floor(binary, small_program, ["function(sroa)", "no-such-pass"])) as floor:
        floor.reset()
        yield floor


def test_failures_are_explained(floor):
    with pytest.raises(RuntimeError, match="no-such-pass"):
        floor.step(1)


def test_processes_end_with_the_client(floor):
    floor.step(0)
    session = floor._session.dup()
    session.settimeout(60)
    floor.close()
    assert session.recv(1) == b""
    session.close()
