"""A client that starts sessions and waits to be killed."""

import sys
import time
from pathlib import Path

from compiler_gym.compliance.rule import Clock
from compiler_gym.compliance.wire import WireClient
from compiler_gym.service.proto import Benchmark, StartSessionRequest

#: The line that it prints when its sessions have started.
READY = "ready"

# The time after which it ends by itself.
_MAX_SECONDS = 120


def main(port: str, program: str, sessions: str) -> None:
    """Starts sessions on a service.

    Args:
        port: The port of the service.
        program: The path of a file with a Benchmark message.
        sessions: The number of sessions.
    """
    client = WireClient(f"127.0.0.1:{port}", Clock(_MAX_SECONDS))
    lease = client.hold_lease()
    benchmark = Benchmark.FromString(Path(program).read_bytes())
    for _ in range(int(sessions)):
        request = StartSessionRequest(benchmark=benchmark, lease_id=lease.id)
        answer = client.call("StartSession", request)
        if not answer.is_ok:
            sys.exit(f"StartSession answers {answer}")
    print(READY, flush=True)
    time.sleep(_MAX_SECONDS)
