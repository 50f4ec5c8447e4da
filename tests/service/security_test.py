"""Tests of access control: gRPC over TCP, over the Unix socket, and the direct channel."""

import random
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from compiler_gym.service import CompilerGymServiceConnection, ConnectionOpts, proto
from compiler_gym.service.proto import (
    CompilerGymServiceStub,
    EndSessionRequest,
    GetVersionRequest,
    StartSessionRequest,
    StepRequest,
)
from compiler_gym.service.transport import frames
from compiler_gym.service.transport.frame_socket import FrameSocket
from compiler_gym.service.transport.frames import SOCKET_NAME_KEY
from tests.service.other_user import (
    as_other_user,
    ask_by_grpc,
    ask_directly,
    needs_other_user,
    result_as_other_user,
)
from tests.service.service_program import ServiceProgram
from tests.service.toy_service import text_benchmark, toy_service

TOKEN = "0123456789abcdef0123456789abcdef"
VERSION = "toy 1.0"


@pytest.fixture
def start() -> Iterator[Callable[..., ServiceProgram]]:
    """Starts services with the flags given, in a folder that every user may enter."""
    services = []
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)

        def start_one(*args: str) -> ServiceProgram:
            services.append(ServiceProgram(Path(folder) / str(len(services)), *args))
            return services[-1]

        yield start_one
        for service in services:
            service.stop()


@pytest.fixture
def token_file(tmp_path) -> Path:
    path = tmp_path / "token"
    path.touch(0o600)
    path.write_text(f"{TOKEN}\n")
    return path


def connect(address: str, **opts) -> CompilerGymServiceConnection:
    impatient = {"init_max_attempts": 1, "rpc_max_retries": 0}
    return CompilerGymServiceConnection(address, ConnectionOpts(**impatient, **opts))


def play(connection: CompilerGymServiceConnection) -> None:
    """Makes a step."""
    stub = connection.stub
    benchmark = text_benchmark("abc").proto
    session = connection(stub.StartSession, StartSessionRequest(benchmark=benchmark)).session_id
    request = StepRequest(session_id=session, observation_space=[0])
    assert connection(stub.Step, request).observation[0].string_value == "abc"
    connection(stub.EndSession, EndSessionRequest(session_id=session))


def direct_name(service: ServiceProgram) -> str:
    """The name of a service's socket for the direct channel."""
    with grpc.insecure_channel(f"unix:{service.socket}") as channel:
        _, call = CompilerGymServiceStub(channel).GetVersion.with_call(GetVersionRequest())
    return dict(call.trailing_metadata())[SOCKET_NAME_KEY]


def tcp_connections_to(port: int) -> int:
    """Returns the number of open TCP connections to a port of 127.0.0.1."""
    files = [Path("/proc/net/tcp"), Path("/proc/net/tcp6")]  # gRPC uses IPv6 for IPv4, too.
    lines = [line.split() for file in files for line in file.read_text().splitlines()]
    return sum(line[2].endswith(f"0100007F:{port:04X}") and line[3] == "01" for line in lines)


# ----------------------------------------------------------------------------------------------
# Services that the client starts.


def test_managed_service_is_reached_by_its_unix_socket():
    opts = ConnectionOpts(direct_channel=False)
    with CompilerGymServiceConnection(toy_service(), opts) as connection:
        directory = connection.service.working_dir
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert stat.S_IMODE((directory / "service.sock").stat().st_mode) == 0o600
        play(connection)
        assert tcp_connections_to(connection.service.port) == 0
        # As clients that know nothing but port.txt do.
        assert ask_by_grpc(f"localhost:{connection.service.port}") == VERSION


def test_path_of_the_working_directory_may_be_long(monkeypatch, tmp_path):
    monkeypatch.setenv("COMPILER_GYM_TRANSIENT_CACHE", str(tmp_path / ("long" * 50)))
    with CompilerGymServiceConnection(toy_service()) as connection:
        assert connection.service.address.startswith("unix:")
        play(connection)


def test_managed_service_without_a_unix_socket(monkeypatch):
    monkeypatch.setattr(frames, "_SOCKET_FILE", "missing.sock")
    opts = ConnectionOpts(direct_channel=False)
    with CompilerGymServiceConnection(toy_service(), opts) as connection:
        assert connection.service.address == f"127.0.0.1:{connection.service.port}"
        play(connection)
        assert tcp_connections_to(connection.service.port) == 1


# ----------------------------------------------------------------------------------------------
# The same user and another one.


