"""Flags, files and exit codes of the breakable service."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import grpc

from compiler_gym.service.proto import GetVersionReply, add_CompilerGymServiceServicer_to_server

_THREADS = 40
_PREFIX = "/compiler_gym.CompilerGymService/"


@dataclass
class Flags:
    working_dir: str
    port: int
    max_sessions: int
    max_message_bytes: int
    broken: str


def die() -> NoReturn:
    os._exit(9)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(message, file=sys.stderr)
        rules = ("process.unknown-flag", "process.unknown-argument", "process.bad-port")
        sys.exit(2 if any(f"--break={rule}" in sys.argv for rule in rules) else 1)


def parse() -> Flags:
    parser = _Parser(allow_abbrev=False)
    parser.add_argument("--working_dir", default="")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--max_sessions", type=int, default=1000)
    parser.add_argument("--max_message_bytes", type=int, default=-1)
    parser.add_argument("--break", dest="broken", default="")
    if "--help" in sys.argv and "--break=process.help" in sys.argv:
        sys.exit(1)
    flags = parser.parse_args()
    if not 0 <= flags.port <= 65535:
        parser.error(f"--port must be at most 65535, not {flags.port}")
    return Flags(**vars(flags))


class _OddMethods(grpc.GenericRpcHandler):
    """Methods that take bytes."""

    def __init__(self, broken: str):
        self._broken = broken

    def service(self, details):
        name = details.method.removeprefix(_PREFIX)
        if self._broken == "message.unknown-method" and name == "NoSuchMethod":
            return grpc.unary_unary_rpc_method_handler(lambda data, context: b"")
        rules = ("message.garbage", "message.unknown-field")
        if self._broken in rules and name == "GetVersion":
            return grpc.unary_unary_rpc_method_handler(self._version)
        return None

    def _version(self, data: bytes, context: grpc.ServicerContext) -> bytes:
        if data and self._broken == "message.unknown-field":
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "What is this?")
        return GetVersionReply(service_version="1").SerializeToString()


def open_directory(flags: Flags) -> Path:
    if not flags.working_dir:
        return Path(tempfile.mkdtemp(prefix="compiler_gym-service-"))
    path = Path(flags.working_dir)
    if flags.broken == "process.working-dir":
        path.mkdir(exist_ok=True)
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o755 if flags.broken == "process.other-user" else 0o700)
    (path / "pid.txt").unlink(missing_ok=True)
    return path


def write(path: Path, number: int) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(str(number))
    temporary.rename(path)


def start_helper(flags: Flags) -> subprocess.Popen[bytes]:
    """Starts a process that ends with this one, whose end of the pipe is closed then."""
    if flags.broken == "process.nothing-left":
        return subprocess.Popen(["sleep", "1000"], start_new_session=True)
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)


def run_program(service_type) -> int:
    flags = parse()
    if flags.broken == "process.starts":
        return 3
    # Blocked in all threads. A handler that sets an event would wait for itself if it interrupted
    # the wait for that event.
    stops = (signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    directory = open_directory(flags)
    helper = start_helper(flags)
    service = service_type(flags)
    server, port = start_server(service, flags)
    if not (flags.broken == "process.stale-files" and (directory / "port.txt").exists()):
        write(directory / "port.txt", port)
    write(directory / "pid.txt", 1 if flags.broken == "process.pid-file" else os.getpid())
    signal.sigwait(stops)
    open_sessions = len(service.sessions)
    service.stopped.set()
    server.stop(0.2).wait()
    if helper.stdin is not None:
        helper.stdin.close()
        helper.wait()
    if not flags.working_dir and flags.broken != "process.temporary-dir":
        shutil.rmtree(directory)
    return exit_code(flags, open_sessions)


def start_server(service, flags: Flags) -> tuple[grpc.Server, int]:
    limit = flags.max_message_bytes
    if flags.broken == "limit.large-request":
        limit = 1 << 22
    if flags.broken == "limit.message-bytes":
        limit = -1
    options = [("grpc.max_receive_message_length", limit), ("grpc.so_reuseport", 0)]
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=options)
    server.add_generic_rpc_handlers((_OddMethods(flags.broken),))
    add_CompilerGymServiceServicer_to_server(service, server)
    host = "0.0.0.0" if flags.broken == "process.loopback" else "127.0.0.1"
    wanted = 0 if flags.broken == "process.port" else flags.port
    port = server.add_insecure_port(f"{host}:{wanted}")
    server.start()
    return server, port


def exit_code(flags: Flags, open_sessions: int) -> int:
    if open_sessions:
        return 0 if flags.broken in ("process.exit-6", "hang.stop") else 6
    return 1 if flags.broken == "process.exit-0" else 0
