"""Measures what a pool costs: `bazel run //benchmarks:distributed -- overhead` (`queue`, `head`).

`overhead` plays the same episodes in plain loops and on pools, on this machine and on Ray. It
prints the ratio of their episodes per second: one worker to one loop, two workers to two loops at
once. Each round takes all measurements in turn, a loop before and after each pool, because the
speed of many machines drifts. A ratio is the median over the rounds, with the lowest and highest.
`queue` measures the times of episodes, and those of the head for calls and rows, and simulates the
head of clusters with them. `head` measures the processor time of the processes of Ray on a head
node, without tasks and with them.
"""

import argparse
import heapq
import multiprocessing
import random
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import compiler_gym
from benchmarks import machine
from compiler_gym.distributed import Episode, Job, Limits, Pool, call_size, open_pool
from compiler_gym.distributed.programs import Program
from compiler_gym.distributed.rows import RowWriter, schema_of
from compiler_gym.distributed.task import digest_of
from compiler_gym.distributed.worker import Worker
from compiler_gym.evaluation.tasks import PolicyEvaluation
from compiler_gym.tuning.policies.policy import SHIPPED

_STEPS = 10
_INSTRUCTIONS_PER_FUNCTION = 33
_EPISODES = 560
_MANY = 100
_WORKERS = 64
_RESTART_SECONDS = 60


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


def jobs_of(program: Program, count: int, steps: int = _STEPS) -> list[Job]:
    return [
        Episode.job(
            program,
            seed=seed,
            steps=steps,
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


@dataclass(frozen=True)
class PoolRun:
    """Measurements of a pool while it plays episodes.

    Attributes:
        rate: Episodes per second.
        busy: The share of the workers' time that episodes take.
        head: Processor time of this process for an episode, in seconds.
    """

    rate: float
    busy: float
    head: float


def run_pool(pool: Pool, workers: int, jobs: list[Job]) -> PoolRun:
    begin, cpu = time.perf_counter(), time.process_time()
    outcomes = [*pool.run(jobs)]
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    assert all(outcome.error is None for outcome in outcomes)
    busy = sum(outcome.seconds for outcome in outcomes) / (wall * workers)
    return PoolRun(len(jobs) / wall, busy, cpu / len(jobs))


_worker_of_process = Worker()


def play_all(jobs: list[Job]) -> None:
    """Plays episodes in a loop, in a process of their own."""
    for job in jobs:
        _worker_of_process.run_or_raise(job)


def rate_of_loops(executor: ProcessPoolExecutor, jobs: list[Job]) -> float:
    begin = time.perf_counter()
    halves = [executor.submit(play_all, jobs[first::2]) for first in range(2)]
    for half in halves:
        half.result()
    return len(jobs) / (time.perf_counter() - begin)


_POOLS = [("local", 1), ("ray", 1), ("local", 2), ("ray", 2)]


def overhead(sizes: list[int], seconds: float, rounds: int) -> None:
    import ray

    # Pools stay open side by side, so there is room for the workers of both on Ray.
    ray.init("local", num_cpus=3, log_to_driver=False, include_dashboard=False)
    worker = Worker()
    executor = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))
    print("instructions  workers  loops/s  workers/loops           busy  head, ms an episode")
    with ExitStack() as stack:
        pools = {
            (place, count): stack.enter_context(
                open_pool("auto" if place == "ray" else None, Limits(workers=count))
            )
            for place, count in _POOLS
        }
        for size in sizes:
            program = program_of(size)
            warm = jobs_of(program, 20)
            jobs = jobs_of(program, max(int(rate_of_loop(worker, warm) * seconds), 20))
            rate_of_loops(executor, warm)
            for (_, count), pool in pools.items():
                run_pool(pool, count, warm)
            jobs_for = {1: jobs, 2: jobs_of(program, 2 * len(jobs))}
            measure_overhead(size, worker, executor, pools, jobs_for, rounds)
    worker.close()
    executor.shutdown()
    ray.shutdown()


