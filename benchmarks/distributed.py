"""Measures what a pool costs: `bazel run //benchmarks:distributed -- overhead` (or `queue`).

`overhead` plays the same episodes in a plain loop and on pools with one and two workers, on this
machine and on Ray, and prints episodes per second and their ratio to those of the loop. Each round
measures all of them, so that the machine is the same. `queue` simulates the head of a cluster with
the times that `overhead` has measured.
"""

import argparse
import heapq
import random
import statistics
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import compiler_gym
from compiler_gym.distributed import Episode, Job, Limits, Pool, open_pool
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.worker import Worker

_STEPS = 10
_INSTRUCTIONS_PER_FUNCTION = 33


def program_of(instructions: int) -> Program:
    """Returns a program of about so many instructions."""
    functions = [
        f"int f{number}(int n) {{ int s = {number}; for (int i = 0; i < n; i++) s += i * n; "
        "if (s > n) s -= n; return s; }"
        for number in range(max(instructions // _INSTRUCTIONS_PER_FUNCTION, 1))
    ]
    with tempfile.TemporaryDirectory() as folder, compiler_gym.make("llvm-v0") as env:
        path = Path(folder) / f"program{instructions}.c"
        path.write_text("\n".join(functions))
        program = Program.of(env.datasets.benchmark(f"file://{path}"))
        env.reset(benchmark=env.datasets.benchmark(f"file://{path}"))
        print(f"{path.name}: {env.observation['IrInstructionCount']} instructions", flush=True)
        return program


def jobs_of(program: Program, count: int) -> list[Job]:
    return [
        Episode.job(
            program,
            seed=seed,
            steps=_STEPS,
            observations=("Autophase",),
            reward="IrInstructionCount",
        )
        for seed in range(count)
    ]


def rate_of_loop(worker: Worker, jobs: list[Job]) -> float:
    begin = time.perf_counter()
    for job in jobs:
        worker.run_or_raise(job)
    return len(jobs) / (time.perf_counter() - begin)


def rate_of_pool(pool: Pool, jobs: list[Job]) -> float:
    begin = time.perf_counter()
    assert all(outcome.error is None for outcome in pool.run(jobs))
    return len(jobs) / (time.perf_counter() - begin)


def overhead(sizes: list[int], seconds: float, rounds: int) -> None:
    import ray

    ray.init(address="local", log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    worker = Worker()
    print("instructions  pool     loop/s  pool/loop  this process, ms an episode")
    for size in sizes:
        program = program_of(size)
        warm = jobs_of(program, 20)
        jobs = jobs_of(program, max(int(rate_of_loop(worker, warm) * seconds), 20))
        for address in (None, "auto"):
            for count in (1, 2):
                loops, ratios, heads = [], [], []
                with open_pool(address, Limits(workers=count)) as pool:
                    rate_of_pool(pool, warm)
                    for _ in range(rounds):
                        loops.append(rate_of_loop(worker, jobs))
                        cpu = time.process_time()
                        ratios.append(rate_of_pool(pool, jobs) / loops[-1])
                        heads.append((time.process_time() - cpu) / len(jobs) * 1e3)
                loop, ratio, head = map(statistics.median, (loops, ratios, heads))
                name = f"{'ray' if address else 'local'} {count}"
                print(f"{size:12}  {name:7} {loop:7.1f} {ratio:10.2f} {head:8.3f}", flush=True)
    worker.close()
    ray.shutdown()


@dataclass(frozen=True)
class Costs:
    """Measured times, in seconds.

    Attributes:
        task: Of a worker for an episode.
        call: Of the head for a call.
        row: Of the head for an episode, the writing of its row included.
    """

    task: float
    call: float
    row: float


def simulate(
    nodes: int, cores: int, costs: Costs, hours_between_failures: float, seconds: float = 600
) -> dict[str, float]:
    """Simulates calls of workers that the head serves one after the other.

    Args:
        nodes: Machines.
        cores: Workers on each.
        costs: Measured times.
        hours_between_failures: Mean time after which a machine dies. Its workers are there again a
            minute later.
        seconds: The simulated time, of which the first tenth does not count.

    Returns:
        Episodes a second, the share of the time that workers work on what counts, the load of the
        head, the longest queue at it, and the episodes that were lost and played again.
    """
    rng = random.Random(0)
    workers = nodes * cores
    length = min(max(0.25, workers * 0.002), 60.0)  # Of a call, as the pool chooses it.
    tasks = max(round(length / costs.task), 1)
    service = costs.call + tasks * costs.row
    mean = tasks * costs.task
    # A call under way, and one that the worker has already: the head may be late by the second.
    events = [(rng.uniform(0, mean), mean, index) for index in range(workers)]
    heapq.heapify(events)
    begin = seconds / 10
    free = busy = done = 0.0
    lost = longest = 0
    served: deque[float] = deque()  # The times at which the head is done with what has come.
    while events and events[0][0] < seconds:
        now, took, worker = heapq.heappop(events)
        while served and served[0] <= now:
            served.popleft()
        if rng.random() < took / (hours_between_failures * 3600):
            lost += tasks
            heapq.heappush(events, (now + 60 + mean, mean, worker))
            continue
        free = max(free, now) + service
        served.append(free)
        longest = max(longest, len(served))
        if now > begin:
            done += tasks
            busy += service
        took = mean * rng.lognormvariate(-0.045, 0.3)
        # The second call begins now. It can end only when the head has sent the one after it.
        heapq.heappush(events, (max(now + took, free), took, worker))
    span = seconds - begin
    return {
        "episodes/s": done / span,
        "useful": done * costs.task / (workers * span),
        "head": min(busy / span, 1.0),
        "queue": longest,
        "again": lost,
    }


def queue(costs: Costs) -> None:
    print(f"{costs}, 64 workers a node, a node fails once a day")
    for nodes in (1, 10, 100, 1000):
        facts = simulate(nodes, 64, costs, hours_between_failures=24)
        print(f"{nodes:5} nodes: " + ", ".join(f"{key} {it:.3g}" for key, it in facts.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["overhead", "queue"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 2_000, 20_000])
    parser.add_argument("--seconds", type=float, default=5, help="of a measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--task", type=float, default=0.05, help="seconds of a task")
    parser.add_argument("--call", type=float, default=0.001, help="seconds of the head a call")
    parser.add_argument("--row", type=float, default=0.0005, help="seconds of the head a task")
    arguments = parser.parse_args()
    if arguments.what == "overhead":
        overhead(arguments.sizes, arguments.seconds, arguments.rounds)
    else:
        queue(Costs(arguments.task, arguments.call, arguments.row))


if __name__ == "__main__":
    main()
