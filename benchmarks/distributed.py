"""Measures what a pool costs: `bazel run //benchmarks:distributed -- overhead` (or `queue`).

`overhead` plays the same episodes in a plain loop and on pools with one and two workers, on this
machine and on Ray, and prints episodes per second and their ratio to those of the loop. Each round
measures all of them, so that the machine is the same. `queue` simulates the head of a cluster with
a task time and a head time per call that `overhead` has measured.
"""

import argparse
import heapq
import random
import statistics
import tempfile
import time
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


def simulate(
    nodes: int, cores: int, task: float, head: float, node_hours: float, seconds: float = 300
) -> dict[str, float]:
    """Simulates calls of workers that the head serves one after the other.

    Args:
        nodes: Machines.
        cores: Workers on each.
        task: Seconds of a task.
        head: Seconds that a call takes of the head.
        node_hours: Mean hours after which a machine dies; another takes its place a minute later.
        seconds: The simulated time.

    Returns:
        Calls and tasks a second, the load of the head, the longest queue at it, the share of the
        time that workers worked on what counted, and the tasks that were run again.
    """
    rng = random.Random(0)
    workers = nodes * cores
    per_call = min(max(0.25, workers * 0.002), 60.0)
    tasks = max(round(per_call / task), 1)
    # Each worker has one call that it works on and one that waits, so the head may be late by one.
    events = [(rng.uniform(0, per_call), index) for index in range(workers)]
    heapq.heapify(events)
    free = busy = done = lost = longest = calls = 0.0
    waiting: list[float] = []
    while events and events[0][0] < seconds:
        now, worker = heapq.heappop(events)
        died = rng.random() < per_call / (node_hours * 3600)
        free = max(free, now) + head
        busy += head
        calls += 1
        while waiting and waiting[0] <= now:
            heapq.heappop(waiting)
        heapq.heappush(waiting, free)
        longest = max(longest, len(waiting))
        if died:
            lost += tasks
        else:
            done += tasks
        length = tasks * task * rng.lognormvariate(0, 0.3)
        # The next call is there already; the one after it has to come in time.
        next_end = max(now + length, free)
        heapq.heappush(events, (next_end + (60 if died else 0), worker))
    return {
        "calls/s": calls / seconds,
        "tasks/s": done / seconds,
        "head load": min(busy / seconds, 1.0),
        "longest queue": longest,
        "useful": done * task / (workers * seconds),
        "again": lost,
    }


def queue(task: float, head: float) -> None:
    print(f"tasks of {task * 1e3:g} ms, {head * 1e3:g} ms of the head a call, 64 workers a node")
    for nodes in (10, 100, 1000):
        facts = simulate(nodes, 64, task, head, node_hours=24)
        print(f"{nodes:5} nodes: " + ", ".join(f"{key} {it:.4g}" for key, it in facts.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["overhead", "queue"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 2_000, 20_000])
    parser.add_argument("--seconds", type=float, default=5, help="of a measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--task", type=float, default=0.05, help="seconds of a task")
    parser.add_argument("--head", type=float, default=0.001, help="seconds of the head a call")
    arguments = parser.parse_args()
    if arguments.what == "overhead":
        overhead(arguments.sizes, arguments.seconds, arguments.rounds)
    else:
        queue(arguments.task, arguments.head)


if __name__ == "__main__":
    main()
