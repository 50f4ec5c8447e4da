"""The toy compiler service (tests/service/runtime/ToySession.h) for tests of its clients."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compiler_gym.datasets import Benchmark, BenchmarkUri, Dataset
from compiler_gym.service.client_service_compiler_env import ClientServiceCompilerEnv
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.proto import EndSessionRequest, StartSessionRequest
from compiler_gym.util.runfiles_path import find_service_binary
from tests.processes import descendants, is_running, wait_until

TEXTS = {"hello": "hello", "alphabet": "abcdefghijklmnopqrstuvwxyz", "empty": ""}
HELLO = "benchmark://toy-v0/hello"

# Bazel lets tests write to a folder of their own only.
if folder := os.environ.get("TEST_TMPDIR"):
    os.environ.setdefault("COMPILER_GYM_CACHE", f"{folder}/cache")
    os.environ.setdefault("COMPILER_GYM_SITE_DATA", f"{folder}/site_data")


def toy_service() -> Path:
    """The executable: the environment variable TOY_SERVICE, or what Bazel has built."""
    path = os.environ.get("TOY_SERVICE")
    if path:
        return Path(path).absolute()
    return find_service_binary("toy_service", "tests/service/runtime")


class ToyDataset(Dataset):
    """Some texts; those of :data:`TEXTS` by default."""

    def __init__(self, name: str = "benchmark://toy-v0", texts: dict[str, str] = TEXTS):
        super().__init__(name=name, description="Texts to edit", license="MIT")
        self.texts = texts

    @property
    def size(self) -> int:
        return len(self.texts)

    def benchmark_uris(self) -> Iterator[str]:
        return (f"{self.name}/{key}" for key in self.texts)

    def benchmark_from_parsed_uri(self, uri: BenchmarkUri) -> Benchmark:
        key = uri.path.strip("/")
        if key not in self.texts:
            raise LookupError(f"There is no text {key}")
        return text_benchmark(self.texts[key], str(uri))


def text_benchmark(text: str, uri: str = "benchmark://user-v0/text") -> Benchmark:
    return Benchmark.from_file_contents(uri, text.encode())


def make_toy_env(**kwargs: Any) -> ClientServiceCompilerEnv:
    """An environment that edits the texts of :class:`ToyDataset`."""
    arguments = {"service": toy_service(), "datasets": [ToyDataset()], **kwargs}
    return ClientServiceCompilerEnv(**arguments)


def open_sessions(connection: CompilerGymServiceConnection) -> int:
    """The number of sessions that a toy service has, whoever's they are."""
    request = StartSessionRequest(benchmark=text_benchmark("counted").proto)
    session_id = connection(connection.stub.StartSession, request).session_id
    ended = connection(connection.stub.EndSession, EndSessionRequest(session_id=session_id))
    return ended.remaining_sessions


def kill_service(env: ClientServiceCompilerEnv) -> int:
    """Kills the service of an environment, waits until all of it is gone, and returns its pid."""
    pid = env.service.service.pid
    processes = [pid, *descendants(pid)]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, processes)))
    return pid