def measure_overhead(
    size: int,
    worker: Worker,
    executor: ProcessPoolExecutor,
    pools: dict[tuple[str, int], Pool],
    jobs_for: dict[int, list[Job]],
    rounds: int,
) -> None:
    """Measures and prints the rates of loops and pools for a program.

    Args:
        size: The instructions that were asked for.
        worker: Plays the plain loop.
        executor: Plays two loops at the same time.
        pools: The pools by their place and their number of workers.
        jobs_for: The episodes for one worker and for two.
        rounds: The number of measurements of each.
    """

    def rate_of_base(count: int) -> float:
        played = jobs_for[count]
        return rate_of_loop(worker, played) if count == 1 else rate_of_loops(executor, played)

    bases: dict[int, list[float]] = {1: [], 2: []}
    runs: dict[tuple[str, int], list[tuple[float, PoolRun]]] = {key: [] for key in pools}
    for _ in range(rounds):
        for count in bases:
            before = rate_of_base(count)
            bases[count].append(before)
            for key in [each for each in pools if each[1] == count]:
                run = run_pool(pools[key], count, jobs_for[count])
                after = rate_of_base(count)
                bases[count].append(after)
                runs[key].append((2 * run.rate / (before + after), run))
                before = after
    loop, loops = (statistics.median(bases[count]) for count in (1, 2))
    print(f"{size:12}  two loops {loops:6.1f}   {loops / loop:5.2f} of one loop")
    for (place, count), found in runs.items():
        ratios = [ratio for ratio, _ in found]
        busy = statistics.median(run.busy for _, run in found)
        head = statistics.median(run.head for _, run in found)
        base = statistics.median(bases[count])
        print(
            f"{size:12}  {place:5} {count} {base:8.1f}   {statistics.median(ratios):5.3f} "
            f"({min(ratios):.3f} to {max(ratios):.3f})  {busy:5.1%} {head * 1e3:8.3f}",
            flush=True,
        )


@dataclass(frozen=True)
class Costs:
    """Measured times of the process that runs the command, in seconds.

    Attributes:
        call: For a call.
        row: For an episode, the writing of its row included.
        bytes: Size of an episode's row on its way.
    """

    call: float
    row: float
    bytes: float


@dataclass(frozen=True)
class Ready:
    """A task that only returns a row.

    Attributes:
        number: Its number.
        digest: The digest of the row, which is data of the job.
    """

    number: int
    digest: str

    @property
    def name(self) -> str:
        return str(self.number)

    def run(self, worker: Worker) -> bytes:
        return worker.blob(self.digest)


def play_kernels() -> tuple[list[Program], list[float], list[bytes], Any]:
    """Plays four episodes of 45 random passes with each kernel.

    Returns:
        The programs, the times, the rows, and the schema of the rows.
    """
    worker, times, rows = Worker(), [], []
    with compiler_gym.make("llvm-v0") as env:
        programs = [Program.of(each) for each in env.datasets["kernels-v0"].benchmarks()]
        schema = schema_of({"Autophase": env.observation.spaces["Autophase"].space})
    jobs = [job for program in programs for job in jobs_of(program, 4, steps=45)]
    worker.run_or_raise(jobs[0])
    for job in jobs:
        begin = time.perf_counter()
        rows.append(worker.run_or_raise(job))
        times.append(time.perf_counter() - begin)
    worker.close()
    return programs, times, rows, schema


def evaluate_kernels() -> list[float]:
    """Returns the times of evaluations of the policy coreset with a quarter of the kernels."""
    worker, times = Worker(), []
    with compiler_gym.make("llvm-v0") as env:
        kernels = [*env.datasets["kernels-v0"].benchmarks()][3::4]
        jobs = [PolicyEvaluation.job(Program.of(each), SHIPPED["coreset"].read_bytes(), check=False)
                for each in kernels]  # fmt: skip
    for job in jobs:
        begin = time.perf_counter()
        worker.run_or_raise(job)
        times.append(time.perf_counter() - begin)
    worker.close()
    return times