def test_same_user(start):
    service = start()
    assert ask_by_grpc(service.address) == VERSION
    assert ask_by_grpc(f"localhost:{service.port}") == VERSION
    assert ask_by_grpc(f"unix:{service.socket}") == VERSION
    assert ask_directly(direct_name(service)) == "answered"
    with connect(service.address) as connection:
        play(connection)


@needs_other_user
def test_other_user_by_tcp(start):
    service = start()
    assert result_as_other_user("ask_by_grpc", service.address) == "UNAVAILABLE"
    assert ask_by_grpc(service.address) == VERSION


@needs_other_user
def test_other_user_by_unix_socket(start):
    service = start()
    assert result_as_other_user("ask_by_grpc", f"unix:{service.socket}") == "UNAVAILABLE"
    # Neither where the modes of files would allow it.
    service.socket.parent.chmod(0o755)
    service.socket.chmod(0o666)
    assert result_as_other_user("ask_by_grpc", f"unix:{service.socket}") == "UNAVAILABLE"
    assert ask_by_grpc(f"unix:{service.socket}") == VERSION


@needs_other_user
@pytest.mark.parametrize("flags", [[], ["--insecure"]])
def test_other_user_by_the_direct_channel(start, flags):
    service = start(*flags)
    assert result_as_other_user("ask_directly", direct_name(service)) == "closed"
    assert ask_directly(direct_name(service)) == "answered"


@needs_other_user
def test_other_user_who_has_taken_the_name_of_a_direct_channel():
    name = f"compiler_gym-test-{random.getrandbits(64)}"
    with as_other_user("listen_on", name) as impostor:
        assert impostor.stdout.readline() == "listening\n"
        with pytest.raises(PermissionError, match="user with id 65534"):
            FrameSocket.connect(name, 1)
        assert impostor.stdout.readline() == "connected\n"


@needs_other_user
def test_insecure_lets_in_everybody(start):
    service = start("--insecure")
    assert result_as_other_user("ask_by_grpc", service.address) == VERSION


# ----------------------------------------------------------------------------------------------
# Other machines.


def test_token(start, token_file):
    service = start("--host=0.0.0.0", f"--token_file={token_file}")
    for opts in ({"token": TOKEN}, {"token_file": token_file}):
        with connect(service.address, **opts) as connection:
            play(connection)
        with connect(service.address, **opts, direct_channel=False) as connection:
            play(connection)
            assert connection.lease_id > 0
    with pytest.raises(PermissionError, match="token"):
        connect(service.address, token=TOKEN[:-1] + "0")
    with pytest.raises(PermissionError, match="token_file"):
        connect(service.address)


def test_token_is_asked_for_with_every_request(start, token_file):
    service = start(f"--token_file={token_file}")
    with grpc.insecure_channel(service.address) as channel:
        stub = CompilerGymServiceStub(channel)
        for name, method in vars(stub).items():
            with pytest.raises(grpc.RpcError) as error:
                reply = method(getattr(proto, f"{name}Request")(), timeout=100)
                next(iter(reply))  # A stream fails when it is read.
            assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED, name
            # Not even the name of the direct channel is told.
            assert SOCKET_NAME_KEY not in dict(error.value.trailing_metadata())


def test_unix_socket_needs_no_token(start, token_file, monkeypatch):
    service = start(f"--token_file={token_file}")
    monkeypatch.chdir(service.socket.parent)  # A path of a socket has at most 107 characters.
    assert ask_by_grpc(f"unix:{service.socket.name}") == VERSION
    opts = ConnectionOpts(script_args=[f"--token_file={token_file}"], direct_channel=False)
    with CompilerGymServiceConnection(toy_service(), opts) as connection:
        play(connection)


@needs_other_user
def test_other_user_with_a_token(start, token_file):
    service = start(f"--token_file={token_file}")
    assert result_as_other_user("ask_by_grpc", service.address) == "UNAUTHENTICATED"
    assert result_as_other_user("ask_by_grpc", service.address, TOKEN) == VERSION


@pytest.mark.parametrize(
    ("opts", "message"),
    [
        ({"token": ""}, "holds no token"),
        ({"token": "a b"}, "holds no token"),
        ({"token": "a", "token_file": "b"}, "not both"),
        ({"tls_key_file": "key"}, "need each other"),
        ({"tls_certificate_file": "a", "tls_key_file": "b"}, "needs tls_ca_file"),
    ],
)
def test_options_that_make_no_sense(opts, message):
    with pytest.raises(ValueError, match=message):
        connect("127.0.0.1:1", **opts)


def test_token_is_not_printed():
    assert TOKEN not in repr(ConnectionOpts(token=TOKEN))
