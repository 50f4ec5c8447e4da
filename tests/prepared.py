"""Runs ``python -m`` and ``python -c`` in copies of an interpreter that has loaded the libraries.

To load them takes longer than most commands do. What the package imports of itself, each copy
imports for itself.
"""

import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

LIBRARIES = (
    "email.message",
    "google.protobuf.any_pb2",
    "google.protobuf.json_format",
    "grpc",
    "gymnasium",
    "numpy",
    "pydantic.main",
    "rich.live",
    "rich.progress",
    "rich.status",
    "tarfile",
    "typer",
    "urllib.request",
)
_MAX_BYTES = 1 << 20
_MAX_SECONDS = 280


class PreparedInterpreter:
    """An interpreter that is copied for each run, until the process of the tests ends.

    Args:
        modules: Further modules that it loads, also of the package itself.
        libraries: The libraries that it loads first.
        variables: Environment variables, besides those of this process and its path of modules.
    """

    def __init__(
        self, *modules: str, libraries: Sequence[str] = LIBRARIES, **variables: str
    ) -> None:
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONPATH": path, **variables}
        self._environment = _of_python(environment)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_MAX_SECONDS)
        with theirs:
            fd = theirs.fileno()
            command = [sys.executable, "-m", "tests.prepared", str(fd), *libraries, *modules]
            self._process = subprocess.Popen(command, pass_fds=[fd], env=environment)

    def is_usable(self) -> bool:
        """Returns true if a new interpreter would look for modules in the same places now."""
        return _of_python(os.environ) == self._environment

    def run(
        self, module: str, arguments: list[str], stdin: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a module in the working directory and the environment of this process."""
        request = {"module": module, "arguments": arguments}
        return self._run(request, Path.cwd(), dict(os.environ), stdin)

    def run_code(
        self, code: str, folder: Path, environment: dict[str, str], stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program in a folder."""
        return self._run({"code": code}, folder, environment, stdin)

    def _run(
        self, request: dict[str, Any], folder: Path, environment: dict[str, str], stdin: str
    ) -> subprocess.CompletedProcess[str]:
        with ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)]
            files[0].write(stdin)
            files[0].seek(0)
            request |= {"directory": str(folder), "environment": environment}
            message = json.dumps(request).encode()
            socket.send_fds(self._socket, [message], [file.fileno() for file in files])
            code = int(self._socket.recv(100))
            texts = []
            for file in files[1:]:
                file.seek(0)
                texts.append(file.read())
        return subprocess.CompletedProcess([], code, *texts)


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


def serve(requests: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Answers requests with exit codes. Returns in each copy, with what it is to run."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, _MAX_BYTES, 3)
        if not message:
            return None
        pid = os.fork()
        if pid == 0:
            return json.loads(message), descriptors
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(pid, 0)
        requests.send(str(os.waitstatus_to_exitcode(status)).encode())


def run(request: dict[str, Any], descriptors: list[int]) -> None:
    """Turns this process into one that was started by ``python -m`` or ``python -c``."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    tempfile.tempdir = None
    sys.modules["numpy"].random.seed()
    if "code" in request:
        sys.path[0] = ""
        sys.argv = ["-c"]
        sys.orig_argv = [sys.executable, "-c", request["code"]]
        sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(request["code"], "<string>", "exec"), sys.modules["__main__"].__dict__)
        return
    sys.path[0] = request["directory"]
    sys.argv = ["-m", *request["arguments"]]
    sys.orig_argv = [sys.executable, "-m", request["module"], *request["arguments"]]
    runpy._run_module_as_main(request["module"])  # type: ignore[attr-defined]


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        for module in sys.argv[2:]:
            importlib.import_module(module)
        # At its end, each copy would look for garbage in all that is loaded here.
        gc.freeze()
        asked = serve(requests)
    if asked:
        run(*asked)