def cpu_seconds(
    pool: Pool, programs: list[Program], rows: list[bytes], schema: Any, tasks_per_call: int
) -> float:
    """Returns the processor time of this process for an episode, in seconds.

    The episodes are made and named as those of ``record`` are. The workers return their rows at
    once, and the rows are written.
    """
    call_size._MOST_TASKS_PER_CALL = tasks_per_call

    def jobs() -> Iterator[Job]:
        for number in range(_EPISODES):
            program, row = programs[number % len(programs)], rows[number % len(rows)]
            job = Episode.job(program, seed=number, steps=45, observations=("Autophase",))
            assert job.task.name
            digest = digest_of(row)
            yield Job(Ready(number, digest), {digest: row} | dict(job.blobs))

    with tempfile.TemporaryDirectory() as folder, RowWriter(Path(folder), schema) as writer:
        begin = time.process_time()
        for outcome in pool.run(jobs()):
            writer.write(outcome.value)
        return (time.process_time() - begin) / _EPISODES


def measure_costs(programs: list[Program], rows: list[bytes], schema: Any) -> Costs:
    """Measures the costs of calls and rows on Ray."""
    with open_pool("local", Limits(workers=1)) as pool:
        cpu_seconds(pool, programs, rows, schema, 1)
        alone, together = (
            statistics.median(cpu_seconds(pool, programs, rows, schema, count) for _ in range(3))
            for count in (1, _MANY)
        )
    # A call with one row costs call + row, and one with many of them call / many + row.
    call = (alone - together) * _MANY / (_MANY - 1)
    return Costs(call, max(alone - call, 0.0), statistics.mean(map(len, rows)))


