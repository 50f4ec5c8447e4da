"""Measures the OpenEnv server with many sessions at once, three of which misbehave.

    bazel run //benchmarks:agent_sessions -- --sessions 64 --steps 20

Each session is a client that plays a held-out program: a step applies one pass. Meanwhile one more
client is killed in the middle of a step, one sends garbage, and one sends a message of 100 MB. What
the others get must be what a client that is alone gets.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np

from benchmarks.machine import own_cpu_seconds, with_descendants
from compiler_gym.openenv import CompilerAction, CompilerEnvClient

PASSES = ("sroa", "early-cse", "simplifycfg", "instcombine", "gvn", "dse", "licm", "adce")
PROGRAMS = 7
START_SECONDS = 120

# Each client that misbehaves is a process of its own, so that it takes no time of the others'.
KILLED = """
import json, sys, time
from websockets.sync.client import connect
with connect(sys.argv[1]) as socket:
    socket.send(json.dumps({"type": "reset", "data": {"split": "test", "index": 0}}))
    socket.recv()
    socket.send(json.dumps({"type": "step", "data": {"tool": "submit"}}))
    print("killed in the middle of a step", flush=True)
    time.sleep(600)
"""
GARBAGE = """
import json, sys
from websockets.sync.client import connect
with connect(sys.argv[1]) as socket:
    socket.send("{" * 10_000)
    print("text that is no JSON:", json.loads(socket.recv())["data"]["code"])
    socket.send(b"\\xff" * 10_000)
    print("bytes:", json.loads(socket.recv())["data"]["code"])
"""
LARGE = """
import asyncio, sys
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
async def send():
    async with connect(sys.argv[1]) as socket:
        await socket.send("x" * (100 << 20))
        await socket.recv()
try:
    asyncio.run(send())
except ConnectionClosed as error:
    print("100 MB:", str(error).partition(" frame")[0])
"""


class Server:
    """A server in a process of its own."""

    def __init__(self, port: int, sessions: int):
        self.url = f"http://127.0.0.1:{port}"
        self.socket_url = f"ws://127.0.0.1:{port}/ws"
        module = "compiler_gym.openenv.app"
        arguments = ["--port", str(port), "--sessions", str(sessions)]
        self.process = subprocess.Popen([sys.executable, "-m", module, *arguments])
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=10)
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.1)

    def memory_mib(self) -> float:
        """The memory of the server, the compiler's service and all sessions, shared pages once."""
        kib = 0
        for pid in with_descendants(self.process.pid):
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            except OSError:
                continue  # It has just ended.
            kib += sum(int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:")
        return kib / 1024

    def processor_seconds(self) -> tuple[float, float]:
        """The processor time of the server itself, and of the service and all sessions."""
        own, *others = (own_cpu_seconds(pid) for pid in with_descendants(self.process.pid))
        return own, sum(others)

    def stop(self) -> None:
        """Ends the server and its sessions."""
        self.process.terminate()
        self.process.wait()


async def play(
    url: str, number: int, steps: int, barrier: asyncio.Barrier | None = None
) -> tuple[list[float], list[int]]:
    """Plays a program. Waits at a barrier, if any, before the first step and after the last.

    Returns:
        The seconds of each step, and the instructions after it.
    """
    seconds, counts = [], []
    async with CompilerEnvClient(base_url=url, message_timeout_s=600) as client:
        await client.reset(split="test", index=number % PROGRAMS)
        if barrier:
            await barrier.wait()
        for step in range(min(steps, 29)):
            name = PASSES[(number + step) % len(PASSES)]
            began = time.perf_counter()
            result = await client.step(CompilerAction(tool="apply_passes", passes=[name]))
            seconds.append(time.perf_counter() - began)
            counts.append(result.observation.instructions)
        if barrier:
            await barrier.wait()  # Measured,
            await barrier.wait()  # before the session ends.
    return seconds, counts


async def misbehave(server: Server) -> list[str]:
    """Has three clients misbehave. Returns what became of each."""
    seen = []
    for script in (KILLED, GARBAGE, LARGE):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, server.socket_url, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout
        if script is KILLED:
            seen.append((await process.stdout.readline()).decode().strip())
            process.kill()
        output, _ = await process.communicate()
        seen += output.decode().splitlines()
    return seen


async def measure(server: Server, sessions: int, steps: int) -> None:
    alone = [await play(server.url, number, steps) for number in range(sessions)]
    print(f"one after the other: {rate(alone)}")
    before = server.memory_mib()
    barrier = asyncio.Barrier(sessions + 1)
    players = [
        asyncio.create_task(play(server.url, number, steps, barrier)) for number in range(sessions)
    ]

    async def all_are_there() -> None:
        while barrier.n_waiting < sessions:
            for each in players:
                if each.done():
                    each.result()  # Raises its error.
            await asyncio.sleep(0.01)

    await all_are_there()
    memory = server.memory_mib()
    processor_before = (time.process_time(), *server.processor_seconds())
    await barrier.wait()
    began = time.perf_counter()
    bad = asyncio.create_task(misbehave(server))
    await all_are_there()
    seconds = time.perf_counter() - began
    processor = (time.process_time(), *server.processor_seconds())
    memory_after = server.memory_mib()
    await barrier.wait()
    await barrier.wait()
    found = await asyncio.gather(*players)
    total = sum(len(each) for each, _ in found)
    same = [counts for _, counts in found] == [counts for _, counts in alone]
    print(f"{sessions} at once: {rate(found)}, {total / seconds:.0f} steps/s together")
    clients, own, others = (
        1000 * (after - before) / total
        for before, after in zip(processor_before, processor, strict=True)
    )
    print(
        f"processor time of a step: clients {clients:.2f} ms, server {own:.2f} ms, service and "
        f"sessions {others:.2f} ms; {os.cpu_count()} processors, {1000 * seconds / total:.2f} ms "
        f"from one step to the next, load average {os.getloadavg()[0]:.1f} with this program"
    )
    print(
        f"memory: {before:.0f} MiB without sessions, {memory:.0f} MiB with {sessions}, "
        f"{memory_after:.0f} MiB after their steps"
    )
    for line in await bad:
        print(line)
    print("the others got what they get alone" if same else "THE OTHERS GOT SOMETHING ELSE")
    if not same:
        raise SystemExit(1)


def rate(found: list[tuple[list[float], list[int]]]) -> str:
    """The times of steps in words."""
    all_seconds = [each for seconds, _ in found for each in seconds]
    middle, slow = (1000 * np.quantile(all_seconds, share) for share in (0.5, 0.99))
    return f"{len(all_seconds)} steps, median {middle:.1f} ms, p99 {slow:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20, help="steps of a session, at most 29")
    parser.add_argument("--port", type=int, default=8123)
    options = parser.parse_args()
    server = Server(options.port, options.sessions + 8)
    try:
        asyncio.run(measure(server, options.sessions, options.steps))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
