"""Attacks by another user of the machine. Run as a program, it acts as that user.

A process that has used gRPC cannot be forked, so each attempt is a program of its own.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from compiler_gym.service.proto import CompilerGymServiceStub, GetVersionRequest
from compiler_gym.service.transport.frames import REQUEST_HEADER
from tests.processes import python_environment

#: "nobody".
OTHER_USER = 65534

_GET_VERSION = 1


def _can_be_other_user() -> bool:
    """Returns true if this user is root, outside of sandboxes that only have root."""
    users = [map(int, line.split()) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    exists = any(first <= OTHER_USER < first + count for first, _, count in users)
    return os.geteuid() == 0 and exists


needs_other_user = pytest.mark.skipif(
    not _can_be_other_user(), reason="Only root, outside of a sandbox, can be another user"
)


def as_other_user(attempt: str, *args: str | int) -> subprocess.Popen:
    """Starts an attempt, which ends with the exit code 0 and says how it went on its output.

    Args:
        attempt: The name of a function of this module.
        args: Its arguments.
    """
    return subprocess.Popen(
        [sys.executable, __file__, attempt, *map(str, args)],
        env=python_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )


def result_as_other_user(attempt: str, *args: str | int) -> str:
    """Returns what an attempt says."""
    process = as_other_user(attempt, *args)
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    return output.strip()


def ask_by_grpc(target: str, token: str = "") -> str:
    """Asks for the version as any client of gRPC does: the compiler's, or the status code."""
    metadata = [("authorization", f"Bearer {token}")] if token else None
    with grpc.insecure_channel(target) as channel:
        try:
            version = CompilerGymServiceStub(channel).GetVersion(
                GetVersionRequest(), timeout=100, metadata=metadata
            )
        except grpc.RpcError as error:
            return error.code().name
        return version.compiler_version


def ask_directly(name: str) -> str:
    """Asks for the version by the direct channel; "closed" if the service says nothing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(100)
        sock.connect("\0" + name)
        try:
            sock.sendall(REQUEST_HEADER.pack(0, _GET_VERSION, 0, 0))
            return "answered" if sock.recv(1) else "closed"
        except (ConnectionResetError, BrokenPipeError):
            return "closed"


def listen_on(name: str) -> str:
    """Takes the name of an abstract socket until somebody has connected."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.bind("\0" + name)
        sock.listen()
        print("listening", flush=True)
        sock.settimeout(100)
        sock.accept()[0].recv(1)
    return "connected"


if __name__ == "__main__":
    function = globals()[sys.argv[1]]
    os.setgroups([])
    os.setgid(OTHER_USER)
    os.setuid(OTHER_USER)
    print(function(*sys.argv[2:]))