def simulate(
    nodes: int, times: list[float], costs: Costs, hours_between_failures: float, seconds: float
) -> dict[str, float]:
    """Simulates calls of workers that the head serves one after the other.

    Args:
        nodes: Machines, with 64 workers each.
        times: Measured times of episodes.
        costs: Measured times of the head.
        hours_between_failures: Mean time after which a machine dies. All calls of its workers are
            lost, and they are there again a minute later.
        seconds: The simulated time, of which the first tenth does not count.

    Returns:
        Episodes a second, the share of the time that workers work on what counts, the load of the
        head, the longest queue at it, and the episodes that were lost and played again.
    """
    rng = random.Random(0)
    workers = nodes * _WORKERS
    mean, spread = statistics.mean(times), statistics.pstdev(times)
    length = min(max(1.0, workers * 0.002), 60.0)  # Of a call, as the pool chooses it in long runs.
    tasks = max(round(length / mean), 1)
    service = costs.call + tasks * costs.row
    shortest = tasks * min(times)

    def draw() -> float:
        """Returns the time of a call: the sum of the times of its episodes."""
        if tasks == 1:
            return rng.choice(times)
        return max(rng.gauss(tasks * mean, spread * tasks**0.5), shortest)

    def failure() -> float:
        return rng.expovariate(1 / (hours_between_failures * 3600))

    # The ends of calls by worker, and the failures of nodes by negative number. A call that the
    # worker has already is not shown: the head may be late by its length.
    events = [(rng.uniform(0, 2) * tasks * mean, index, 0) for index in range(workers)]
    events += [(failure(), -1 - node, 0) for node in range(nodes)]
    heapq.heapify(events)
    lives = [0] * nodes
    begin = seconds / 10
    free = busy = done = 0.0
    lost = longest = 0
    served: deque[float] = deque()  # The times at which the head is done with what has come.
    while events[0][0] < seconds:
        now, index, life = heapq.heappop(events)
        if index < 0:
            node = -1 - index
            lives[node] += 1
            lost += 2 * tasks * _WORKERS
            for worker in range(node * _WORKERS, (node + 1) * _WORKERS):
                heapq.heappush(events, (now + _RESTART_SECONDS + draw(), worker, lives[node]))
            heapq.heappush(events, (now + failure(), index, 0))
            continue
        if life != lives[index // _WORKERS]:
            continue  # The node has died meanwhile.
        while served and served[0] <= now:
            served.popleft()
        free = max(free, now) + service
        served.append(free)
        longest = max(longest, len(served))
        if begin < free <= seconds:
            done += tasks
            busy += service
        # The second call begins now. It can end only when the head has sent the one after it.
        heapq.heappush(events, (max(now + draw(), free), index, life))
    span = seconds - begin
    return {
        "episodes/s": done / span,
        "useful": done * mean / (workers * span),
        "head": min(busy / span, 1.0),
        "queue": longest,
        "again": lost,
    }


def queue(seconds: float) -> None:
    programs, times, rows, schema = play_kernels()
    kinds = {
        "45 passes": times,
        "policy coreset": evaluate_kernels(),
    }
    costs = measure_costs(programs, rows, schema)
    print(
        f"measured: {costs.call * 1e3:.2f} ms a call, {costs.row * 1e3:.2f} ms a row of "
        f"{costs.bytes / 1e3:.0f} kB; {_WORKERS} workers a node, a node fails once a day"
    )
    for kind, found in kinds.items():
        print(
            f"{kind}: {len(found)} episodes of {min(found):.3f} to {max(found):.3f} s, mean "
            f"{statistics.mean(found):.3f} s"
        )
        for nodes in (1, 10, 100, 1000):
            facts = simulate(nodes, found, costs, hours_between_failures=24, seconds=seconds)
            print(
                f"{nodes:5} nodes: " + ", ".join(f"{key} {it:.3g}" for key, it in facts.items()),
                flush=True,
            )


def cpu_of_head(cluster: Any) -> dict[str, float]:
    """Returns the processor time of each process of a head node, in seconds."""
    processes = cluster.head_node.all_processes
    return {"driver": time.process_time()} | {
        kind: sum(machine.cpu_seconds(each.process.pid) for each in infos)
        for kind, infos in processes.items()
    }


def head(episodes: int, idle: float, nodes: int) -> None:
    import ray
    from ray.cluster_utils import Cluster

    programs, _, _, schema = play_kernels()
    arguments = {"num_cpus": 0, "include_dashboard": True}
    cluster = Cluster(initialize_head=True, head_node_args=arguments)
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    cluster.add_node(num_cpus=2)

    def rates(seconds: float) -> dict[str, float]:
        """Returns the processor time a second of a cluster without tasks."""
        time.sleep(15)
        before = cpu_of_head(cluster)
        time.sleep(seconds)
        return {kind: (it - before[kind]) / seconds for kind, it in cpu_of_head(cluster).items()}

    still = rates(idle)
    jobs = [job for program in programs for job in jobs_of(program, 50, steps=45)]
    random.Random(0).shuffle(jobs)
    with (
        tempfile.TemporaryDirectory() as folder,
        RowWriter(Path(folder), schema) as writer,
        open_pool("auto", Limits(workers=2)) as pool,
    ):
        run_pool(pool, 2, jobs[:20])
        begin, before = time.perf_counter(), cpu_of_head(cluster)
        for outcome in pool.run(jobs[20 : 20 + episodes]):
            writer.write(outcome.value)
        busy = {kind: it - before[kind] for kind, it in cpu_of_head(cluster).items()}
        wall = time.perf_counter() - begin
    for _ in range(nodes):
        cluster.add_node(num_cpus=0)
    many = rates(idle)
    done = min(episodes, len(jobs) - 20)
    print(f"{done} episodes in {wall:.0f} s; processor time of the head node:")
    print("process      idle, ms/s  a further node, ms/s  1,000 episodes, s  idle included, s")
    for kind, whole in busy.items():
        further = (many[kind] - still[kind]) / nodes
        each = (whole - still[kind] * wall) / done
        print(
            f"{kind:12} {still[kind] * 1e3:10.2f} {further * 1e3:21.3f} {each * 1e3:18.3f} "
            f"{whole / done * 1e3:17.3f}",
            flush=True,
        )
    ray.shutdown()
    cluster.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["overhead", "queue", "head"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 2_000, 20_000])
    parser.add_argument("--seconds", type=float, default=2, help="of a measurement")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--simulated", type=float, default=1800, help="seconds of the simulation")
    parser.add_argument("--episodes", type=int, default=500, help="of head")
    parser.add_argument("--idle", type=float, default=60, help="seconds without tasks")
    parser.add_argument("--nodes", type=int, default=6, help="that are added for head")
    arguments = parser.parse_args()
    if arguments.what == "overhead":
        overhead(arguments.sizes, arguments.seconds, arguments.rounds)
    elif arguments.what == "head":
        head(arguments.episodes, arguments.idle, arguments.nodes)
    else:
        queue(arguments.simulated)


if __name__ == "__main__":
    main()
